"""What a conversation of OpenHands is as entries of forklore, and read again. Pure.

An event is an entry of the history, and the base state one of the agent's context: first the whole,
then each change of it. In `content[0]` under `openhands`: `{"kind", "value", …}`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from forklore.adapters.files import Stored, attachments
from forklore.adapters.storable import restored, shortened
from forklore.client import jsontext
from forklore.client.generated.results import Entry

EVENT, STATE, CHANGE = "event", "state", "change"
"""The kinds of entries."""
FIRST = "first"
"""The key of the first entry of each conversation."""
HISTORY, OPAQUE = "history", "application/vnd.openhands+json"
NO_PARENT = "__root__"
"""What OpenHands writes as the parent of an event that begins a tree of its own."""
NO_NODE = "ConversationStateUpdateEvent"
"""The kind of event that is in the log, and in no branch of it."""
LEAF, IS_EMPTY = "leaf_event_id", "head_is_empty"


class Kept(NamedTuple):
    """An event of a log, and the entry that holds it.

    is_node: whether it is in a branch. number: orders the events of a log. shown_by: a conversation
    that shows the entry. value: of the event, or its JSON text.
    """

    event_id: str
    parent_id: str | None
    is_node: bool
    number: int
    entry_id: str
    shown_by: str
    value: Any

    @classmethod
    def of(cls, event: Mapping[str, Any], number: int, entry_id: str, shown_by: str, **more: Any) -> Self:
        """Return an event as OpenHands has written it."""
        return cls(
            event_id=event["id"],
            parent_id=event.get("parent_id"),
            is_node=event.get("kind") != NO_NODE,
            number=number,
            entry_id=entry_id,
            shown_by=shown_by,
            value=more.get("text", event),
        )

    def text(self) -> str:
        """Return the event as JSON text."""
        return self.value if isinstance(self.value, str) else jsontext.write(self.value)


@dataclass
class View:
    """What a name leads to. `add` takes its entries, the oldest first.

    conversation_id: None: nothing is stored. events: what it shows. state: the base state; its leaf
    is moved by each event. last: the id of the last entry. epoch: the latest one of the context.
    changes: of the base state since its whole. left: conversations that show other branches of the
    log. sliced: the event at which a fork has taken one branch alone.
    """

    conversation_id: str | None = None
    events: list[Kept] = field(default_factory=list)
    state: dict[str, Any] | None = None
    last: str | None = None
    epoch: int = 0
    changes: int = 0
    left: Sequence[str] = ()
    sliced: str | None = None

    def add(self, entry: Entry) -> None:
        """Take the next entry. One that somebody else has made is a place only."""
        held = self.passed(entry)
        if held.get("kind") == EVENT:
            self.take(kept_in(entry, self.conversation_id or ""))
        elif held.get("kind") == STATE:
            self.state = restored(held["value"])
            self.left, self.sliced = held["left"], held.get("sliced")
        elif held.get("kind") == CHANGE and self.state is not None:  # else it is of an earlier whole
            before = longer(self.state, restored(held.get("added", {})))
            self.state = changed(before, restored(held["value"]))

    def passed(self, entry: Entry) -> Mapping[str, Any]:
        """Note where the view ends. Return what the entry holds."""
        held = held_in(entry)
        self.last = entry.id
        self.epoch = max(self.epoch, entry.epoch or 0)
        if held.get("kind") in (STATE, CHANGE):
            self.changes = self.changes + 1 if held["kind"] == CHANGE else 0
        return held

    def take(self, event: Kept) -> None:
        """Take the next event. If it follows the leaf, it is the new one."""
        self.events.append(event)
        if event.is_node and event.parent_id and self.state and event.parent_id == self.state.get(LEAF):
            self.state = {**self.state, LEAF: event.event_id, IS_EMPTY: False}

    def log(self, found: Iterable[Kept]) -> list[Kept]:
        """Return the events in order. A slice has left out what is in no branch, or in another."""
        log = sorted(found, key=lambda one: (one.number, one.entry_id))
        if self.sliced is None:
            return log
        path = path_to(self.sliced, log)
        ids = {one.event_id for one in path}
        return [one for one in log if one.event_id in ids or one.number > path[-1].number]

    def tip(self) -> str | None:
        """Return the event that the next one follows here."""
        return next((one.event_id for one in reversed(self.events) if one.is_node), None)


def kept_in(entry: Entry, shown_by: str) -> Kept:
    """Return the event that an entry holds."""
    held = held_in(entry)
    return Kept.of(restored(held["value"]), held["number"], entry.id, shown_by)


def path_to(event_id: str, log: Sequence[Kept]) -> list[Kept]:
    """Return the branch that ends with an event, the root first, as `EventLog.path_to_root` does.

    Raises KeyError for an event that is not in the log.
    """
    places = {one.event_id: at for at, one in enumerate(log)}
    path: list[Kept] = []
    at = places[event_id]
    while at >= 0 and len(path) < len(log):
        path.append(log[at])
        parent = log[at].parent_id
        at = -1 if parent == NO_PARENT else at - 1 if parent is None else places[parent]
    return path[::-1]


def held_in(entry: Entry) -> Mapping[str, Any]:
    first = entry.content[0] if entry.content else None
    held = first.get("openhands") if isinstance(first, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def changed(value: Any, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value after a change of it (RFC 7396, a merge patch).

    >>> changed({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
    {'b': {'c': 4, 'd': 3}}
    """
    now = dict(value) if isinstance(value, Mapping) else {}
    for name, part in change.items():
        if part is None:
            now.pop(name, None)
        else:
            now[name] = changed(now.get(name), part) if isinstance(part, Mapping) else part
    return now


def change_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what makes one value the other; None if no merge patch can say it.

    >>> change_of({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4, "d": 3}})
    {'b': {'c': 4}, 'a': None}
    >>> change_of({}, {"a": None})
    """
    change = _change(before, after)
    return change if changed(before, change) == after else None


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] = {}
    for name, value in after.items():
        if name not in before or before[name] != value:
            old = before.get(name)
            both = isinstance(value, Mapping) and isinstance(old, Mapping)
            change[name] = _change(old, value) if both else value  # type: ignore[arg-type]
    return change | dict.fromkeys(before.keys() - after.keys())


def added_to(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what lists have more at their ends, in the form of the value.

    A merge patch has the whole list, and OpenHands' metrics have a line for each call of a model.

    >>> added_to({"a": [1], "b": {"c": [2], "d": [3]}}, {"a": [1], "b": {"c": [2, 3], "d": []}})
    {'b': {'c': [3]}}
    """
    added: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        part: Any = None
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            part = added_to(old, value)
        elif isinstance(value, list) and isinstance(old, list) and value[: len(old)] == old:
            part = value[len(old) :]
        if part:
            added[name] = part
    return added


def longer(before: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value with what was added to its lists.

    >>> longer({"a": [1], "b": {"c": [2]}}, {"b": {"c": [3]}})
    {'a': [1], 'b': {'c': [2, 3]}}
    """
    return dict(before) | {
        name: [*before[name], *part] if isinstance(part, list) else longer(before[name], part)
        for name, part in added.items()
    }


def with_known_secrets(before: Any, after: Any, is_same: Callable[[str, str], bool]) -> Any:
    """Return a value with secrets as they were stored. Encrypted anew they have other letters."""
    if isinstance(before, str) and isinstance(after, str):
        return before if before != after and is_same(before, after) else after
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return {name: with_known_secrets(before.get(name), part, is_same) for name, part in after.items()}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [with_known_secrets(*both, is_same) for both in zip(before, after, strict=True)]
    return after


def context_draft(kind: str, value: Any, **more: Any) -> dict[str, Any]:
    """Return an entry of the agent's context."""
    held = {"kind": kind, "value": value, **more}
    return {"channel": "context", "contentType": OPAQUE, "content": [{"openhands": held}]}


def event_draft(event: Mapping[str, Any], stored: Stored, number: int) -> dict[str, Any]:
    """Return an entry of the history. What has no text for people is opaque."""
    held = {"kind": EVENT, "number": number, "value": stored.value}
    role, text = _shown(event)
    if not text and not stored.ids:  # only a message names attachments
        return {"contentType": OPAQUE, "content": [{"openhands": held}]}
    content = {"role": role, "text": shortened(text), "openhands": held, **attachments([stored])}
    return {"channel": HISTORY, "contentType": HISTORY, "content": [content]}


def _shown(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the text that people see of an event.

    What a tool has returned is of the system, and what the agent says and calls of the agent.
    """
    kind = event.get("kind")
    if kind == "MessageEvent":
        message = event["llm_message"]
        roles = {"user": "USER", "assistant": "AI"}
        return roles.get(message.get("role"), "SYSTEM"), _text(message.get("content", ()))
    if kind == "ActionEvent":
        call = event.get("tool_call") or {}
        called = f"[calls {event.get('tool_name')} {call.get('arguments', '')}]"
        return "AI", "\n".join(filter(None, [_text(event.get("thought", ())), called]))
    if kind == "ObservationEvent":
        returned = _text(event.get("observation", {}).get("content", ()))
        return "SYSTEM", f"[{event.get('tool_name')} returned {returned}]"
    for name in ("error", "rejection_reason", "summary", "detail"):
        if isinstance(event.get(name), str):
            return "SYSTEM", f"[{event[name]}]"
    return "SYSTEM", ""


def _text(parts: Iterable[Any]) -> str:
    return "\n".join(str(one["text"]) for one in parts if isinstance(one, Mapping) and "text" in one)
