"""What results have in common: they are made from an answer's fields, and keep unknown ones."""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar, cast, dataclass_transform

from forklore.client.errors import UnexpectedAnswerError

C = TypeVar("C")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def result(cls: type[C]) -> type[C]:
    """Return a class of results as a dataclass. It is frozen, and its methods are those of Value.

    `dataclass` would write and compile methods for each class whenever its module is imported.
    """
    return dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)


@result
class Value:
    """The base of all results.

    extra: members that this version of the client does not know, under the names of the answer.
    """

    INNER: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """For each member that holds other results, what makes them."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __init__(self, **members: Any) -> None:
        known = _members(cast("Hashable", type(self)))
        held = {"extra": {}, **known.defaults, **members}
        names = {"extra", *(name for name, _made in known.wire.values())}
        if held.keys() != names:
            wrong = ", ".join(sorted(held.keys() ^ names))
            raise TypeError(f"{type(self).__name__}() misses members or does not know them: {wrong}")
        self.__dict__.update(held)

    def __repr__(self) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the result that an answer's fields describe.

        Raises UnexpectedAnswerError if a member is missing that every answer has.
        """
        if not isinstance(given, Mapping):
            raise UnexpectedAnswerError(f"the answer holds no object where {cls.__name__} is expected")
        members = _members(cast("Hashable", cls))
        if not members.needed <= given.keys():
            missing = next(name for name in members.wire if name in members.needed - given.keys())
            raise UnexpectedAnswerError(f"the answer has no {missing} where {cls.__name__} is expected")
        known: dict[str, Any] = {"extra": {}, **members.defaults}
        for wire, held in given.items():
            if wire in members.wire:
                name, made = members.wire[wire]
                known[name] = held if made is None or held is None else made(held)
            else:
                known["extra"][wire] = held
        value = cls.__new__(cls)
        value.__dict__.update(known)
        return value


def many(one: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what makes a tuple of results from an array."""

    def made(given: Any) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise UnexpectedAnswerError("the answer holds no array where one is expected")
        return tuple(map(one, given))

    return made


def an_id(given: Any) -> Any:
    """Return an id: nothing else in a path, a command or an address.

    Raises UnexpectedAnswerError for anything else.
    """
    return _checked(_ID, given, "id")


def sha_256(given: Any) -> Any:
    """Return a SHA-256 in hexadecimal digits. Raises UnexpectedAnswerError for anything else."""
    return _checked(_SHA_256, given, "SHA-256")


_ID, _SHA_256 = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"), re.compile(r"[0-9a-f]{64}")


def _checked(pattern: re.Pattern[str], given: Any, what: str) -> Any:
    if not isinstance(given, str) or not pattern.fullmatch(given):
        raise UnexpectedAnswerError(f"the answer has {repr(given)[:60]} where a {what} is expected")
    return given


@cache
def wire_name(name: str) -> str:
    """Return a member's name in JSON.

    >>> wire_name("created_at"), wire_name("with_")
    ('createdAt', 'with')
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.rstrip("_"))


def wire(value: Any) -> Any:
    """Return a result as the service answers it, with what this version does not know."""
    if isinstance(value, Value):
        known = {
            wire_name(one.name): wire(getattr(value, one.name))
            for one in fields(value)
            if one.name != "extra" and getattr(value, one.name) != one.default
        }
        return {**known, **value.extra}
    if isinstance(value, Mapping):
        return {name: wire(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [wire(one) for one in value]
    return value


class _Members(NamedTuple):
    """The members of a class of results, without `extra`.

    wire: by its name in JSON each one's name, and what makes other results. defaults: of those that
    have one. needed: the others' names in JSON.
    """

    wire: Mapping[str, tuple[str, Callable[[Any], Any] | None]]
    defaults: Mapping[str, Any]
    needed: frozenset[str]


@cache
def _members(cls: Hashable) -> _Members:
    of = cast("type[Value]", cls)
    every = {wire_name(each.name): each for each in fields(of) if each.name != "extra"}
    return _Members(
        {name: (each.name, of.INNER.get(each.name)) for name, each in every.items()},
        {each.name: each.default for each in every.values() if each.default is not MISSING},
        frozenset(name for name, each in every.items() if each.default is MISSING),
    )
