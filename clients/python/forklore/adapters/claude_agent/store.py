"""The session store."""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from forklore import (
    AsyncForklore,
    ConflictError,
    Forklore,
    MismatchError,
    NotFoundError,
    UnexpectedAnswerError,
)
from forklore.adapters.claude_agent.forked_transcripts import FORK, forked, record_of
from forklore.adapters.claude_agent.heads import Head, Sessions, data_of, folded, new_batch
from forklore.adapters.claude_agent.messages import Message, appends_of
from forklore.adapters.claude_agent.session_names import (
    name_of,
    session_name,
    sessions_of,
    subpath_of,
    subpaths_of,
)
from forklore.adapters.files import Files, Stored, misses_file
from forklore.adapters.running import arun
from forklore.adapters.storable import restored
from forklore.client.generated.results import Entries, Name
from forklore.client.kinds import as_async

HISTORY = "history"
PAGE_ENTRIES = 1_000
FIRST = "first"
"""The key of a session's first entry. Of two writers that find no entry, one gets it."""
ATTEMPTS_MAX = 4
"""Of one append. The last one does not depend on other writers."""
RACES = ("stale", "key_in_use")


class ForkloreSessionStore(SessionStore):
    """Keeps the sessions of the Claude Agent SDK in forklore, for asyncio and trio.

    A session is a conversation with a name, and a subpath is a child of it. What a user says is an
    entry, and what follows is another one. Tasks may share a store.

    forklore: a client of either kind, which is not closed here. Its user and client own the
    sessions.
    """

    def __init__(self, forklore: AsyncForklore | Forklore) -> None:
        self._forklore = as_async(forklore)
        self._api = self._forklore.api
        self._files = Files.of(forklore)
        self._sessions = Sessions()

    # What the SDK calls

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append a batch of lines, in one request if it has up to 2,450,000 bytes.

        The ten largest files of each line are sent before, unless the service has them.
        A batch that failed can be appended again: no line of it is doubled.
        Raises TooLargeError for a line of more than 2,450,000 bytes; then nothing is appended.
        """
        if not entries:
            return
        for once in self._files.tries():
            with once:
                stored = await arun(self._forklore, self._files.stored(entries))
                await self._append_all(key, entries, stored)

    async def _append_all(
        self, key: SessionKey, entries: list[SessionStoreEntry], stored: Sequence[Stored]
    ) -> None:
        appends = appends_of(cast(Sequence[Mapping[str, Any]], entries), stored)
        session = self._sessions.of(name_of(key))
        digest = sha256(json.dumps([name_of(key), entries]).encode()).hexdigest()[:32]
        async with self._sessions.lock(name_of(key)):
            head = session.head
            for number, messages in enumerate(appends):
                once = f"{session.batch}-{number}-{digest}"
                head = await self._append(key, head, messages, idempotency_key=once)
            session.head = head
            session.batch = new_batch()

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the lines of a transcript; None if there is no such transcript.

        Of lines with the same `uuid` it returns the first.
        Raises ValueError for a fork up to a message that its source does not have.
        """
        name = name_of(key)
        lines: list[SessionStoreEntry] = []
        last = cursor = None
        while True:
            try:
                page = await self._api.list_entries_by_name(
                    name=name, channel=HISTORY, limit=PAGE_ENTRIES, after_cursor=cursor
                )
            except NotFoundError:
                return None
            for entry in await arun(self._forklore, self._files.whole(page.data)):
                last = entry.id
                message = entry.content[0] if entry.content else None
                if not isinstance(message, Mapping):
                    continue  # of another author
                if FORK in message:
                    lines = await forked(distinct(lines), message[FORK])
                lines += map(restored, message.get("lines", ()))
            cursor = page.after_cursor
            if cursor is None:
                break
        if not lines:
            return None
        lines = distinct(lines)
        session = self._sessions.of(name)
        if subpath_of(key) is None and not self._sessions.is_appended_to(name):
            session.head = Head(last, folded(None, key, lines))
        return lines

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, and when each was appended to last."""
        named = await self._listed(sessions_of(project_key))
        return [
            SessionStoreListEntry(session_id=one.data["sessionId"], mtime=milliseconds(one.updated_at))
            for one in named
            if "sessionId" in one.data
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions.

        A summary is missing if many writers met, if it is longer than 4 KB, or if nothing was
        appended to a fork. The SDK then loads the session.
        """
        named = await self._listed(sessions_of(project_key))
        return [
            SessionSummaryEntry(
                session_id=one.data["sessionId"],
                mtime=milliseconds(one.updated_at),
                data=one.data["summary"],
            )
            for one in named
            if one.data.get("summary") is not None
        ]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session."""
        named = await self._listed(subpaths_of(key["project_key"], key["session_id"]))
        return [one.data["subpath"] for one in named]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with its subpaths, or one subpath. Forks of a session stay.

        A deletion that was interrupted can be repeated. The name can be used again at once.
        """
        name = name_of(key)
        named = await self._named(name)
        if named is None:
            return
        with suppress(NotFoundError):
            await self._api.delete_conversation(named.conversation_id, scope="branch")
        if subpath_of(key) is None:
            # The children are deleted with their parent. Only their names are left.
            prefix = subpaths_of(key["project_key"], key["session_id"])
            for one in await self._forklore.names(prefix).list():
                await self._free(one)
        await self._free(named)
        self._sessions.of(name).head = None

    # What the SDK does not know

    async def fork(
        self, key: SessionKey, *, up_to: str | None = None, title: str | None = None
    ) -> SessionKey:
        """Fork a session and return the key of the fork. It takes two requests; nothing is copied.

        up_to: the `uuid` of the last message that the fork keeps; None: all. title: of the fork.
        The lines of the fork have ids of their own, as with `fork_session_via_store` of the SDK.
        Raises FileNotFoundError if there is no such session, and ValueError for what is no UUID. An
        `up_to` that the session does not have is found when the fork is loaded.
        """
        source, project = key["session_id"], key["project_key"]
        if subpath_of(key) is not None:
            raise ValueError("a subpath cannot be forked: fork its session")
        for given in (source, *([] if up_to is None else [up_to])):
            uuid.UUID(given)
        named = await self._named(session_name(project, source))
        if named is None or named.deleted or "sessionId" not in named.data:
            raise FileNotFoundError(f"Session {source} not found")
        made = str(uuid.uuid4())
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        await self._api.append_entry_by_name(
            name=session_name(project, made),
            forked_at_conversation_id=named.conversation_id,
            forked_at_position="head",
            title=title,
            content_type=HISTORY,
            content=[record_of(source, made, up_to=up_to, title=title, at=at)],
            data=data_of(made, None),
        )
        return SessionKey(project_key=project, session_id=made)

    # The requests

    async def _append(
        self, key: SessionKey, head: Head | None, messages: Sequence[Message], *, idempotency_key: str
    ) -> Head | None:
        """Append messages in one request; return the new head, or None if it is unknown.

        While the summary is known, the append is made only behind the entry that the summary ends
        with. With another writer in between, both are read anew. After some attempts the messages
        are appended in any case, and the summary is unknown from then on.
        """
        entries: list[dict[str, Any]] = [
            {"contentType": HISTORY, "content": message.content()} for message in messages
        ]
        lines = [line for message in messages for line in message.lines]
        for attempt in range(ATTEMPTS_MAX):
            is_last = attempt == ATTEMPTS_MAX - 1
            head = head or await self._look(key)
            fields: dict[str, Any] = {"entries": entries}
            summary = None
            if (subpath := subpath_of(key)) is not None:
                fields["data"] = {"subpath": subpath}
                fields["started_by_conversation_id"] = head.parent
            else:
                if head.summary is not None and not is_last:
                    summary = folded(head.summary, key, lines)
                    fields["if_match"] = head.last
                    if head.last is None:
                        fields["entries"] = [{**entries[0], "key": FIRST}, *entries[1:]]
                fields["data"] = data_of(key["session_id"], summary)
            try:
                appended = await self._api.append_entry_by_name(
                    name=name_of(key), idempotency_key=idempotency_key, **fields
                )
            except MismatchError:
                return None  # an earlier attempt was made, behind another entry
            except ConflictError as error:
                if is_last or error.reason not in RACES:
                    raise
            except NotFoundError as error:
                if is_last or misses_file(error):
                    raise
                await self._free_if_deleted(name_of(key))
                # An earlier attempt is deleted with its conversation, and its key is used up.
                idempotency_key += "+"
            else:
                if not isinstance(appended, Entries):
                    raise UnexpectedAnswerError("the answer to several entries holds one")
                return Head(appended.data[-1].id, summary, head.parent)
            head = None
        raise AssertionError("the last attempt returns or raises")

    async def _look(self, key: SessionKey) -> Head:
        """Return where a transcript ends."""
        if subpath_of(key) is not None:
            return Head(parent=await self._parent(session_name(key["project_key"], key["session_id"])))
        name = name_of(key)
        try:
            page = await self._api.list_entries_by_name(name=name, channel=HISTORY, tail=True, limit=1)
        except NotFoundError:
            return Head(summary={})
        if page.data:
            # The name is read last. So its summary is never older than the entry.
            named = await self._named(name)
            return Head(page.data[-1].id, named.data.get("summary", {}) if named else None)
        return Head(summary={} if page.before_cursor is None else None)

    async def _parent(self, name: str) -> str:
        """Return the conversation of a session; make one without lines if there is none."""
        named = await self._named(name)
        if named is not None and not named.deleted:
            return named.conversation_id
        if named is not None:
            await self._free(named)
        # One request makes the conversation and its name. If another writer has just made them,
        # this is a message without lines in that session, and changes nothing.
        appended = await self._api.append_entry_by_name(
            name=name, title="subagents", content_type=HISTORY, content=Message().content()
        )
        if isinstance(appended, Entries):
            raise UnexpectedAnswerError("the answer to one entry holds several")
        return appended.conversation_id

    async def _named(self, name: str) -> Name | None:
        try:
            return await self._api.look_up_name(name=name)
        except NotFoundError:
            return None

    async def _listed(self, prefix: str) -> list[Name]:
        """Return the names whose conversations exist."""
        return [one for one in await self._forklore.names(prefix).list() if not one.deleted]

    async def _free_if_deleted(self, name: str) -> None:
        """Delete a name whose conversation is deleted."""
        named = await self._named(name)
        if named is not None and named.deleted:
            await self._free(named)

    async def _free(self, named: Name) -> None:
        """Delete a name, unless it was moved or deleted meanwhile."""
        with suppress(NotFoundError, ConflictError):
            await self._api.delete_name(name=named.name, expect_revision=named.revision)


def distinct(lines: Sequence[SessionStoreEntry]) -> list[SessionStoreEntry]:
    """Return the lines without those whose `uuid` is that of a line before.

    >>> distinct([{"type": "x", "uuid": "1"}, {"type": "y", "uuid": "1"}, {"type": "z"}])
    [{'type': 'x', 'uuid': '1'}, {'type': 'z'}]
    """
    seen: set[str] = set()
    kept = []
    for line in lines:
        name = line.get("uuid")
        if isinstance(name, str):
            if name in seen:
                continue
            seen.add(name)
        kept.append(line)
    return kept


def milliseconds(time: str) -> int:
    """Return a time of the service as milliseconds since 1970."""
    return round(datetime.fromisoformat(time).timestamp() * 1000)
