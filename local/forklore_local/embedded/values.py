"""DynamoDB's rules for the values of an item: what is allowed, and how many bytes it takes.

Sources: DynamoDB developer guide, "Supported data types and naming rules", "Item sizes and
formats", and "Constraints".
"""

import re
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import lru_cache
from typing import Any

from forklore_service.storage.connection import Item

ITEM_BYTES_MAX = 400 * 1024
DEPTH_MAX = 32
DIGITS_MAX = 38
EXPONENT_MIN, EXPONENT_MAX = -130, 125
CONTAINER_BYTES, MEMBER_BYTES = 3, 1
"""How many bytes a list or map takes for itself, and for each of its members."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SUM = Context(prec=DIGITS_MAX, traps=[Inexact, Overflow])

Value = dict[str, Any]


class InvalidError(Exception):
    """DynamoDB answers such a call with a ValidationException. The text is for people."""


def checked_values(given: Mapping[str, Value]) -> tuple[Item, int]:
    """Return values by name as DynamoDB keeps them, and their size in bytes. Raises InvalidError.

    Numbers are written in one form only, and sets are sorted. So equal values are equal in Python.

    >>> checked_values({"PK": {"S": "é"}, "n": {"N": "1.0240e3"}})
    ({'PK': {'S': 'é'}, 'n': {'N': '1024'}}, 8)
    """
    kept: Item = {}
    size = 0
    _require_names(given)
    for name, value in given.items():
        text = value.get("S")
        if type(text) is str and len(value) == 1 and text.isascii() and name.isascii():
            kept[name] = value  # as most values are
            size += len(name) + len(text)
            continue
        kept[name], taken = _checked(value, 0)
        size += text_bytes(name) + taken
    return kept, size


def text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(_encoded(text))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidError("a text holds half of a surrogate pair") from error


def _checked(value: Value, depth: int) -> tuple[Value, int]:
    if len(value) != 1:
        raise InvalidError("Supplied AttributeValue must contain exactly one of the supported datatypes")
    [kind] = value
    held = value[kind]
    match kind:
        case "S" if isinstance(held, str):
            return value, len(held) if held.isascii() else text_bytes(held)
        case "N" if isinstance(held, str):
            return _checked_number(held)
        case "B" if isinstance(held, bytes):
            return value, len(held)
        case "BOOL" if isinstance(held, bool):
            return value, 1
        case "NULL" if held is True:
            return value, 1
        case "M" | "L" if isinstance(held, dict if kind == "M" else list):
            return _checked_container(kind, held, depth)
        case "SS" | "NS" | "BS" if isinstance(held, list | set | frozenset):
            return _checked_set(kind, list(held))
    raise InvalidError(f"{kind} holds no such value")


def _checked_container(kind: str, held: Any, depth: int) -> tuple[Value, int]:
    if depth == DEPTH_MAX - 1:
        raise InvalidError("Nesting Levels have exceeded supported limits")
    size = CONTAINER_BYTES
    if kind == "L":
        numbers = [one.get("N") for one in held]
        if {*map(type, numbers)} == {str} and {*map(len, held)} == {1}:  # as those of a vector are
            members = [*map(_checked_number, numbers)]
        else:
            members = [_checked(one, depth + 1) for one in held]
        size += sum(taken + MEMBER_BYTES for _, taken in members)
        return {"L": [kept for kept, _ in members]}, size
    _require_names(held)
    named = {name: _checked(one, depth + 1) for name, one in held.items()}
    size += sum(text_bytes(name) + taken + MEMBER_BYTES for name, (_, taken) in named.items())
    return {"M": {name: kept for name, (kept, _) in named.items()}}, size


def _require_names(named: Mapping[str, Value]) -> None:
    if "" in named:
        raise InvalidError("One or more parameter values were invalid: an attribute's name is empty")


def _checked_set(kind: str, held: list[Any]) -> tuple[Value, int]:
    members = [_checked({kind[0]: one}, 0) for one in held]
    values = [kept[kind[0]] for kept, _ in members]
    if not values or len(set(values)) < len(values):
        raise InvalidError("One or more parameter values were invalid: a set is empty or holds a value twice")
    ordered = sorted(values, key=Decimal) if kind == "NS" else sorted(values)
    return {kind: ordered}, sum(taken for _, taken in members)


@lru_cache(maxsize=1024)
def _checked_number(text: str) -> tuple[Value, int]:
    """Return a number in its one form, and its bytes. A vector has few different ones."""
    number = checked_number(text)
    return {"N": number}, _number_bytes(number)


def checked_number(text: str) -> str:
    """Return a number in the one form that DynamoDB answers. Raises InvalidError.

    >>> checked_number("-00120.50e1")
    '-1205'
    """
    if text.isdigit() and text.isascii() and len(text) <= DIGITS_MAX and (text[0] != "0" or text == "0"):
        return text
    if not _NUMBER.fullmatch(text):
        raise InvalidError(f"The parameter cannot be converted to a numeric value: {text}")
    try:
        return _written(Decimal(text))
    except InvalidOperation:
        raise InvalidError("Number overflow, or underflow") from None


def _written(number: Decimal) -> str:
    sign, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    assert isinstance(exponent, int)
    stripped = significant.rstrip("0")
    if not stripped:
        return "0"
    exponent += len(significant) - len(stripped)
    if len(stripped) > DIGITS_MAX:
        raise InvalidError("Attempting to store more than 38 significant digits in a Number")
    if not EXPONENT_MIN <= exponent + len(stripped) - 1 <= EXPONENT_MAX:
        raise InvalidError("Number overflow, or underflow")
    return f"{Decimal((sign, tuple(map(int, stripped)), exponent)):f}"


def added(number: str, other: str) -> str:
    """Return the sum of two numbers in their one form. Raises InvalidError."""
    if len(number) < 18 and len(other) < 18 and "." not in number and "." not in other:
        return str(int(number) + int(other))
    try:
        return _written(_SUM.add(Decimal(number), Decimal(other)))
    except (Inexact, Overflow) as error:
        raise InvalidError("Number overflow, or more than 38 significant digits") from error


def _number_bytes(number: str) -> int:
    """Return the bytes of a number: one for two digits, counted from the point, without zeros."""
    if number.isdigit() and number != "0":  # most numbers are whole
        zeros = len(number) - len(number.rstrip("0"))
        return (len(number) + 1) // 2 - zeros // 2 + 1
    whole, _, fraction = number.lstrip("-").partition(".")
    digits = whole.rjust(len(whole) + len(whole) % 2, "0") + fraction.ljust(
        len(fraction) + len(fraction) % 2, "0"
    )
    pairs = [digits[at : at + 2] != "00" for at in range(0, len(digits), 2)]
    taken = len(pairs) - pairs.index(True) - pairs[::-1].index(True) if any(pairs) else 0
    return taken + 1 + number.startswith("-")
