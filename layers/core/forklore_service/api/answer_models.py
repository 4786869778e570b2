"""The models of answers, made from what `answers.py` describes, and those of errors.

The API document and the clients are made from the models, and tests check answers against them. No
function loads them. Docstrings are descriptions in the API document.
"""

import ast
import inspect
from enum import EnumMeta
from functools import cache, reduce
from operator import or_
from threading import Lock
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model
from pydantic.alias_generators import to_camel, to_snake
from pydantic.fields import FieldInfo

from forklore_service.api import answers
from forklore_service.domain.jsontext import JsonText


class Result(BaseModel):
    """The base of the models: camelCase names, no unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", defer_build=True)


class ErrorDetails(BaseModel):
    """What exactly is wrong. Some errors add members of their own, such as `lastEntryId`."""

    model_config = ConfigDict(extra="allow")

    message: str
    field: str = ""
    reason: str = ""


class Error(BaseModel):
    """The one shape of every error."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    code: str
    error: str
    request_id: str
    details: ErrorDetails = Field(default_factory=lambda: ErrorDetails(message=""))


def __getattr__(name: str) -> type[BaseModel]:
    """Return the model of the answer of this name."""
    return model_of(getattr(answers, name))


@cache
def model_of(described: Any) -> type[BaseModel]:
    """Return the model of an answer."""
    if get_origin(described) is Annotated:
        either, named = get_args(described)
        root = (_in_models(either), ...)
        return create_model(named.name, __base__=RootModel, __doc__=named.description, root=root)
    parent = _parents()[described.__name__]
    base = Result if parent == "TypedDict" else model_of(getattr(answers, parent))
    own = {to_snake(name): held for name, held in described.__annotations__.items()}
    fields = {name: _field(held) for name, held in own.items() if name not in base.model_fields}
    return create_model(described.__name__, __base__=base, __doc__=described.__doc__, **fields)


_PARSING = Lock()
"""Python 3.11 cannot parse in two threads at a time."""


@cache
def _parents() -> dict[str, str]:
    """Return the base of each class of `answers.py`. Python 3.11 keeps no bases of a TypedDict."""
    with _PARSING:
        parsed = ast.parse(inspect.getsource(answers))
    return {one.name: ast.unparse(one.bases[0]) for one in parsed.body if isinstance(one, ast.ClassDef)}


def _field(held: Any) -> Any:
    """Return a member as `create_model` takes it. What may be left out has a default."""
    if answers.LEFT_OUT not in getattr(held, "__metadata__", ()):
        return _in_models(held), ...
    [inner] = (one for one in get_args(get_args(held)[0]) if one is not NoneType)
    rules = (one for one in getattr(inner, "__metadata__", ()) if isinstance(one, FieldInfo))
    return _in_models(inner), next((one.default for one in rules if not one.is_required()), None)


def _in_models(held: Any) -> Any:
    """Return a type with models in place of TypedDicts, texts in place of enumerations, and values
    in place of JSON text.
    """
    origin, inner = get_origin(held), get_args(held)
    if is_typeddict(held):
        return model_of(held)
    if isinstance(held, EnumMeta):
        return Literal[tuple(map(str, held))]
    if origin is Annotated:
        return inner[1] if inner[0] is JsonText else Annotated[_in_models(inner[0]), *inner[1:]]
    if origin in (Union, UnionType):
        return reduce(or_, map(_in_models, inner))
    return held if origin in (None, Literal) else origin[tuple(map(_in_models, inner))]
