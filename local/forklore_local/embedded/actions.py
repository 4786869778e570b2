"""What a request asks for: each write or check of one item, checked before anything is written."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore_local.embedded import expressions
from forklore_local.embedded.expressions import Condition, Names, Update, Values
from forklore_local.embedded.items import (
    Found,
    Place,
    checked,
    checked_change,
    place_named,
    place_of,
    require_indexed,
)
from forklore_local.embedded.values import InvalidError, checked_values, text_bytes
from forklore_service.storage.connection import Item

_CONDITIONAL = {
    *("TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"),
    "ReturnValuesOnConditionCheckFailure",
}
_MEMBERS = {
    "Put": _CONDITIONAL | {"Item"},
    "Update": _CONDITIONAL | {"Key", "UpdateExpression"},
    "Delete": _CONDITIONAL | {"Key"},
    "ConditionCheck": _CONDITIONAL | {"Key"},
}


class ConditionError(Exception):
    """The condition of a write does not hold. shown: the item as it stands, if it was asked for."""

    def __init__(self, shown: Item | None) -> None:
        super().__init__("The conditional request failed")
        self.shown: dict[str, Any] = {} if shown is None else {"Item": shown}


class Action(NamedTuple):
    """One write or check of one item.

    size: what it counts for in the size of a transaction. item: what is put. update: how the item
    is changed. Neither: it is deleted, or only checked.
    """

    place: Place
    size: int
    item: Found | None = None
    update: Update | None = None
    is_check: bool = False
    condition: Condition | None = None
    names: Names = MappingProxyType({})
    values: Values = MappingProxyType({})
    shows_item: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether it deletes what is there, whatever that is."""
        return self.item is None and self.update is None and self.condition is None

    def after(self, before: Found | None) -> Found | None:
        """Return the item after the write.

        Raises InvalidError, and ConditionError if the condition does not hold.
        """
        if self.item is not None:
            require_indexed(self.item)
        if self.condition is not None:
            was = before.item if before else {}
            if not self.condition.holds(was, self.names, self.values):
                raise ConditionError(was if before and self.shows_item else None)
        if self.update is None:
            return before if self.is_check else self.item
        old = before or checked({"PK": {"S": self.place[0]}, "SK": {"S": self.place[1]}})
        item = self.update.changed(old.item, self.names, self.values)
        names = {self.names.get(name, name) for name in self.update.attributes}
        changed = checked_change(old, item, names)
        require_indexed(changed)
        return changed


def action_of(verb: str, request: Mapping[str, Any]) -> Action:
    """Return what a part of a request asks for. Raises InvalidError."""
    members = _MEMBERS.get(verb)
    if members is None or not members >= request.keys():
        raise InvalidError(f"this store knows no such request: {verb} with {sorted(request)}")
    names = request.get("ExpressionAttributeNames", {})
    values, size = checked_values(request.get("ExpressionAttributeValues", {}))
    text, change = request.get("ConditionExpression"), request.get("UpdateExpression")
    condition = expressions.condition(text) if text is not None else None
    update = expressions.update(change) if change is not None else None
    if verb == "Update" and update is None:
        raise InvalidError("this store knows no Update without an UpdateExpression")
    if verb == "ConditionCheck" and condition is None:
        raise InvalidError("The expression can not be empty")
    used = [parsed.used for parsed in (condition, update) if parsed is not None]
    require_used(frozenset().union(*used), names, values)
    for parsed in (condition, update):
        if parsed is not None:
            parsed.check(names, values)
    if update is not None and {names.get(name, name) for name in update.attributes} & {"PK", "SK"}:
        raise InvalidError("Cannot update attribute: This attribute is part of the key")
    item = checked(request["Item"]) if verb == "Put" else None
    place = place_named(request["Key"]) if item is None else place_of(item.item)
    return Action(
        place,
        item.size if item else sum(map(text_bytes, place)) + size,
        item,
        update,
        is_check=verb == "ConditionCheck",
        condition=condition,
        names=names,
        values=values,
        shows_item=request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD",
    )


def require_used(used: frozenset[str], names: Names, values: Values) -> None:
    """Raise InvalidError unless exactly the placeholders that were given are used."""
    if used != names.keys() | values.keys():
        raise InvalidError("a placeholder of an expression is not given, or is unused")


def require_number(number: int, most: int) -> None:
    """Raise InvalidError for none, or for more than `most`."""
    if not 0 < number <= most:
        raise InvalidError(f"Member must have length between 1 and {most}")


def require_different(places: Sequence[Place]) -> None:
    """Raise InvalidError if a place is named twice."""
    if len(set(places)) < len(places):
        raise InvalidError("the request names an item twice")


def require_limit(limit: int | None) -> None:
    """Raise InvalidError for a limit below 1."""
    if limit is not None and limit < 1:
        raise InvalidError("Limit must be greater than or equal to 1")
