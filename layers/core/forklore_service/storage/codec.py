"""How values become attributes of items, and attributes become values again.

A `Codec` follows from the class of the values: an attribute is a field under its name in camelCase,
and what has its default is left out. Only what differs from that is said where the codec is made.
Attributes are Python values here; `items.present` and `items.plain` know DynamoDB's types.
"""

from collections.abc import Callable, Collection, Mapping
from enum import EnumType
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args

from forklore_service.domain.spelling import camel

Value = TypeVar("Value", bound=NamedTuple)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_MISSING: Final = object()
"""Stands for a field that must have a value."""


class Packed(NamedTuple):
    """An attribute that holds a field in another form. pack: to that form. unpack: back."""

    name: str
    pack: Callable[[Any], Any] | None = None
    unpack: Callable[[Any], Any] | None = None


class Codec(Generic[Value]):
    """Between the values of a class, a NamedTuple, and their attributes.

    elsewhere: the fields that are no attributes here, as those in the key.
    always: the fields that are stored with their default, too. They must be there.
    left_out: by field, what is left out although it is no default.
    differing: by field, the name of its attribute; how that is packed; or the codec of its value,
    whose attributes then stand beside the others.

    >>> from forklore_service.domain.model import Words
    >>> words = Codec(Words, left_out={"by": ""}, text="preview")
    >>> words.attributes(Words("Hi", by="")), words.value({"preview": "Hi", "by": "ann"})
    ({'preview': 'Hi'}, Words(text='Hi', by='ann'))
    """

    def __init__(
        self,
        of: type[Value],
        *,
        elsewhere: Collection[str] = (),
        always: Collection[str] = (),
        left_out: Mapping[str, Any] = _NOTHING,
        **differing: "str | Packed | Codec[Any]",
    ) -> None:
        types = of.__annotations__
        assert {*elsewhere, *always, *left_out, *differing} <= types.keys(), f"no such field of {of}"
        none = {field: None for field, held in types.items() if type(None) in get_args(held)}
        absent = {**none, **of._field_defaults, **left_out}
        self._of = of
        self._at = {field: at for at, field in enumerate(types)}
        self._absent = [_MISSING if field in always else absent.get(field, _MISSING) for field in types]
        self._parts = [(self._at[field], how) for field, how in differing.items() if isinstance(how, Codec)]
        self._needed = [at for at, held in enumerate(self._absent) if held is _MISSING]
        self._single = [
            (at, _packed(differing.get(field, camel(field)), types[field]))
            for field, at in self._at.items()
            if field not in elsewhere and not isinstance(differing.get(field), Codec)
        ]
        names = {at: one.name for at, one in self._single}
        # For `value`, which is called for each item. A field that is no attribute stands
        # under "", which no item has: it gets its default.
        self._read = [names.get(at, "") for at in self._at.values()]
        self._unpack = [(at, one.unpack) for at, one in self._single if one.unpack]
        needed = [one.name for at, one in self._single if self._absent[at] is _MISSING]
        self._first_needed = needed[0] if needed else None

    @property
    def names(self) -> Mapping[str, str]:
        """The names of the attributes, by the field. Those of parts are not among them."""
        return {self._of._fields[at]: one.name for at, one in self._single}

    def attributes(self, value: Value) -> dict[str, Any]:
        """Return the attributes of a value."""
        attributes: dict[str, Any] = {}
        for at, one in self._single:
            held = value[at]
            if held is not None and held != self._absent[at]:
                attributes[one.name] = one.pack(held) if one.pack else held
        for at, part in self._parts:
            if value[at] is not None:
                attributes |= part.attributes(value[at])
        return attributes

    def value(self, attributes: Mapping[str, Any], **elsewhere: Any) -> Value:
        """Return the value that has these attributes. elsewhere: its fields that are no attributes.

        Raises KeyError if an attribute is missing.
        """
        held = list(map(attributes.get, self._read, self._absent))
        for at, unpack in self._unpack:
            if held[at] is not self._absent[at]:
                held[at] = unpack(held[at])
        for at, part in self._parts:
            first = part._first_needed  # a part is absent where this is missing
            if first is None or first in attributes or self._absent[at] is _MISSING:
                held[at] = part.value(attributes)
        for field, one in elsewhere.items():
            held[self._at[field]] = one
        for at in self._needed:
            if held[at] is _MISSING:
                raise KeyError(self._of._fields[at])
        return self._of._make(held)


def _packed(how: Any, held: Any) -> Packed:
    """Return how a field of the type `held` is stored. An enumeration is stored as its text."""
    if isinstance(how, Packed):
        return how
    kinds = [one for one in get_args(held) or [held] if isinstance(one, EnumType)]
    return Packed(how, unpack=kinds[0] if kinds else None)
