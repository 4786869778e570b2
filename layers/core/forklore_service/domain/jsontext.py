"""JSON as callers sent it: read strictly, kept as text.

Numbers lose their spelling when they are read, so the members that callers own (`content`,
`metadata`, `usage`) are kept as the text that was sent. Text that could not be returned as it was
sent is refused.
"""

import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain
from json.encoder import encode_basestring
from math import isinf
from typing import Any, NamedTuple, NoReturn

from forklore_service.errors import ValidationError
from forklore_service.limits import DEPTH_MAX

CONTAINERS_MAX = 200_000
"""Arrays and objects in one text: to read 5 MB of nothing else takes many seconds."""
_BETWEEN_BRACKETS = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"?)++', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_INTEGER_DIGITS_MAX = 40
NUMBER_CHARACTERS_MAX = 400
_MAYBE_ODD_NUMBER = re.compile(r"[0-9](?:[0-9]{40}|[eE][+-]?[0-9]{3})")
"""What only a number has that is not read as it usually is. It may also stand in a string.

A digit comes first in both: so the search skips other letters several times as fast.
"""
FIELDS_MAX = 5_000
"""Of a body with its entries and its context, the entries counted. No operation takes so many."""
_encode = json.JSONEncoder(ensure_ascii=False).encode
_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN_NAME = re.compile(r'"([^"\\]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
"""A name without escapes, up to its value."""
_NOT_JSON = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a name in double quotes is missing",
    "Expecting ':'": "a colon is missing",
    "Expecting ','": "a comma or the closing bracket is missing",
    "Illegal trailing comma": "nothing follows the comma",
    "Unterminated string": "no quote ends the string that begins",
    "Invalid control character": "a control character must be escaped",
    "Invalid \\u": "four hexadecimal digits are missing",
    "Invalid \\": "a backslash escapes what it cannot",
    "Extra data": "something follows the end",
}
"""How Python's messages about invalid JSON begin, and what the caller reads instead."""


class JsonText(NamedTuple):
    """A JSON value: the text that was sent, and what it means."""

    text: str
    value: Any


def read_object(text: str, *, kept: frozenset[str]) -> dict[str, Any]:
    """Return the members of the JSON object `text`.

    Those named in `kept`, and not null, are JsonText.
    The members of the objects in the array `entries` and of the object `context` are read in the
    same way, but not those in these again.

    Raises ValidationError for anything but one JSON object, for a nesting deeper than DEPTH_MAX,
    more than CONTAINERS_MAX arrays and objects or FIELDS_MAX fields, a repeated name, NaN, an
    infinity, a number that not every reader can read, a lone surrogate, or text after the end.
    """
    _check_containers(text)
    decoder = _decoder_for(text)
    try:
        value = decoder.decode(text)
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False, default=str).encode()  # two escapes may be a pair
        elif not text.isascii():
            text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError("the body holds a lone surrogate") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValidationError(f"the body is not JSON: {_where(error)}") from error
    if not isinstance(value, dict):
        raise ValidationError("the body must be a JSON object")
    inner = value.get("entries")
    elements = inner if isinstance(inner, list) else []
    objects = [value, *(one for one in (*elements, value.get("context")) if isinstance(one, dict))]
    if len(elements) + sum(map(len, objects)) > FIELDS_MAX:
        raise ValidationError(f"the body has more than {FIELDS_MAX} fields and entries")
    if kept.intersection(chain(*objects)):
        _keep_texts(text, _skip(text, 0), value, kept, is_body=True)
    return value


def read_value(text: str) -> Any:
    """Return the value of JSON text that was checked when it was stored."""
    return _STORED.decode(text)


def elements_of(array: JsonText, start: int) -> JsonText:
    """Return the array without its first `start` elements; the others as they were sent."""
    if start == 0:
        return array
    spans: list[tuple[int, int]] = []

    def element(at: int) -> int:
        _, end = _STORED.raw_decode(array.text, at)
        spans.append((at, end))
        return end

    _each(array.text, _skip(array.text, 0), element)
    rest = ",".join(array.text[at:end] for at, end in spans[start:])
    return JsonText(f"[{rest}]", array.value[start:])


def members_of(text: str) -> dict[str, JsonText | None]:
    """Return the members of an object that was checked when it was stored, as they were sent."""
    held = read_value(text)
    _keep_texts(text, _skip(text, 0), held, frozenset(held))
    return dict(held)


def text_of(value: Any) -> JsonText:
    """Return a value that was read elsewhere as JSON text, without spaces, and what that means.

    Raises ValidationError for a nesting deeper than DEPTH_MAX, for more than CONTAINERS_MAX arrays
    and objects, and for NaN, the infinities and lone surrogates, which JSON cannot spell.
    """
    _check_levels(value)
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except ValueError as error:
        raise ValidationError("the value cannot be written as JSON") from error
    return JsonText(text, read_value(text))


def check_value(text: str) -> JsonText:
    """Return JSON text of any value, with what it means. `read_object` has checked its surrogates.

    Raises ValidationError for anything that `read_object` would refuse as a member's value.
    """
    _check_containers(text)
    try:
        return JsonText(text, _decoder_for(text).decode(text))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValidationError(f"the text is not JSON: {_where(error)}") from error


def to_json(value: Any) -> str:
    """Return `value` as JSON text. A JsonText in it is copied as it is. Objects are dicts."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, JsonText):
        return value.text
    if isinstance(value, dict):
        members = [
            f"{encode_basestring(name)}:{encode_basestring(held) if isinstance(held, str) else to_json(held)}"
            for name, held in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if value is True or value is False:
        return "true" if value else "false"
    return "null" if value is None else _encode(value)


def _check_containers(text: str) -> None:
    depth = count = 0
    for bracket in _BETWEEN_BRACKETS.sub("", text):
        if bracket in "[{":
            depth, count = depth + 1, count + 1
            if depth > DEPTH_MAX:
                raise ValidationError(f"the body nests deeper than {DEPTH_MAX} levels")
            if count > CONTAINERS_MAX:
                raise ValidationError(f"the body holds more than {CONTAINERS_MAX} arrays and objects")
        else:
            depth -= 1


def _check_levels(value: Any) -> None:
    level, count = _containers([value]), 0
    for _ in range(DEPTH_MAX):
        count += len(level)
        if count > CONTAINERS_MAX:
            raise ValidationError(f"the value holds more than {CONTAINERS_MAX} arrays and objects")
        level = _containers(inner for outer in level for inner in _held(outer))
    if level:
        raise ValidationError(f"the value nests deeper than {DEPTH_MAX} levels")


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list)]


def _held(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _where(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        told = (text for begin, text in _NOT_JSON.items() if error.msg.startswith(begin))
        return f"{next(told, 'something is wrong')} at character {error.pos}"
    return "it nests too deep"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValidationError("the body names a member twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValidationError(f"{name} is not JSON")


def _checked(digits: str) -> Decimal:
    """Return a number that every usual reader can read: Python's, and those that make doubles."""
    exponent = digits.lower().partition("e")[2].lstrip("+-0")
    if len(digits) > NUMBER_CHARACTERS_MAX or len(exponent) > 3 or isinf(float(digits)):
        raise ValidationError(
            f"a number has at most {NUMBER_CHARACTERS_MAX} characters and an exponent of 3 digits, and is "
            "no larger than a double can be (1.8e308)"
        )
    return Decimal(digits)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _INTEGER_DIGITS_MAX else Decimal(digits)


def _checked_integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _INTEGER_DIGITS_MAX else _checked(digits)


def _decoder(parse_int: Callable[[str], Any], parse_float: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=parse_int, parse_float=parse_float
    )


_PLAIN = _decoder(int, Decimal)
"""Calls nothing here for a number, and is several times as fast as the others."""
_CHECKED = _decoder(_checked_integer, _checked)
_PLACES = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where a value ends in a text that was read before."""
_STORED = _decoder(_integer, Decimal)
"""Reads what was stored before numbers were bounded, too."""


def _decoder_for(text: str) -> json.JSONDecoder:
    """Return the decoder of a text that a caller has sent."""
    return _CHECKED if _MAYBE_ODD_NUMBER.search(text) else _PLAIN


def _keep_texts(
    text: str, at: int, held: dict[str, Any], kept: frozenset[str], *, is_body: bool = False
) -> int:
    """Give the members of an object that are named in `kept` their text. Return where it ends.

    text, at: where the object begins in the text that was read. is_body: look into `entries` and
    `context`, too.
    """
    at = _skip(text, at + 1)
    while text[at] != "}":
        named = _PLAIN_NAME.match(text, at)
        if named is not None:
            name, start = named[1], named.end()
        else:
            name, at = _PLACES.raw_decode(text, at)
            start = _skip(text, _skip(text, at) + 1)  # behind the colon
        value, is_kept = held[name], name in kept
        if is_body and not is_kept and name == "entries" and isinstance(value, list):
            at = _keep_texts_of_each(text, start, value, kept)
        elif is_body and not is_kept and name == "context" and isinstance(value, dict):
            at = _keep_texts(text, start, value, kept)
        else:
            _, at = _PLACES.raw_decode(text, start)
            if is_kept and value is not None:
                held[name] = JsonText(text[start:at], value)
        at = _skip_comma(text, at)
    return at + 1


def _keep_texts_of_each(text: str, at: int, held: list[Any], kept: frozenset[str]) -> int:
    """Do as `_keep_texts` for each object in an array. Return where the array ends."""
    at = _skip(text, at + 1)
    for value in held:
        if isinstance(value, dict):
            at = _keep_texts(text, at, value, kept)
        else:
            _, at = _PLACES.raw_decode(text, at)
        at = _skip_comma(text, at)
    return at + 1


def _each(text: str, at: int, one: Callable[[int], int]) -> int:
    """Call `one` with the start of each part of the object or array at `at`. Return its end."""
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        at = _skip_comma(text, one(at))
    return at + 1


def _skip_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    if text[at] > " ":  # most texts have hardly a space
        return at
    match = _SPACE.match(text, at)
    return match.end() if match else at
