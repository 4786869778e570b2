"""How forklore is asked, whatever the way to it: a request, its answer, and a service that gives one."""

from dataclasses import dataclass, field
from typing import Any, Protocol

Json = Any
Outcome = tuple[int, Json]
"""A status and a body; of errors the code alone, with the members of `details` that docs/api.md names."""


class Refusal(Exception):
    """The request is refused: the status, and the code with the `details` that docs/api.md names."""


def require(holds: object, status: int, code: str, **details: Json) -> None:
    if not holds:
        raise Refusal(status, {"code": code, **details})


@dataclass(frozen=True)
class Caller:
    """A user, and the app that sends the request for them, if any.

    sees_all: of the oracle alone, whoever asks as an auditor.
    """

    user: str
    client: str | None = None
    roles: frozenset[str] = frozenset()
    bypasses_membership: bool = False


@dataclass(frozen=True)
class Request:
    """An operation that is asked for.

    given: the fields of its path, query and body under their names on the wire, which never collide. key: the
    Idempotency-Key. if_match: an entry's id.
    """

    name: str
    caller: Caller
    given: dict[str, Json] = field(default_factory=dict)
    key: str | None = None
    if_match: str | None = None

    @property
    def place(self) -> str | None:
        """The conversation or the transfer that the path names."""
        named = self.given.get("conversationId", self.given.get("transferId"))
        return None if self.name == "requestTransfer" else named

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
    """A status, and a body whose numbers with decimals are Decimals; None without one."""

    @property
    def status(self) -> int: ...

    @property
    def body(self) -> Json: ...


class Service(Protocol):
    """forklore, as one of its processes is reached."""

    def answer(self, request: Request) -> Answer:
        """Return what the caller is told. Raises AssertionError for what no caller may be told."""
        ...


def comparable(value: Json) -> Json:
    """Return what is equal for equal JSON; for Python alone, `true` is 1.

    >>> comparable([1, {"a": 2.0}]) == comparable([1.0, {"a": 2}]), comparable(True) == comparable(1)
    (True, False)
    """
    if isinstance(value, dict):
        return {name: comparable(held) for name, held in value.items()}
    if isinstance(value, list):
        return [comparable(held) for held in value]
    return isinstance(value, bool), value


def is_history(entry: Json) -> bool:
    """Tell whether an entry, or what is to become one, belongs to the history."""
    return str(entry.get("channel", "history")).lower() == "history"


def text_of(entry: Json) -> str | None:
    """Return the text of a history entry: that of its first element; None when it has none."""
    first = [*entry["content"], None][0] if is_history(entry) else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) and text else None
