"""A fork's transcript: that of its source with ids of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import UUID, uuid5

from claude_agent_sdk import SessionKey, SessionStore, SessionStoreEntry, fork_session_via_store

FORK = "fork"
"""The member of a message that says: the messages before it are those of the source."""


def record_of(source: str, fork: str, *, up_to: str | None, title: str | None, at: str) -> dict[str, Any]:
    """Return the message that a fork begins with.

    source, fork: ids of sessions. up_to: the last line that the fork keeps; None: all. at: when.
    """
    where = "" if up_to is None else f" up to {up_to}"
    made = {"sourceId": source, "sessionId": fork, "upTo": up_to, "title": title, "at": at}
    return {"role": "SYSTEM", "text": f"Forked from session {source}{where}.", FORK: made}


async def forked(lines: Sequence[SessionStoreEntry], record: Mapping[str, Any]) -> list[SessionStoreEntry]:
    """Return the lines that a fork begins with, from those of its source.

    The SDK forks. The ids and the time that it draws are replaced by those of the record, so they
    are the same each time.
    Raises ValueError if the source has no line `upTo`, or no message.
    """
    held = _Held(list(lines))
    await fork_session_via_store(
        cast(SessionStore, held), record["sourceId"], up_to_message_id=record["upTo"], title=record["title"]
    )
    return list(_settled(held.appended, record))


def _settled(drawn: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> Iterator[SessionStoreEntry]:
    """Yield the lines of a fork with lasting ids. drawn: as the SDK made them, the title last."""
    fork = UUID(record["sessionId"])
    now = drawn[-1]["timestamp"]
    ids = {line["uuid"]: str(uuid5(fork, _origin(line))) for line in drawn}
    of_source = {_origin(line): ids[line["uuid"]] for line in drawn}
    for line in drawn:
        settled = {**line, "uuid": ids[line["uuid"]], "sessionId": record["sessionId"]}
        if "compactMetadata" in line:
            # The SDK leaves the source's ids in it, and Claude Code finds nothing by them.
            settled["compactMetadata"] = _renamed(line["compactMetadata"], of_source)
        for field in ("parentUuid", "logicalParentUuid"):
            if line.get(field):
                # Some parents are not in the fork: the SDK leaves them out.
                missing = str(uuid5(fork, f"{field} {_origin(line)}"))
                settled[field] = ids.get(line[field], missing)
        if line["timestamp"] == now:
            settled["timestamp"] = record["at"]
        yield cast(SessionStoreEntry, settled)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value of JSON in which each string that is in names is its new one.

    >>> _renamed({"uuids": ["a", "b"], "preTokens": 100}, {"a": "c"})
    {'uuids': ['c', 'b'], 'preTokens': 100}
    """
    if isinstance(value, Mapping):
        return {name: _renamed(one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def _origin(line: Mapping[str, Any]) -> str:
    """Return what a line of a fork was made from: a line of the source, or nothing but its kind."""
    source = line.get("forkedFrom")
    return str(source["messageUuid"] if source else line["type"])


class _Held:
    """A store that holds the source for the SDK, and what it appends for the fork."""

    def __init__(self, lines: list[SessionStoreEntry]) -> None:
        self._lines = lines
        self.appended: list[dict[str, Any]] = []

    async def load(self, _key: SessionKey) -> list[SessionStoreEntry] | None:
        return self._lines

    async def append(self, _key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        self.appended = cast(list[dict[str, Any]], entries)
