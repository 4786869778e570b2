"""What a session of ADK is as entries of forklore, and read again. Pure.

Each event is an entry, in `content[0]` under `google-adk`: `{"kind", "value"}`. State that users
share is an entry for each change.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.adapters.files import Stored, attachments
from forklore.adapters.storable import restored, shortened
from forklore.client.generated.results import Entry, ListedEntry
from forklore.extras import needing

with needing("google-adk"):
    from google.adk.errors import InvocationNotFoundError
    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import GetSessionConfig
    from google.adk.sessions.state import State
    from google.genai import types
    from pydantic_core import to_jsonable_python

SESSION, EVENT, SHARED = "session", "event", "shared"
"""The kinds of entries."""
SCOPES = {"app": State.APP_PREFIX, "user": State.USER_PREFIX, "temp": State.TEMP_PREFIX}
HISTORY, OPAQUE = "history", "application/vnd.google-adk+json"


@dataclass(frozen=True)
class Read:
    """What a session shows: its entries, the oldest first, and what they hold.

    last: the id of the last entry, which an append goes behind. It may be a person's.
    """

    entries: Sequence[ListedEntry]
    held: Sequence[Mapping[str, Any]]
    last: str

    def events(self) -> list[Event]:
        """Return the events, the oldest first."""
        return [Event.model_validate(one["value"]) for one in self.held if one["kind"] == EVENT]

    def state(self) -> dict[str, Any]:
        """Return the state of the session's own scope: as it was created, then each change."""
        state: dict[str, Any] = {}
        for one in self.held:
            state.update(parted(delta_in(one))["session"])
        return state

    def updated(self) -> float:
        """Return when the session was changed last: seconds, as ADK has them."""
        return float(self.held[-1]["value"].get("timestamp", 0.0))

    def ends_with(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event is the last one: then only the answer to its append was lost.

        What was no JSON has not come back equal. So texts are compared.
        """
        last = self.held[-1]
        return last["kind"] == EVENT and text_of(last["value"]) == text_of(event)

    def before(self, invocation_id: str) -> "Read | None":
        """Return what stands before an invocation; None if there is none."""
        for at, one in enumerate(self.held):
            if one["kind"] == EVENT and one["value"].get("invocation_id") == invocation_id:
                return Read(self.entries[:at], self.held[:at], self.last)
        return None


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value as JSON has it. What it cannot hold is shown by its `repr`, as ADK does."""
    plain: dict[str, Any] = to_jsonable_python(value, serialize_unknown=True)
    return plain


def text_of(value: Any) -> str:
    """Return a value as JSON text, which is equal where two values are stored alike."""
    return json.dumps(value, sort_keys=True)


def parted(delta: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a change of state by scope, without the scope in the keys.

    >>> parted({"a": 1, "user:b": 2, "temp:c": 3})
    {'app': {}, 'user': {'b': 2}, 'temp': {'c': 3}, 'session': {'a': 1}}
    """
    parts: dict[str, dict[str, Any]] = {scope: {} for scope in (*SCOPES, "session")}
    for key, value in delta.items():
        scope = next((one for one, prefix in SCOPES.items() if key.startswith(prefix)), "session")
        parts[scope][key.removeprefix(SCOPES.get(scope, ""))] = value
    return parts


def merged(own: Mapping[str, Any], user: Mapping[str, Any], app: Mapping[str, Any]) -> dict[str, Any]:
    shared = {f"{State.USER_PREFIX}{key}": value for key, value in user.items()}
    return {**own, **shared, **{f"{State.APP_PREFIX}{key}": value for key, value in app.items()}}


def delta_in(held: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an entry changes of the state."""
    value: Mapping[str, Any] = held["value"]
    return value.get("state", {}) if held["kind"] == SESSION else delta_of(value)


def delta_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    delta: Mapping[str, Any] = event.get("actions", {}).get("state_delta") or {}
    return delta


def wanted(events: list[Event], config: GetSessionConfig | None) -> list[Event]:
    """Return the newest events, of these what is not before a time, as ADK's own do."""
    if config is not None and config.num_recent_events is not None:
        events = events[max(len(events) - config.num_recent_events, 0) :]
    if config is not None and config.after_timestamp is not None:
        early = [at for at, one in enumerate(events) if one.timestamp < config.after_timestamp]
        events = events[early[-1] + 1 :] if early else events
    return events


def place_before(read: Read, invocation_id: str) -> dict[str, Any]:
    """Return where a fork before an invocation begins."""
    kept = read.before(invocation_id)
    if kept is None:
        raise InvocationNotFoundError(f"Invocation ID not found: {invocation_id}")
    return {"forked_at_position": "before", "forked_at_entry_id": read.entries[len(kept.entries)].id}


def opaque(held: Mapping[str, Any]) -> dict[str, Any]:
    return {"contentType": OPAQUE, "content": [{"google-adk": held}]}


def draft_of(event: Event, stored: Stored, **more: Any) -> dict[str, Any]:
    held = {"kind": EVENT, "value": stored.value, **more}
    parts = event.content.parts if event.content is not None else None
    if not parts and not stored.ids:  # only a message names attachments
        return opaque(held)
    shown = {"role": _role(event, parts or []), "text": shortened("\n".join(map(_line, parts or [])))}
    content = {**shown, "google-adk": held, **attachments([stored])}
    return {"channel": HISTORY, "contentType": HISTORY, "content": [content]}


def _role(event: Event, parts: Sequence[types.Part]) -> str:
    """Return who shows as the author: of what tools return the system."""
    if parts and all(part.function_response is not None for part in parts):
        return "SYSTEM"
    return "USER" if event.author == "user" else "AI"


def _line(part: types.Part) -> str:
    if part.text is not None:
        return part.text
    if part.function_call is not None:
        return f"[calls {part.function_call.name} {part.function_call.args}]"
    if part.function_response is not None:
        return f"[returned {part.function_response.response}]"
    return f"[{next(iter(part.model_dump(exclude_none=True)), '')}]"


def held_in(entry: Entry) -> Mapping[str, Any]:
    first = entry.content[0] if entry.content else None
    held = first.get("google-adk") if isinstance(first, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def restored_in(entry: Entry) -> Mapping[str, Any]:
    held = held_in(entry)
    return {**held, "value": restored(held["value"])}


def quoted(part: str) -> str:
    """Return a part of a name, without the sign that stands between two.

    >>> quoted("a/b%"), unquoted("a%2Fb%25")
    ('a%2Fb%25', 'a/b%')
    """
    return part.replace("%", "%25").replace("/", "%2F")


def unquoted(part: str) -> str:
    return part.replace("%2F", "/").replace("%25", "%")
