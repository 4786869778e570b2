"""From the JSON schema of a parameter to the Python type of an argument."""

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_SCALARS = {"string": "str", "integer": "int", "number": "float | Decimal", "boolean": "bool", "null": "None"}


def type_of(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """Return the type of an argument, which may be left out.

    >>> type_of({"type": "array", "items": {"type": "string"}}, {})
    'Sequence[str]'
    >>> type_of({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, {})
    'Literal["a", "b"]'
    """
    if "$ref" in schema:
        return type_of(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
    if "anyOf" in schema:
        every = [type_of(one, definitions) for one in schema["anyOf"] if one.get("type") != "null"]
        return " | ".join(dict.fromkeys(every))
    match schema.get("type"):
        case "array":
            return f"Sequence[{type_of(schema.get('items', {}), definitions)}]"
        case "object":
            return "Mapping[str, Any]"
        case None:
            return "Any"
        case kind:
            return _SCALARS[kind]


def lengths_of(schema: Schema, definitions: Mapping[str, Schema]) -> dict[str, int]:
    """Return the most characters or elements of each argument, as `calls.Shape` has them."""
    found: dict[str, int] = {}
    for name, held in schema.get("properties", {}).items():
        inner = _resolved(held, definitions)
        most = inner.get("maxItems", inner.get("maxLength"))
        if isinstance(most, int):
            found[name] = most
        elements = _resolved(inner.get("items", {}), definitions)
        for below, length in lengths_of(elements, definitions).items():
            found[f"{name}[].{below}"] = length
    return found


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return a schema without references and without the alternative null."""
    if "$ref" in schema:
        return _resolved(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(others[0], definitions) if len(others) == 1 else schema
