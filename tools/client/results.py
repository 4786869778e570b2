"""Generates `generated/results.py`: a frozen dataclass for each model of an answer."""

import inspect
import textwrap
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from forklore_service.api.fields import UUID_PATTERN
from forklore_service.api.operations import ALL
from forklore_service.domain.attachments import SHA256_PATTERN

HEAD = '''"""What operations answer: frozen dataclasses, which keep members that they do not know.

Generated from the models of the service by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, Literal

from forklore.client.result_base import Value, an_id, many, result, sha_256
from forklore.client.spoken import Spoken
'''
WIDTH = 90
BASES = ("Result", "BaseModel", "RootModel")
CHECKS = {UUID_PATTERN: "an_id", SHA256_PATTERN: "sha_256"}
"""What looks at a text, by its pattern: it may become a part of a path, a command or an address."""
WITH = {"Entry": "Spoken"}
"""What a result also is."""
NAMES = {"Conversation": "ConversationDetails"}
"""Other names than those of the models: a `Conversation` is the object to talk in."""


def results_module() -> str:
    """Return the text of the module."""
    parts = (_union(model) if issubclass(model, RootModel) else _dataclass(model) for model in _ordered())
    return "\n\n".join([HEAD, *parts])


def _ordered() -> list[type[BaseModel]]:
    """Return every model that answers hold, each after those that it needs."""
    found: dict[type[BaseModel], None] = {}
    for operation in ALL:
        if operation.result is not None:
            for model in _with_inner(operation.result):
                found.setdefault(model)
    return list(found)


def name_of(model: type[BaseModel]) -> str:
    """Return the name of the dataclass that is made from a model."""
    return NAMES.get(model.__name__, model.__name__)


def _with_inner(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for base in model.__mro__[1:]:
        if issubclass(base, BaseModel) and not base.__name__.startswith(BASES):
            yield from _with_inner(base)
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield from _with_inner(inner)
    yield model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _dataclass(model: type[BaseModel]) -> str:
    [parent] = [base for base in model.__bases__ if issubclass(base, BaseModel)]
    name_of_parent = "Value" if parent.__name__ in BASES else name_of(parent)
    bases = ", ".join(filter(None, (WITH.get(model.__name__), name_of_parent)))
    own = {
        name: field
        for name, field in model.model_fields.items()
        if name not in parent.model_fields or parent.model_fields[name].annotation != field.annotation
    }
    lines = [
        "@result",
        f"class {name_of(model)}({bases}):",
    ]
    lines.append(textwrap.indent(f'"""{_doc(model)}"""', "    "))
    makers = {name: _maker(field) for name, field in model.model_fields.items()}
    inner = {name: maker for name, maker in makers.items() if maker}
    if inner and own:
        made = ", ".join(f'"{name}": {maker}' for name, maker in inner.items())
        lines.append(f"    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {{{made}}}")
    if own:
        lines.append("")
    for name, field in own.items():
        python = _type(field.annotation)
        if field.is_required():
            lines.append(f"    {name}: {python}")
        elif python.startswith("tuple"):  # what is left out where there is none
            lines.append(f"    {name}: {python} = ()")
        else:
            lines.append(f"    {name}: {python if 'None' in python else f'{python} | None'} = None")
    return "\n".join(lines) + "\n"


def _doc(model: type[BaseModel]) -> str:
    return textwrap.fill(inspect.getdoc(model) or model.__name__, WIDTH, replace_whitespace=False)


def _maker(field: FieldInfo) -> str:
    """Return what makes the value of a member, or looks at it; empty: it stays as it is."""
    annotation = field.annotation
    patterns = [str(getattr(one, "pattern", "")) for one in _rules(field, annotation)]
    makers = [f"{name_of(model)}.of" for model in _models_in(annotation)]
    makers += [CHECKS[pattern] for pattern in patterns if pattern in CHECKS]
    assert len(makers) < 2, f"{annotation} is made in two ways"
    return "".join(f"many({one})" if get_origin(annotation) is list else one for one in makers)


def _rules(field: FieldInfo, annotation: Any) -> Iterator[Any]:
    """Yield the rules of a member, and those of the types in it."""
    yield from field.metadata
    for inner in get_args(annotation):
        for rule in getattr(inner, "__metadata__", ()):
            yield from getattr(rule, "metadata", [rule])
        yield from _rules(FieldInfo(), inner)


def _type(annotation: Any) -> str:
    """Return the type of a member; arrays of results are tuples, so that results stay frozen."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return "None"
    if annotation is Any:
        return "Any"
    if origin is Literal:
        return "Literal[" + ", ".join(f'"{one}"' for one in inside) + "]"
    if origin in (Union, UnionType):
        return " | ".join(map(_type, inside))
    if origin is list:
        [element] = inside
        return f"tuple[{_type(element)}, ...]" if list(_models_in(element)) else f"list[{_type(element)}]"
    if origin is dict:
        return f"dict[{', '.join(map(_type, inside))}]"
    return "float | Decimal" if annotation is float else name_of(annotation)


def _union(model: type[BaseModel]) -> str:
    """Return the alias of two results, of which one has `data`, and the function that chooses."""
    alone, several = map(name_of, get_args(model.model_fields["root"].annotation))
    function = "".join(f"_{c.lower()}" if c.isupper() else c for c in model.__name__).lstrip("_")
    return (
        f"{model.__name__} = {alone} | {several}\n"
        f'"""{_doc(model)}"""\n\n\n'
        f"def {function}(given: Any) -> {model.__name__}:\n"
        f'    """Return the one result, or several of them."""\n'
        f'    chosen = {several} if isinstance(given, Mapping) and "data" in given else {alone}\n'
        f"    return chosen.of(given)\n"
    )
