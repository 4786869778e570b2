"""JSON of any depth. The standard decoder recurses, and message trees nest twice for each reply."""

import json
import re
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")


def parse_json(text: str) -> Any:
    """Return the JSON value in `text`, however deep it nests.

    Raises json.JSONDecodeError if `text` is not one JSON value.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return parse_nested_json(text)


def parse_nested_json(text: str) -> Any:
    """Return the same as `json.loads`, but without recursion.

    Raises json.JSONDecodeError if `text` is not one JSON value.

    >>> parse_nested_json('{"a": [1, {"b": []}], "c": "d"}')
    {'a': [1, {'b': []}], 'c': 'd'}
    """
    decode_scalar = json.JSONDecoder().raw_decode
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
            value, at = decode_scalar(text, at)
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
