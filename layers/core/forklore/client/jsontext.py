"""JSON whose numbers keep their value, also those that a float cannot hold."""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from forklore.client.errors import InputError

INTEGER_DIGITS_MAX = 4000
"""Python refuses to read integers of more than 4,300 digits."""


def read(text: str) -> Any:
    """Return the value of JSON text. A number that a float cannot hold is a Decimal.

    Raises ValueError for anything else than JSON.

    >>> read("[1.5, 12345678901234567890, 0.1234567890123456789, 1e400]")
    [1.5, 12345678901234567890, Decimal('0.1234567890123456789'), Decimal('1E+400')]
    """
    return json.loads(text, parse_float=number, parse_int=integer, parse_constant=_no_number)


def write(value: Any) -> str:
    """Return `value` as JSON text. A Decimal is written with all its digits.

    Raises InputError for what JSON cannot hold.

    >>> write({"n": [Decimal("1E+400"), 0.1]})
    '{"n":[1E+400,0.1]}'
    """
    text = _written(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError("a text holds half of a surrogate pair, which JSON cannot hold") from error
    return text


def copied(value: Any) -> Any:
    """Return a copy of objects and arrays, so that a change of `value` does not change it.

    Raises InputError for what JSON cannot hold: a name that is no text, an array inside itself.
    """
    try:
        return _copied(value)
    except RecursionError as error:
        raise InputError("a value is nested too deeply for JSON") from error


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _written(value: Any) -> str:
    try:
        return _encode(value)
    except TypeError:
        return _spelled(value)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a value cannot be written as JSON: {error}") from error


def _spelled(value: Any) -> str:
    match value:
        case Decimal() if value.is_finite():
            return str(value)
        case Mapping():
            return "{" + ",".join(f"{_name(name)}:{_written(held)}" for name, held in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_written, value)) + "]"
    raise InputError(f"a value cannot be written as JSON: {type(value).__name__}")


def _copied(value: Any) -> Any:
    match value:
        case Mapping():
            return {_checked(name): _copied(held) for name, held in value.items()}
        case list() | tuple():
            return list(map(_copied, value))
    return value


def _name(name: object) -> str:
    return _encode(_checked(name))


def _checked(name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"a name in JSON is text, not {type(name).__name__}")
    return name


def number(digits: str) -> float | Decimal:
    """Return the value of a JSON number with a point or an exponent: a float if that can hold it.

    Raises ValueError for an exponent that is beyond what a Decimal can hold.
    """
    approximate, exact = float(digits), _decimal(digits)
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
