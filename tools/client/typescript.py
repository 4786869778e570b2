"""Generates `clients/typescript/src/generated/operations.ts`: types and calls of all operations.

The types and the words are those of `docs/openapi.json`.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from forklore_service import limits
from forklore_service.api.operation import Operation
from forklore_service.api.operations import ALL
from forklore_service.api.requests import Described
from tools.client.arguments import lengths_of_operation
from tools.client.results import NAMES as RESULTS
from tools.client.types import Schema

HEAD = """\
// What the service takes and answers, and how each operation is called.
//
// Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

import type { Keyed, Matched, Sent, Shape } from "../wire.ts";

{limits}

/** What callers say of a conversation. */
export const DESCRIPTION = {description} as const;
"""
LIMITS = {
    "BODY_CHARACTERS_MAX": "More characters than these are refused before they are sent.",
    "ATTACHMENT_BYTES_MAX": "A larger file cannot be attached.",
    "ATTACHMENT_INLINE_BYTES_MAX": "More bytes of a file are sent to an address of their own.",
    "ATTACHMENTS_PER_ENTRY_MAX": "An entry names at most so many files.",
}
"""The limits of the service that its client and the explorer know, each with what is said of it."""
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
OBJECT = "Record<string, unknown>"
NAMES = {**RESULTS, "Role": "TransferRole"}
"""Other names than those of the models. A `Role` is who says a message."""
TAKEN = ("parameters", "requestBody")
"""The parts of an operation that say what it takes."""
WIDTH = 96


def typescript_module(described: Any) -> str:
    """Return the text of the module. described: the OpenAPI document."""
    by_name = {one["operationId"]: one for path in described["paths"].values() for one in path.values()}
    operations = [(operation, by_name[operation.name]) for operation in ALL]
    schemas: Mapping[str, Schema] = described["components"]["schemas"]
    taken = _reached([one[part] for _, one in operations for part in TAKEN if part in one], schemas)
    answered = _reached([_answer(one) for _, one in operations], schemas)
    assert taken.isdisjoint(answered), "a model is taken and answered: its optional members differ"
    parts = [
        HEAD.replace("{limits}", "\n".join(map(_limit, LIMITS))).replace(
            "{description}", json.dumps([field.alias for field in Described.model_fields.values()])
        ),
        *(_model(name, schemas[name], is_taken=name in taken) for name in sorted(taken | answered)),
        *(_arguments(*each) for each in operations),
        _interface([_signature(*each) for each in operations]),
        _shapes([_shape(*each, schemas) for each in operations]),
    ]
    return "\n".join(parts)


def _limit(name: str) -> str:
    return f"/** {LIMITS[name]} */\nexport const {name} = {getattr(limits, name):_};"


def type_of(schema: Schema, *, is_taken: bool = False) -> str:
    """Return the type of a value. is_taken: the service takes it, so its arrays may be readonly.

    >>> type_of({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
    '(string | null)[]'
    >>> type_of({"enum": ["a", "b"]})
    '"a" | "b"'
    """
    if "$ref" in schema:
        return _name(schema)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            every = (type_of(one, is_taken=is_taken) for one in schema[several])
            return " | ".join(dict.fromkeys(every))
    match schema.get("type"):
        case "array":
            inner = type_of(schema.get("items", {}), is_taken=is_taken)
            return f"{'readonly ' if is_taken else ''}{f'({inner})' if ' ' in inner else inner}[]"
        case "object" if schema.get("properties"):
            return f"{{ {' '.join(_members(schema, is_taken=is_taken))} }}"
        case "object":
            values = schema.get("additionalProperties")
            return f"Record<string, {type_of(values)}>" if isinstance(values, Mapping) else OBJECT
        case None:
            return "unknown"
        case kind:
            return SCALARS[kind]


def _name(schema: Schema) -> str:
    """Return the name of the type that a reference stands for."""
    name: str = schema["$ref"].rpartition("/")[2]
    return NAMES.get(name, name)


def _body(described: Schema) -> Schema:
    """Return the schema of an operation's body; empty without one."""
    content = described.get("requestBody", {}).get("content", {})
    schema: Schema = content.get("application/json", {}).get("schema", {})
    return schema


def _answer(described: Schema) -> Schema:
    """Return the schema of an operation's successful answer; empty without one."""
    for status, answer in described["responses"].items():
        if status.startswith("2") and "content" in answer:
            schema: Schema = answer["content"]["application/json"]["schema"]
            return schema
    return {}


def _reached(schemas: list[Any], definitions: Mapping[str, Schema]) -> set[str]:
    """Return the names of the models that schemas refer to, directly or by another one."""
    found: set[str] = set()
    left = [name for schema in schemas for name in _references(schema)]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _references(definitions[name])
    return found


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2]
        case Mapping():
            for inner in schema.values():
                yield from _references(inner)
        case list():
            for inner in schema:
                yield from _references(inner)


def _members(schema: Schema, *, is_taken: bool) -> Iterator[str]:
    """Yield the members of an object. is_taken: one that may be left out may be undefined, too."""
    required = schema.get("required", ())
    absent = " | undefined" if is_taken else ""
    for name, inner in schema.get("properties", {}).items():
        kind = type_of(inner, is_taken=is_taken)
        yield f"{name}: {kind};" if name in required else f"{name}?: {kind}{absent};"


def _model(name: str, schema: Schema, *, is_taken: bool) -> str:
    told, shown = _comment(schema.get("description", "")), NAMES.get(name, name)
    if "properties" not in schema or not schema["properties"]:
        # An intersection with `Record<string, never>` would have no members of the path.
        kind = (
            "Record<never, never>" if schema.get("type") == "object" else type_of(schema, is_taken=is_taken)
        )
        return f"{told}export type {shown} = {kind};\n"
    members = "".join(f"\t{member}\n" for member in _members(schema, is_taken=is_taken))
    return f"{told}export interface {shown} {{\n{members}}}\n"


def _parameters(described: Schema) -> list[Schema]:
    return [one for one in described["parameters"] if one["in"] != "header"]


def _arguments(operation: Operation, described: Schema) -> str:
    parameters, body = _parameters(described), _body(described)
    flat: Schema = {
        "properties": {one["name"]: one["schema"] for one in parameters},
        "required": [one["name"] for one in parameters if one["required"]],
    }
    members = "".join(f"\t{member}\n" for member in _members(flat, is_taken=True))
    parts = [*([f"{{\n{members}}}"] if members else []), *([_name(body)] if body else [])]
    if not parts:
        return ""
    told = f"/** What `{operation.name}` takes. */\n"
    return f"{told}export type {_arguments_name(operation)} = {' & '.join(parts)};\n"


def _arguments_name(operation: Operation) -> str:
    return f"{operation.name[0].upper()}{operation.name[1:]}Arguments"


def _signature(operation: Operation, described: Schema) -> str:
    """Return the method of an operation. Without arguments it takes none, so `{}` may be given."""
    answer, body = _answer(described), described.get("requestBody", {})
    kinds = [
        kind
        for kind, holds in (
            ("Keyed", operation.takes_idempotency_key),
            ("Matched", operation.takes_if_match and not operation.is_read),
        )
        if holds
    ]
    is_needed = body.get("required") or any(one["required"] for one in _parameters(described))
    has_arguments = bool(body or _parameters(described))
    given = _arguments_name(operation) if has_arguments else "Record<string, never>"
    takes = f"given{'' if is_needed else '?'}: {given}, options?: {' & '.join(kinds) or 'Sent'}"
    told = _comment("\n\n".join([described["summary"], described["description"]]).strip(), "\t")
    return f"{told}\t{operation.name}({takes}): Promise<{type_of(answer) if answer else 'void'}>;\n"


def _interface(signatures: list[str]) -> str:
    head = "/** Every operation of the service, under its name. */\nexport interface Operations {\n"
    return f"{head}{''.join(signatures)}}}\n"


def _shape(operation: Operation, described: Schema, schemas: Mapping[str, Schema]) -> str:
    parts: dict[str, Any] = {"method": operation.method, "path": operation.path}
    flags = {
        "hasBody": operation.body is not None,
        "takesKey": operation.takes_idempotency_key,
        "takesIfMatch": operation.takes_if_match and not operation.is_read,
        "isRead": operation.is_read,
    }
    parts |= {name: True for name, holds in flags.items() if holds}
    if operation.body is not None and operation.query_names:
        parts["query"] = sorted(operation.query_names)
    if lengths := lengths_of_operation(operation):
        parts["lengthsMax"] = lengths
    if answer := _answer(described):
        parts["answers"] = sorted(schemas[answer["$ref"].rpartition("/")[2]].get("required", ()))
    return f"\t{operation.name}: {json.dumps(parts)},\n"


def _shapes(shapes: list[str]) -> str:
    told = "/** How each operation is called, by its name. */\n"
    return f"{told}export const SHAPES: Record<keyof Operations, Shape> = {{\n{''.join(shapes)}}};\n"


def _comment(text: str, indent: str = "") -> str:
    """Return a comment for readers and editors; nothing for no text."""
    paragraphs = [textwrap.wrap(one, WIDTH) for one in text.split("\n\n") if one]
    lines = [line for at, one in enumerate(paragraphs) for line in ([""] if at else []) + one]
    if len(lines) < 2:
        return "".join(f"{indent}/** {line} */\n" for line in lines)
    middle = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{middle}{indent} */\n"
