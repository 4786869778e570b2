"""Generates `generated/operations.py`: the table of operations, a method for each."""

import re
import textwrap

from pydantic.alias_generators import to_snake

from forklore_service.api.operation import Operation
from forklore_service.api.operations import ALL
from tools.client.arguments import (
    arguments_of,
    lengths_max,
    lengths_of_operation,
    name_of_arguments,
    python_name,
)
from tools.client.results import name_of

HEAD = '''"""Every operation of the service: how it is called, what it takes, and what it answers.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

An argument that is None is left out. A POST that writes gets an idempotency key if it has none.
Every method raises the errors of `forklore.client.errors`.
"""

# The functions only say what a method takes and returns.
# mypy: disable-error-code="empty-body"

from collections.abc import Mapping
from typing import Unpack

from forklore.client.generated import arguments, results
from forklore.client.calling import AsyncCalling, Calling, Method, operation
from forklore.client.calls import Shape
from forklore.client.decoding import nothing


class Methods:
    """Every operation of the service, under its name."""

    def __init_subclass__(cls) -> None:
        """Make each operation a function of the class, as mocks and `help` know methods."""
        for name, row in vars(Methods).items():
            if isinstance(row, Method):
                setattr(cls, name, getattr(cls, name))
'''
TAIL = '''

class Operations(Methods, Calling):
    """Every operation of the service, under its name."""


class AsyncOperations(Methods, AsyncCalling):
    """Every operation of the service, under its name, for asyncio and trio."""


SHAPES: Mapping[str, Shape] = {
    row.shape.name: row.shape for row in vars(Methods).values() if isinstance(row, Method)
}
"""By the name of the operation."""
'''
CLEARS = {"updateConversation": ("title",)}
"""Arguments for which None says something of its own."""
HEADERS = {"Idempotency-Key": "idempotency_key", "If-Match": "if_match"}
WIDTH = 86
"""Columns of the docstrings' text, which stands 8 columns in, behind three quotes."""


def operations_module() -> str:
    """Return the text of the module."""
    return HEAD + "".join(f"\n{_method(operation)}" for operation in ALL) + TAIL


def _method(operation: Operation) -> str:
    result, made = _result(operation)
    row = [f'"{operation.method}"', f'"{operation.path}"', made]
    if operation.body is not None and operation.query_names:
        row.append(f"query={tuple(sorted(operation.query_names))!r}")
    if operation.body is None and operation.method == "POST":
        row.append("has_body=False")
    if operation.is_read and operation.method != "GET":
        row.append("only_reads=True")
    if unlimited := _unlimited(operation):
        row.append(f"unlimited={unlimited!r}")
    if nulls := CLEARS.get(operation.name):
        row.append(f"nulls={nulls!r}")
    taken = name_of_arguments(operation)
    takes = ["self", *(f"{to_snake(name)}: str" for name in operation.path_names)]
    takes += [f"**given: Unpack[arguments.{taken}]"] if taken else []
    return "\n".join(
        [
            f"    @operation({', '.join(row)})",
            f"    def {to_snake(operation.name)}({', '.join(takes)}) -> {result}:",
            textwrap.indent(f'"""{_doc(operation)}"""', "        "),
            "",
        ]
    )


def _unlimited(operation: Operation) -> tuple[str, ...]:
    """Return the arguments that have no limit here, although others of the name have one."""
    taken, limited = arguments_of(operation), lengths_of_operation(operation)
    return tuple(name for name in lengths_max() if python_name(name) in taken and name not in limited)


def _result(operation: Operation) -> tuple[str, str]:
    """Return the type of the result, and what makes it."""
    model = operation.result
    if model is None:
        return "None", "nothing"
    if "root" in model.model_fields:
        return f"results.{model.__name__}", f"results.{to_snake(model.__name__)}"
    return f"results.{name_of(model)}", f"results.{name_of(model)}.of"


def _doc(operation: Operation) -> str:
    """Return the docstring, which names arguments as Python does."""
    summary, description = operation.document()
    names = {*map(to_snake, operation.path_names), *arguments_of(operation)}
    names |= {to_snake(one.name) for one in ALL} | {*HEADERS.values()}

    def spelled(found: re.Match[str]) -> str:
        word = HEADERS.get(found[1], python_name(found[1]))
        return f"`{word}`" if word in names else found[0]

    texts = [
        textwrap.fill(re.sub(r"`([\w-]+)`", spelled, text), WIDTH) for text in (summary, description) if text
    ]
    whole = "\n\n".join(texts)
    return whole if "\n" not in whole else f"{whole}\n"
