"""JSON whose numbers keep their value, also those that a float cannot hold."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from forklore.client.errors import InputError

INTEGER_DIGITS_MAX = 4000
"""Python refuses to read integers of more than 4,300 digits."""
PLACE_CHARACTERS_MAX = 200
"""Of a place in a value, so much is shown: a name can be of any length."""
HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Written:
    """A value that was written as JSON before: `write` copies its text."""

    text: str


def read(text: str) -> Any:
    """Return the value of JSON text. A number that a float cannot hold is a Decimal.

    Raises ValueError for anything else than JSON, and if it nests too deep.

    >>> read("[1.5, 12345678901234567890, 0.1234567890123456789, 1e400]")
    [1.5, 12345678901234567890, Decimal('0.1234567890123456789'), Decimal('1E+400')]
    """
    try:
        try:
            return _READER.decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # of a long integer, or of what the other one refuses, too
            return _READER_OF_LONG.decode(text)
    except RecursionError as error:
        raise ValueError("the text nests too deep") from error


def write(value: Any, place: str = "") -> str:
    """Return `value` as JSON text. A Decimal is written with all its digits.

    place: what the caller calls the value. Raises InputError for what JSON cannot hold.

    >>> write({"n": [Decimal("1E+400"), 0.1]})
    '{"n":[1E+400,0.1]}'
    """
    try:
        text = _written(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        check(value, place)
        raise InputError(f"a value cannot be written as JSON: {error}") from error
    return text


def copied(value: Any) -> Any:
    """Return a copy of objects and arrays, so that a change of `value` does not change it.

    Raises InputError for what JSON cannot hold: a name that is no text, an array inside itself.
    """
    try:
        return _copied(value)
    except (TypeError, RecursionError):
        check(value)
        raise


def check(value: Any, place: str = "") -> None:
    """Raise InputError if JSON cannot hold a value: the message says where, and what is there.

    place: what the caller calls the value.

    >>> check([1, {"when": b""}], "memory")
    Traceback (most recent call last):
    forklore.client.errors.InputError: memory[1].when: bytes is no JSON value (memory)
    """
    try:
        where, what = next(_faults(value, place), ("", ""))
    except RecursionError as error:
        raise InputError(f"{place or 'a value'} is nested too deeply for JSON") from error
    if what:
        shown = where if len(where) <= PLACE_CHARACTERS_MAX else f"…{where[-PLACE_CHARACTERS_MAX:]}"
        root = re.split(r"[.[]", where, maxsplit=1)[0]
        raise InputError(f"{shown}: {what}" if shown else what, details={"field": root})


@contextmanager
def called(place: str, value: Any) -> Iterator[None]:
    """Let errors about what JSON cannot hold name the places in `value` as the caller knows them.

    place: what the caller calls the value, whatever the service does.
    """
    try:
        yield
    except InputError:
        check(value, place)
        raise


def _faults(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Return where JSON cannot hold a value, and why."""
    match value:
        case None | bool() | Written():
            pass
        case str():
            if HALVES.search(value):
                yield place, "a text holds half of a surrogate pair, which JSON cannot hold"
        case float() | Decimal():
            if not Decimal(value).is_finite():
                yield place, f"{value} is no JSON value"
        case int():
            try:
                repr(value)
            except ValueError:
                yield place, "an integer has too many digits for JSON"
        case Mapping():
            for name, held in value.items():
                if not isinstance(name, str):
                    yield place, f"a name in JSON is text, not {type(name).__name__}"
                else:
                    yield from _faults(name, place)
                    yield from _faults(held, f"{place}.{name}" if place else name)
        case list() | tuple():
            for at, held in enumerate(value):
                yield from _faults(held, f"{place}[{at}]")
        case _:
            yield place, f"{type(value).__name__} is no JSON value"


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _written(value: Any) -> str:
    if isinstance(value, Written):
        return value.text
    try:
        return _encode(value)
    except TypeError:
        return _spelled(value)


def _spelled(value: Any) -> str:
    match value:
        case Decimal() if value.is_finite():
            return str(value)
        case Mapping():
            return (
                "{"
                + ",".join(f"{_encode(_text(name))}:{_written(held)}" for name, held in value.items())
                + "}"
            )
        case list() | tuple():
            return "[" + ",".join(map(_written, value)) + "]"
    raise TypeError(type(value).__name__)


def _copied(value: Any) -> Any:
    match value:
        case Mapping():
            return {_text(name): _copied(held) for name, held in value.items()}
        case list() | tuple():
            return list(map(_copied, value))
    return value


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(type(name).__name__)
    return name


def number(digits: str) -> float | Decimal:
    """Return the value of a JSON number with a point or an exponent: a float if that can hold it.

    Raises ValueError for an exponent that is beyond what a Decimal can hold.
    """
    approximate = float(digits)
    if repr(approximate) == digits:
        return approximate
    exact = _decimal(digits)
    return approximate if Decimal(repr(approximate)) == exact else exact


def integer(digits: str) -> int | Decimal:
    """Return the value of a JSON number without a point and an exponent."""
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else _decimal(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is no number")


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation as error:
        raise ValueError(f"a number is beyond what can be read: {digits[:40]}") from error


_READER = json.JSONDecoder(parse_float=number, parse_constant=_no_number)
_READER_OF_LONG = json.JSONDecoder(parse_float=number, parse_int=integer, parse_constant=_no_number)
"""Calls a function for each integer, which costs more than to read it."""
