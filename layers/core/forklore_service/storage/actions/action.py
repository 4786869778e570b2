"""What an action of a transaction is, and how its request is put together."""

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore_service.domain.keys import Key
from forklore_service.storage.connection import Item
from forklore_service.storage.items import key_of, number

Values = Mapping[str, Mapping[str, Any]]
"""Typed values by the placeholders that stand for them in expressions, such as `:owner`."""
NO_VALUES: Values = MappingProxyType({})
IS_NEW = "attribute_not_exists(PK)"
IS_THERE = "attribute_exists(PK)"
IS_OPEN = "attribute_exists(#last)"
"""A HEAD is there, and its tree is not in the trash."""
IS_NOT_KEPT = "attribute_not_exists(#kept)"
"""A HEAD or a TREE is not that of a branch in the trash."""
_NAME = re.compile(r"#(\w+)")


class ActionKind(Enum):
    """What an action is about.

    GROUP: the tree that the transaction is about. PARENT_GROUP: the tree that starts a child.
    CREATING_GROUP: a tree that is being made. MEMBER: a check that a member still has their access
    level. FILE: an attachment. REFERENCE: that an entry names one. USER_FILE: that a user has one.
    CHANGED_MEMBER: a membership that is put, changed or removed. ERASED: an item of any
    kind that is removed with its tree or with a user. NAMED_HEAD: a check that a conversation that
    the write names exists. ANSWER_HEAD: the conversation in which an answer was begun that ends, if
    the write is about another one.
    """

    ANSWER_HEAD = auto()
    CHANGED_MEMBER = auto()
    CHILD = auto()
    CHUNK = auto()
    CONTEXT = auto()
    CONVERSATION = auto()
    CREATING_GROUP = auto()
    ENTRY = auto()
    ENTRY_KEY = auto()
    ERASED = auto()
    ERASED_TREE = auto()
    ERASURE = auto()
    FILE = auto()
    GROUP = auto()
    HEAD = auto()
    IDEMPOTENCY = auto()
    JOB = auto()
    LINK = auto()
    MEMBER = auto()
    NAME = auto()
    NAMED_HEAD = auto()
    NOTE = auto()
    PARENT_GROUP = auto()
    PART = auto()
    PATH = auto()
    PINS = auto()
    POINTER = auto()
    REFERENCE = auto()
    REMNANT = auto()
    RETENTION = auto()
    SHELF = auto()
    TRANSFER = auto()
    TREE = auto()
    USER_FILE = auto()
    USER_TREE = auto()
    VECTOR = auto()


class ActionId(NamedTuple):
    """The name of an action, unique inside its transaction. of: tells actions of one kind apart."""

    kind: ActionKind
    of: str = ""


class Action(NamedTuple):
    """One action of a transaction: a value, which `Table.commit` writes.

    verb: Put, Update, Delete or ConditionCheck. target: the item that is put, or the key of any
    other. of: tells actions of one kind apart. change, condition: expressions; None: there is none.
    An attribute is written `#name` in them, because DynamoDB reserves many words.
    """

    kind: ActionKind
    verb: str
    target: Item
    of: str = ""
    change: str | None = None
    condition: str | None = None
    values: Values = NO_VALUES

    @property
    def id(self) -> ActionId:
        return ActionId(self.kind, self.of)

    def request_to(self, table_name: str) -> dict[str, Any]:
        """Return what DynamoDB gets, addressed to a table.

        The refusal of a condition brings the item as it stands.
        """
        request: dict[str, Any] = {"TableName": table_name}
        request["Item" if self.verb == "Put" else "Key"] = self.target
        if self.change is not None:
            request["UpdateExpression"] = self.change
        if self.condition is not None:
            request["ConditionExpression"] = self.condition
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        names = _names_in(self.change, self.condition)
        if names:
            request["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return {self.verb: request}


@lru_cache(1_000)
def _names_in(*expressions: str | None) -> list[str]:
    """Return the names of the attributes in some expressions. There are few, each used often."""
    return _NAME.findall(" ".join(text for text in expressions if text))


def put(
    kind: ActionKind, item: Item, *, of: str = "", condition: str | None = None, values: Values = NO_VALUES
) -> Action:
    """Return the action that puts an item, whether one is there or not without a condition."""
    return Action(kind, "Put", item, of, None, condition, values)


def put_new(kind: ActionKind, item: Item, *, of: str = "") -> Action:
    """Return the action that puts an item where none is."""
    return Action(kind, "Put", item, of, None, IS_NEW)


def put_unless_current(kind: ActionKind, item: Item, *, now_s: int, of: str = "") -> Action:
    """Return the action that puts an item where none is, or one whose time is over."""
    return Action(kind, "Put", item, of, None, f"{IS_NEW} OR #ttl < :now", {":now": number(now_s)})


def update(
    kind: ActionKind,
    key: Key,
    change: str,
    *,
    of: str = "",
    condition: str | None = None,
    values: Values = NO_VALUES,
) -> Action:
    """Return the action that updates an item."""
    return Action(kind, "Update", key_of(key), of, change, condition, values)


def delete(
    kind: ActionKind, key: Key, *, of: str = "", condition: str | None = None, values: Values = NO_VALUES
) -> Action:
    """Return the action that deletes an item, whether it is there or not without a condition."""
    return Action(kind, "Delete", key_of(key), of, None, condition, values)


def check(kind: ActionKind, key: Key, condition: str, *, of: str = "", values: Values = NO_VALUES) -> Action:
    """Return the action that only checks an item."""
    return Action(kind, "ConditionCheck", key_of(key), of, None, condition, values)
