"""JSON whose numbers keep their value, also those that a float cannot hold."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from forklore.client.errors import InputError

INTEGER_DIGITS_MAX = 4000
"""Python refuses to read integers of more than 4,300 digits."""


def read(text: str) -> Any:
    """Return the value of JSON text. A number that a float cannot hold is a Decimal.

    Raises ValueError for anything else than JSON.

    >>> read("[1.5, 12345678901234567890, 0.1234567890123456789, 1e400]")
    [1.5, 12345678901234567890, Decimal('0.1234567890123456789'), Decimal('1E+400')]
    """
    return json.loads(text, parse_float=_number, parse_int=_integer)


def write(value: Any) -> str:
    """Return `value` as JSON text. A Decimal is written with all its digits.

    Raises InputError for what JSON cannot hold.

    >>> write({"n": [Decimal("1E+400"), 0.1]})
    '{"n":[1E+400,0.1]}'
    """
    try:
        return _encode(value)
    except TypeError:
        return _spelled(value)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a value cannot be written as JSON: {error}") from error


def has_decimal(value: Any) -> bool:
    """Return whether `value` holds a number that only Decimal holds."""
    match value:
        case Decimal():
            return True
        case Mapping():
            return any(map(has_decimal, value.values()))
        case list() | tuple():
            return any(map(has_decimal, value))
    return False


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _spelled(value: Any) -> str:
    match value:
        case Decimal() if value.is_finite():
            return str(value)
        case Mapping():
            return "{" + ",".join(f"{_name(name)}:{write(held)}" for name, held in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(write, value)) + "]"
    raise InputError(f"a value cannot be written as JSON: {type(value).__name__}")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"a name in JSON is text, not {type(name).__name__}")
    return _encode(name)


def _number(digits: str) -> float | Decimal:
    number, exact = float(digits), Decimal(digits)
    return number if Decimal(repr(number)) == exact else exact


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else Decimal(digits)
