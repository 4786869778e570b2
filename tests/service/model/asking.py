"""Requests, answers, and the service that answers, independent of the transport."""

from dataclasses import dataclass, field
from typing import Any, Protocol

Json = Any
Outcome = tuple[int, Json]
"""A status and a body. An error's body is its code and the `details` that docs/api.md names."""

NAME_IN_BODY = {"requestTransfer", "setName"}
"""The operations that name a conversation in their body, and none in their path."""


class Refusal(Exception):
    """A refused request: its status, its code, and the `details` that docs/api.md names."""


def require(holds: object, status: int, code: str, **details: Json) -> None:
    if not holds:
        raise Refusal(status, {"code": code, **details})


@dataclass(frozen=True)
class Caller:
    """A user, and the app that sends the request for the user, if any.

    bypasses_membership: the caller asks as an auditor. Only the oracle sets it.
    """

    user: str
    client: str | None = None
    roles: frozenset[str] = frozenset()
    bypasses_membership: bool = False


@dataclass(frozen=True)
class Request:
    """A request for an operation.

    given: the fields of its path, query and body, by their names on the wire. No two are equal.
    key: the Idempotency-Key. if_match: an entry's id.
    """

    name: str
    caller: Caller
    given: dict[str, Json] = field(default_factory=dict)
    key: str | None = None
    if_match: str | None = None

    @property
    def place(self) -> str | None:
        """The conversation or the transfer that the path names; of an append by a name the name;
        of a note its entry, too.
        """
        if self.name == "appendEntryByName":
            return str(self.given["name"])
        if self.name == "addNote":
            return f"{self.given['conversationId']} {self.given['entryId']}"
        named = self.given.get("conversationId", self.given.get("transferId"))
        return None if self.name in NAME_IN_BODY else named

    @property
    def id(self) -> str:
        """The conversation that the request names, in its path or its body."""
        conversation_id: str = self.given["conversationId"]
        return conversation_id

    def __str__(self) -> str:
        key = f" key={self.key!r}" if self.key else ""
        match = f" if-match={self.if_match}" if self.if_match else ""
        return f"{self.name} by {self.caller.user}/{self.caller.client}{key}{match}: {self.given}"


class Answer(Protocol):
    """A status and a body, or None without a body. Numbers with decimals are Decimals."""

    @property
    def status(self) -> int: ...

    @property
    def body(self) -> Json: ...


class Service(Protocol):
    """A way to send requests to one process of forklore."""

    def answer(self, request: Request) -> Answer:
        """Return the answer. Raises AssertionError for an answer that no caller may get."""
        ...


def comparable(value: Json) -> Json:
    """Return a value that is equal for equal JSON. In plain Python, `True` equals 1.

    >>> comparable([1, {"a": 2.0}]) == comparable([1.0, {"a": 2}])
    True
    >>> comparable(True) == comparable(1)
    False
    """
    if isinstance(value, dict):
        return {name: comparable(held) for name, held in value.items()}
    if isinstance(value, list):
        return [comparable(held) for held in value]
    return isinstance(value, bool), value


def is_history(entry: Json) -> bool:
    """Tell whether an entry or a draft belongs to the history."""
    return str(entry.get("channel", "history")).lower() == "history"


def text_of(entry: Json) -> str | None:
    """Return the text of a history entry, which is its first element's; None if there is none."""
    first = [*entry["content"], None][0] if is_history(entry) else None
    return "\n".join(texts_of(first)) or None


def preview_of(entry: Json) -> str:
    """Return what previews show of a history entry: its text, else the names of its attachments."""
    first = [*entry["content"], None][0] if is_history(entry) else None
    attachments = first.get("attachments") or [] if isinstance(first, dict) else []
    of_uploaded = {one["id"]: one["name"] for one in entry.get("attachments", [])}
    names = [one.get("name", of_uploaded.get(one.get("id"))) for one in attachments]
    return (text_of(entry) or ", ".join(filter(None, names)))[:100]


def texts_of(element: Json) -> list[str]:
    """Return the text of an element, or those of its parts."""
    if not isinstance(element, dict):
        return []
    parts = element.get("content")
    said = parts if not element.get("text") and isinstance(parts, list) else [element]
    return [part["text"] for part in said if isinstance(part, dict) and isinstance(part.get("text"), str)]
