"""Generates `forklore/client/operations/`: methods for all operations, with and without `await`."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from forklore_service.api.operation import Operation
from forklore_service.api.operations import ALL
from tools.client.results import name_of
from tools.client.types import Schema, lengths_of, type_of

SHAPES_HEAD = '''"""How each operation is called.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Mapping

from forklore.client.calls import Shape

'''
METHODS_HEAD = '''"""A method for each operation of the service{what}.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

An argument that is None is left out. A POST that writes gets an idempotency key if it has none.
Every method raises the errors of `forklore.client.errors`.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from forklore.client import results
from forklore.client.decoding import nothing
from forklore.client.omitted import OMITTED, Omitted
from forklore.client.operations.{base} import {Base}
from forklore.client.operations.shapes import SHAPES


class {Class}({Base}):
    """Every operation of the service, under its name."""
'''
CLEARS = {("updateConversation", "title")}
"""Arguments for which None says something of its own."""
WIDTH = 86
"""Columns of the docstrings' text, which stands 8 columns in, behind three quotes."""


def shapes_module() -> str:
    """Return the text of the module with the shapes."""
    rows = (f'    "{operation.name}": {_shape(operation)},' for operation in ALL)
    lines = ["SHAPES: Mapping[str, Shape] = {", *rows, "}", '"""By the name of the operation."""', ""]
    return SHAPES_HEAD + "\n".join(lines)


def methods_module(*, is_async: bool) -> str:
    """Return the text of the module with the methods."""
    head = METHODS_HEAD.format(
        what=", for asyncio and trio" if is_async else "",
        base="calling",
        Base="AsyncCalling" if is_async else "Calling",
        Class="AsyncOperations" if is_async else "Operations",
    )
    return head + "".join(f"\n{_method(operation, is_async=is_async)}" for operation in ALL)


def _shape(operation: Operation) -> str:
    parts = [f'name="{operation.name}"', f'method="{operation.method}"', f'path="{operation.path}"']
    if operation.query_names:
        parts.append(f"query=frozenset({sorted(operation.query_names)!r})")
    flags = {
        "has_body": operation.body is not None,
        "takes_key": operation.takes_idempotency_key,
        "takes_if_match": operation.takes_if_match and not operation.is_read,
        "is_read": operation.is_read,
    }
    parts += [f"{name}=True" for name, holds in flags.items() if holds]
    if lengths := lengths_of_operation(operation):
        parts.append(f"lengths_max={lengths!r}")
    return f"Shape({', '.join(parts)})"


def lengths_of_operation(operation: Operation) -> dict[str, int]:
    """Return the most characters or elements of each argument, by its name in JSON."""
    lengths: dict[str, int] = {}
    for model in (operation.query, operation.body):
        for schema, definitions in _schemas(model):
            lengths |= lengths_of(schema, definitions)
    return dict(sorted(lengths.items()))


def _schemas(model: type[BaseModel] | None) -> list[tuple[Schema, Mapping[str, Schema]]]:
    """Return the schemas of the objects that a model takes, with the definitions that they use."""
    if model is None:
        return []
    whole = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Schema] = whole.get("$defs", {})
    every = whole.get("oneOf", whole.get("anyOf", [whole]))
    return [
        (definitions[one["$ref"].rpartition("/")[2]] if "$ref" in one else one, definitions) for one in every
    ]


def optional_arguments(operation: Operation, *, with_: str | None = None) -> dict[str, str]:
    """Return the type of each argument that may be left out, by its name in Python.

    with_: only those that go with this one.
    """
    found = {
        _python(name): kind for name, (kind, needed) in _arguments(operation, with_).items() if not needed
    }
    if operation.takes_idempotency_key:
        found["idempotency_key"] = "str"
    if operation.takes_if_match and not operation.is_read:
        found["if_match"] = "str"
    return found


def _arguments(operation: Operation, with_: str | None = None) -> dict[str, tuple[str, bool]]:
    """Return the type of each argument, and whether it must be given, by its name in JSON.

    with_: only those of the bodies that have this member.
    """
    found: dict[str, tuple[str, bool]] = {}
    for model in (operation.query, operation.body):
        schemas = [
            each for each in _schemas(model) if with_ is None or with_ in each[0].get("properties", {})
        ]
        for schema, definitions in schemas:
            for name, inner in schema.get("properties", {}).items():
                needed = all(name in each.get("required", ()) for each, _ in schemas)
                found[name] = (type_of(inner, definitions), needed)
    return found


def _method(operation: Operation, *, is_async: bool) -> str:
    path, arguments = operation.path_names, _arguments(operation)
    takes = [f"{to_snake(name)}: str" for name in path]
    required = [(name, kind) for name, (kind, needed) in arguments.items() if needed]
    named = [f"{_python(name)}: {kind}" for name, kind in required]
    for name, kind in optional_arguments(operation).items():
        if (operation.name, name) in CLEARS:
            named.append(f"{name}: {kind} | Omitted | None = OMITTED")
        else:
            named.append(f"{name}: {kind if kind == 'Any' else f'{kind} | None'} = None")
    takes = ["self", *takes, *(["*", *named] if named else [])]
    given = ", ".join(
        f'"{name}": {to_snake(name) if name in path else _python(name)}' for name in [*path, *arguments]
    )
    result, made = _result(operation)
    extra = "".join(
        f", {name}={name}"
        for name, holds in (
            ("idempotency_key", operation.takes_idempotency_key),
            ("if_match", operation.takes_if_match and not operation.is_read),
        )
        if holds
    )
    nulls = tuple(name for name in arguments if (operation.name, name) in CLEARS)
    extra += f", nulls={nulls!r}" if nulls else ""
    call = f'self._call(SHAPES["{operation.name}"], {{{given}}}, {made}{extra})'
    body = f"await {call}" if is_async else call
    lines = [
        f"    {'async ' if is_async else ''}def {to_snake(operation.name)}({', '.join(takes)}) -> {result}:",
        textwrap.indent(f'"""{_doc(operation, [*path, *arguments])}"""', "        "),
        f"        {'' if result == 'None' else 'return '}{body}",
    ]
    return "\n".join(lines) + "\n"


def _result(operation: Operation) -> tuple[str, str]:
    """Return the type of the result, and what makes it."""
    model = operation.result
    if model is None:
        return "None", "nothing"
    if "root" in model.model_fields:
        return f"results.{model.__name__}", f"results.{to_snake(model.__name__)}"
    return f"results.{name_of(model)}", f"results.{name_of(model)}.of"


def _python(name: str) -> str:
    """Return the argument's name in Python. `with` is a keyword."""
    return "with_" if name == "with" else to_snake(name)


def _doc(operation: Operation, names: list[str]) -> str:
    """Return the docstring, which names arguments as Python does."""
    summary, description = operation.document()
    known = {**{name: _python(name) for name in names}, **{one.name: to_snake(one.name) for one in ALL}}
    known["Idempotency-Key"], known["If-Match"] = "idempotency_key", "if_match"

    def spelled(found: re.Match[str]) -> str:
        word: Any = known.get(found[1])
        return f"`{word}`" if word else found[0]

    texts = [
        textwrap.fill(re.sub(r"`([\w-]+)`", spelled, text), WIDTH) for text in (summary, description) if text
    ]
    whole = "\n\n".join(texts)
    return whole if "\n" not in whole else f"{whole}\n"
