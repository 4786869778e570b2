"""Generates `generated/arguments.py`: what operations take, and methods hand on to them."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel
from pydantic.alias_generators import to_snake

from forklore_service.api.operation import Operation
from forklore_service.api.operations import ALL
from forklore_service.api.requests import Described
from tools.client.types import Schema, lengths_of, type_of

HEAD = '''"""What operations take, and methods hand on to them, for type checkers and completion.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Required, TypedDict
'''
Arguments = Mapping[str, str]
"""The type of each argument, by its name in Python."""
SHARED = {
    "Keyed": ("promoteConversation", "idempotency_key"),
    "Justified": ("adminGetConversation", "justification"),
    "Paged": ("listForks", "limit after_cursor"),
    "Watched": ("getConversation", "wait"),
    "Described": ("createConversation", " ".join(Described.model_fields)),
    "Begun": ("appendEntry", "started_by_conversation_id started_by_entry_id promote"),
    "ForkedAt": (
        "appendEntry",
        "forked_at_conversation_id forked_at_entry_id forked_at_key forked_at_position",
    ),
    "Written": (
        "appendEntry",
        (
            "agent_id channel user_id epoch metadata indexed_content"
            " merged_from_conversation_id merged_up_to_entry_id"
        ),
    ),
}
"""What many operations take: one of them, and which of its arguments."""


class _Handed(NamedTuple):
    """The arguments of an operation that a method takes under their own names.

    but: those that it does not take, because it has a word of its own for them. with_: of an
    operation that takes several kinds of bodies, a member of the kind that is meant.
    """

    method: str
    operation: str
    but: str = ""
    with_: str | None = None


_PAGES = "limit after_cursor"
_SAID = "key usage if_match idempotency_key"
HANDED = (
    _Handed("say", "appendEntry", _SAID, "content"),
    _Handed("turn", "appendEntry", f"context {_SAID}", "content"),
    _Handed("append", "appendEntry", with_="content"),
    _Handed("append_all", "appendEntry", with_="entries"),
    _Handed("fork", "forkConversation", "at_entry_id count name promote"),
    _Handed("entries", "listEntries", f"channel before_cursor tail wait {_PAGES}"),
    _Handed("update", "updateConversation"),
    _Handed("merge", "mergeConversation"),
    _Handed("copy", "copyConversation"),
    _Handed("copy_tree", "copyTree"),
    _Handed("create", "createConversation"),
    _Handed("conversations", "listConversations", f"wait {_PAGES}"),
    _Handed("search", "searchConversations", _PAGES),
)


def arguments_module() -> str:
    """Return the text of the module."""
    limits = f"LENGTHS_MAX: Mapping[str, int] = {lengths_max()!r}"
    told = """\"""The most characters or elements of arguments, by their names in JSON.\"""\n"""
    made: dict[str, Arguments] = {}
    classes = []
    for name, taken in _types().items():
        classes.append(_typed_dict(name, taken, made))
        made[name] = taken
    return "\n\n".join([f"{HEAD}\n{limits}\n{told}", *classes])


def lengths_max() -> dict[str, int]:
    """Return the most characters or elements of arguments, by their names in JSON."""
    found: dict[str, int] = {}
    for operation in ALL:
        for name, most in lengths_of_operation(operation).items():
            assert found.setdefault(name, most) == most, f"{name} has two limits"
    return dict(sorted(found.items()))


def name_of_arguments(operation: Operation) -> str | None:
    """Return the name of the TypedDict of what is taken beside the path; None for nothing."""
    taken = arguments_of(operation)
    return next((name for name, held in _types().items() if held == taken), None)


@cache
def _types() -> Mapping[str, Arguments]:
    """Return every TypedDict, each after those that it may go on from. No two are the same."""
    every = [(f"{one.name[0].upper()}{one.name[1:]}", arguments_of(one)) for one in ALL]
    for handed in HANDED:
        taken = arguments_of(_operation(handed.operation), with_=handed.with_)
        but = {*handed.but.split()}
        assert but <= taken.keys(), f"{handed.operation} takes no {but - taken.keys()}"
        rest = {name: kind for name, kind in taken.items() if name not in but and not _is_needed(kind)}
        every.append((f"{handed.method.title().replace('_', '')}Arguments", rest))
    shared = {
        name: {one: arguments_of(_operation(operation))[one] for one in names.split()}
        for name, (operation, names) in SHARED.items()
    }
    found: dict[str, Arguments] = dict(shared)
    for name, arguments in sorted(every, key=lambda one: len(one[1])):
        if arguments and arguments not in found.values():
            found[name] = arguments
    return found


def _typed_dict(name: str, taken: Arguments, made: Mapping[str, Arguments]) -> str:
    """Return a class that goes on from those before it whose members it has, the longest first."""
    bases, left = [], dict(taken)
    for base, held in sorted(made.items(), key=lambda one: -len(one[1])):
        if held.items() <= left.items():
            bases.append(base)
            left = {one: kind for one, kind in left.items() if one not in held}
    members = [f"    {one}: {kind}" for one, kind in left.items()] or ["    pass"]
    return "\n".join([f"class {name}({', '.join(bases or ['TypedDict'])}, total=False):", *members]) + "\n"


def _operation(name: str) -> Operation:
    return next(one for one in ALL if one.name == name)


def _is_needed(kind: str) -> bool:
    return kind.startswith("Required")


def arguments_of(operation: Operation, *, with_: str | None = None) -> dict[str, str]:
    """Return what an operation takes beside its path, the required ones first.

    with_: only what goes with this one.
    """
    needed, others = {}, {}
    for model in (operation.query, operation.body):
        schemas = [
            each for each in schemas_of(model) if with_ is None or with_ in each[0].get("properties", {})
        ]
        for schema, definitions in schemas:
            for name, inner in schema.get("properties", {}).items():
                kind = type_of(inner, definitions)
                if all(name in each.get("required", ()) for each, _ in schemas):
                    needed[python_name(name)] = f"Required[{kind}]"
                else:
                    others[python_name(name)] = kind if kind == "Any" else f"{kind} | None"
    if operation.takes_idempotency_key:
        others["idempotency_key"] = "str | None"
    if operation.takes_if_match and not operation.is_read:
        others["if_match"] = "str | None"
    return {**needed, **others}


def python_name(name: str) -> str:
    """Return the argument's name in Python. `with` is a keyword."""
    return "with_" if name == "with" else to_snake(name)


def lengths_of_operation(operation: Operation) -> dict[str, int]:
    """Return the most characters or elements of each argument, by its name in JSON."""
    lengths: dict[str, int] = {}
    for model in (operation.query, operation.body):
        for schema, definitions in schemas_of(model):
            lengths |= lengths_of(schema, definitions)
    return dict(sorted(lengths.items()))


@cache
def schemas_of(model: type[BaseModel] | None) -> list[tuple[Schema, Mapping[str, Schema]]]:
    """Return the schemas of the objects that a model takes, with the definitions that they use."""
    if model is None:
        return []
    whole = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Schema] = whole.get("$defs", {})
    every = whole.get("oneOf", whole.get("anyOf", [whole]))
    return [
        (definitions[one["$ref"].rpartition("/")[2]] if "$ref" in one else one, definitions) for one in every
    ]
