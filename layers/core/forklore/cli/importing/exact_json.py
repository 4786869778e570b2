"""Reads JSON of any depth. `forklore.client.jsontext` reads its numbers, and writes JSON."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from forklore.client import jsontext

_SPACE = re.compile(r"[ \t\n\r]*")


class NotJsonError(ValueError):
    """A text is not one JSON value. line, column: where, from 1."""

    def __init__(self, reason: str, *, line: int = 1, column: int | None = None) -> None:
        super().__init__(reason if column is None else f"{reason} at column {column}")
        self.line = line


def parse_json(text: str) -> Any:
    """Return the JSON value in `text`, however deep it nests.

    A number that a float cannot hold is a Decimal. Of a name that is there twice, the last counts.
    Raises NotJsonError if `text` is not one JSON value.

    >>> parse_json("[1.5, 12345678901234567890, 0.1234567890123456789]")
    [1.5, 12345678901234567890, Decimal('0.1234567890123456789')]
    """
    try:
        try:
            return _DECODER.decode(text)
        except RecursionError:
            return parse_nested_json(text)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except NotJsonError:
        raise
    except ValueError as error:
        raise NotJsonError(str(error)) from error


def parse_nested_json(text: str) -> Any:
    """Return the same as `json.loads` with exact numbers, but without recursion.

    Raises json.JSONDecodeError if `text` is not one JSON value.

    >>> parse_nested_json('{"a": [1, {"b": []}], "c": "d"}')
    {'a': [1, {'b': []}], 'c': 'd'}
    """
    open_containers: list[
        tuple[list[Any] | dict[str, Any], str]
    ] = []  # with the key that waits for its value
    at = _after_space(text, 0)
    while True:
        value: Any
        if text[at : at + 1] in ("[", "{"):
            container: list[Any] | dict[str, Any] = [] if text[at] == "[" else {}
            at = _after_space(text, at + 1)
            if text[at : at + 1] != _closer(container):
                key, at = _read_key(text, at) if isinstance(container, dict) else ("", at)
                open_containers.append((container, key))
                continue
            value, at = container, at + 1
        else:
            value, at = _DECODER.raw_decode(text, at)
        while open_containers:
            container, key = open_containers.pop()
            if isinstance(container, dict):
                container[key] = value
            else:
                container.append(value)
            at = _after_space(text, at)
            if text[at : at + 1] == ",":
                at = _after_space(text, at + 1)
                key, at = _read_key(text, at) if isinstance(container, dict) else ("", at)
                open_containers.append((container, key))
                break
            if text[at : at + 1] != _closer(container):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            value, at = container, at + 1
        else:
            at = _after_space(text, at)
            if at != len(text):
                raise json.JSONDecodeError("Extra data", text, at)
            return value


def depth(value: Any) -> int:
    """Return how many arrays and objects nest in each other in `value`.

    >>> depth("a"), depth([]), depth({"a": [{}]})
    (0, 1, 3)
    """
    levels, level = 0, _containers([value])
    while level:
        levels += 1
        level = [held for outer in level for held in _containers(_held(outer))]
    return levels


def _containers(values: Any) -> list[Any]:
    return [value for value in values if isinstance(value, Mapping | list | tuple)]


def _held(container: Any) -> Any:
    return container.values() if isinstance(container, Mapping) else container


def _no_constant(name: str) -> NoReturn:
    raise NotJsonError(f"not JSON: {name} is no number")


_DECODER = json.JSONDecoder(
    parse_float=jsontext.number, parse_int=jsontext.integer, parse_constant=_no_constant
)


def _after_space(text: str, at: int) -> int:
    """Return the index of the first character from `at` on that is not white space."""
    match = _SPACE.match(text, at)
    assert match is not None, "the pattern also matches the empty text"
    return match.end()


def _closer(container: list[Any] | dict[str, Any]) -> str:
    return "}" if isinstance(container, dict) else "]"


def _read_key(text: str, at: int) -> tuple[str, int]:
    """Return the property name at `at` and the index where its value starts."""
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = json.JSONDecoder().raw_decode(text, at)
    assert isinstance(key, str), key
    at = _after_space(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return key, _after_space(text, at + 1)
