"""What an action of a transaction is, and how its request is put together."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, NamedTuple

from forklore.domain.keys import Key
from forklore.storage.connection import Item
from forklore.storage.items import key_of, number


class ActionKind(Enum):
    """What an action is about.

    GROUP: the tree that the transaction is about. PARENT_GROUP: the tree that starts a child.
    CREATING_GROUP: a tree that is being made. MEMBER: a check that a member still has their access
    level. CHANGED_MEMBER: a membership that is put, changed or removed. ERASED: an item of any
    kind that is removed with its tree or with a user. NAMED_HEAD: a check that a conversation that
    the write names exists.
    """

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
    GROUP = auto()
    HEAD = auto()
    IDEMPOTENCY = auto()
    JOB = auto()
    MEMBER = auto()
    NAME = auto()
    NAMED_HEAD = auto()
    PARENT_GROUP = auto()
    PATH = auto()
    POINTER = auto()
    REMNANT = auto()
    RETENTION = auto()
    TRANSFER = auto()
    TREE = auto()
    USER_TREE = auto()


class ActionId(NamedTuple):
    """The name of an action, unique inside its transaction. of: tells actions of one kind apart."""

    kind: ActionKind
    of: str = ""


class Action(NamedTuple):
    """One action of a transaction: a value, which `Table.commit` writes.

    verb: Put, Update, Delete or ConditionCheck. request: what DynamoDB gets, except for the name
    of the table. of: tells actions of one kind apart.
    """

    kind: ActionKind
    verb: str
    request: Mapping[str, Any]
    of: str = ""

    @property
    def id(self) -> ActionId:
        return ActionId(self.kind, self.of)

    def request_to(self, table_name: str) -> dict[str, Any]:
        """Return what DynamoDB gets, addressed to a table.

        The refusal of a condition brings the item as it stands.
        """
        is_conditional = "ConditionExpression" in self.request
        shown = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"} if is_conditional else {}
        return {self.verb: {"TableName": table_name, **self.request, **shown}}


class Names:
    """Collects the attribute names and values of one expression.

    Every name is replaced by a placeholder, because DynamoDB reserves many words.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute's name."""
        self.names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(self, label: str, typed: dict[str, Any]) -> str:
        """Return the placeholder of a value."""
        self.values[f":{label}"] = typed
        return f":{label}"

    def attributes(self) -> dict[str, Any]:
        """Return the request's members for what was collected; DynamoDB refuses empty ones."""
        return {
            **({"ExpressionAttributeNames": self.names} if self.names else {}),
            **({"ExpressionAttributeValues": self.values} if self.values else {}),
        }


def put(kind: ActionKind, item: Item, *, of: str = "", **condition: Any) -> Action:
    """Return the action that puts an item, whether one is there or not without a condition."""
    return Action(kind, "Put", {"Item": item, **condition}, of)


def put_new(kind: ActionKind, item: Item, *, of: str = "") -> Action:
    """Return the action that puts an item where none is."""
    return Action(kind, "Put", {"Item": item, "ConditionExpression": "attribute_not_exists(PK)"}, of)


def put_unless_current(kind: ActionKind, item: Item, *, now_s: int, of: str = "") -> Action:
    """Return the action that puts an item where none is, or one whose time is over."""
    return put(
        kind,
        item,
        of=of,
        ConditionExpression="attribute_not_exists(PK) OR #ttl < :now",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":now": number(now_s)},
    )


def update(kind: ActionKind, key: Key, *, of: str = "", **request: Any) -> Action:
    """Return the action that updates an item."""
    return Action(kind, "Update", {"Key": key_of(key), **request}, of)


def delete(kind: ActionKind, key: Key, *, of: str = "", **condition: Any) -> Action:
    """Return the action that deletes an item, whether it is there or not without a condition."""
    return Action(kind, "Delete", {"Key": key_of(key), **condition}, of)


def check(kind: ActionKind, key: Key, *, of: str = "", **condition: Any) -> Action:
    """Return the action that only checks an item."""
    return Action(kind, "ConditionCheck", {"Key": key_of(key), **condition}, of)
