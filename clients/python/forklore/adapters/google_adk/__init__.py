"""Sessions of Google's Agent Development Kit (ADK), kept in forklore.

A session is a name, which points to a conversation, and its events are entries of it. Each
conversation behind a name has one entry of its own with the key SESSION, the first one: so a second
session of the same id is refused. A rewind is a fork that takes the name.
What users share is in conversations with names of their own: an entry for each change.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from forklore import AsyncForklore, ConflictError, Forklore, NotFoundError
from forklore.adapters.files import Files, Stored
from forklore.adapters.google_adk.entries import (
    HISTORY,
    SCOPES,
    SESSION,
    SHARED,
    Read,
    delta_in,
    delta_of,
    draft_of,
    held_in,
    merged,
    opaque,
    parted,
    place_before,
    plain,
    quoted,
    restored_in,
    text_of,
    unquoted,
    wanted,
)
from forklore.adapters.google_adk.memory import ForkloreMemoryService
from forklore.adapters.running import arun
from forklore.adapters.storable import checked_name, checked_size, storable
from forklore.client.errors import BadRequestError, TooLargeError
from forklore.client.generated.limits import PAGE_ENTRIES_MAX
from forklore.client.generated.results import Entries, ListedEntry
from forklore.client.kinds import as_async
from forklore.extras import needing

with needing("google-adk"):
    from google.adk.errors import InvocationNotFoundError, StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.platform import time as platform_time
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session

__all__ = ["ForkloreMemoryService", "ForkloreSessionService"]

TAKEN = frozenset({"key_in_use", "not_the_fork"})
OVERTAKEN = frozenset({"stale", "name_moved"})
INVALID_CURSOR = "invalid_cursor"
CHANGES_MAX = 100
"""Of shared state. When a reader has met more, it appends the whole."""


class ForkloreSessionService(BaseSessionService):
    """A session service of ADK in forklore, which forks without a copy. A rewind is a fork.

    All processes that share a session use the same user and client.

    client: of either kind, made and closed by the caller. app_client: keeps the state of `app:`;
    None: `client` does. Give one where `client` is not the same for all users of the app.
    prefix: of the names.
    Raises TooLargeError for an event or a state beyond 2.5 MB, before anything of it is written.
    """

    def __init__(
        self,
        client: AsyncForklore | Forklore,
        *,
        app_client: AsyncForklore | Forklore | None = None,
        prefix: str = "google-adk/",
    ) -> None:
        self._client = as_async(client)
        self._app_client = self._client if app_client is None else as_async(app_client)
        self._files = Files.of(client)
        self._prefix = prefix
        self._turns = WeakValueDictionary[tuple[int, str], asyncio.Lock]()

    # Sessions

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Make a session. Raises AlreadyExistsError if there is one of the same id."""
        session_id = (session_id or "").strip() or str(uuid4())
        parts = parted(plain(state or {}))
        now = platform_time.get_time()
        value = {"state": parts["session"], "timestamp": now}
        last = await self._begin(self._name(app_name, user_id, session_id), session_id, value)
        await self._share(app_name, user_id, parts, str(uuid4()))
        return await self._session(app_name, user_id, session_id, parts["session"], now, last)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session with the events that `config` asks for; None if there is none."""
        session_id = session_id.strip()
        try:
            read = await self._read(self._name(app_name, user_id, session_id))
        except NotFoundError:
            return None
        made = await self._session(app_name, user_id, session_id, read.state(), read.updated(), read.last)
        made.events = wanted(read.events(), config)
        return made

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return sessions without events, the one changed last at the end.

        user_id: None: of all users whose sessions `client` keeps.
        """
        found: list[Session] = []
        app = await self._shared(app_name)
        users: dict[str, dict[str, Any]] = {}
        async for name in self._client.names(f"{self._name(app_name, *_given(user_id))}/"):
            parts = [unquoted(part) for part in name.name.removeprefix(self._prefix).split("/")]
            if name.deleted or len(parts) != 3:  # the name of a user's state has two
                continue
            _, user, session_id = parts
            try:
                read = await self._read(name.name, with_events=False)
            except NotFoundError:
                continue
            if user not in users:
                users[user] = await self._shared(app_name, user)
            session = Session(id=session_id, app_name=app_name, user_id=user, last_update_time=read.updated())
            session.state = merged(read.state(), users[user], app)
            session._storage_update_marker = read.last
            found.append(session)
        found.sort(key=lambda one: (one.last_update_time, one.user_id, one.id))
        return ListSessionsResponse(sessions=found)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session, with what rewinds have left. Forks of it stay whole."""
        name = self._name(app_name, user_id, session_id.strip())
        try:
            known = await self._client.api.look_up_name(name=name)
            if not known.deleted:
                for each in [*await self._left(known.conversation_id), known.conversation_id]:
                    with suppress(NotFoundError):
                        await self._client.api.delete_conversation(each, scope="branch")
            await self._client.api.delete_name(name=name, expect_revision=known.revision)
        except NotFoundError:
            return

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user, without `user:` in front of the keys."""
        return await self._shared(app_name, user_id)

    async def fork(
        self, session: Session, *, session_id: str | None = None, before_invocation: str | None = None
    ) -> Session:
        """Return a new session that begins with what is stored of this one. Nothing is copied.

        session_id: of the new one; None: a random one. before_invocation: leave out this invocation
        and what follows, also of the state. Artifacts are of a session's id, so ADK's artifact
        services show the fork none.
        Raises SessionNotFoundError, InvocationNotFoundError, AlreadyExistsError.
        """
        app_name, user_id = session.app_name, session.user_id
        session_id = (session_id or "").strip() or str(uuid4())
        name = self._name(app_name, user_id, session.id)
        try:
            known = await self._client.api.look_up_name(name=name)
            where: dict[str, Any] = {"forked_at_position": "head"}
            if before_invocation is not None:
                read = await self._read(name, conversation_id=known.conversation_id)
                where = place_before(read, before_invocation)
            value = {"timestamp": platform_time.get_time()}
            where["forked_at_conversation_id"] = known.conversation_id
            await self._begin(self._name(app_name, user_id, session_id), session_id, value, **where)
        except NotFoundError as error:
            raise SessionNotFoundError(f"Session {session.id} not found.") from error
        made = await self.get_session(app_name=app_name, user_id=user_id, session_id=session_id)
        if made is None:
            raise SessionNotFoundError(f"Session {session_id} not found.")
        return made

    # Events

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event, but not a partial one; of a rewind, make the fork.

        An event that is stored already is not stored again.
        Raises StaleSessionError if the session was changed since `session` was read, and
        SessionNotFoundError. Then nothing is stored.
        """
        if event.partial:
            return event
        name = self._name(session.app_name, session.user_id, session.id)
        key = (id(asyncio.get_running_loop()), name)
        async with self._turns.setdefault(key, asyncio.Lock()):  # tools of a live run share the session
            return await self._append_in_turn(name, session, event)

    async def _append_in_turn(self, name: str, session: Session, event: Event) -> Event:
        if any(one.id == event.id and one == event for one in session.events):
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        if event.actions.rewind_before_invocation_id is not None:
            return await self._rewind(name, session, event)
        if session._storage_update_marker is None:
            await self._mark(name, session)
        value = plain(event.model_dump(mode="json", exclude_defaults=True))
        last = await self._append(name, session, event, value)
        await self._share(session.app_name, session.user_id, parted(delta_of(value)), f"{name}/{event.id}")
        return self._committed(session, event, last)

    def _committed(self, session: Session, event: Event, last: str) -> Event:
        session._storage_update_marker = last
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)

    async def _append(self, name: str, session: Session, event: Event, value: Mapping[str, Any]) -> str:
        """Append an event behind the last entry that the session knows; return its entry's id."""
        last = ""
        for once in self._files.tries():
            with once:
                [stored] = await arun(self._client, self._files.stored([value]))
                last = await self._append_once(name, session, value, draft_of(event, stored))
        return last

    async def _append_once(
        self, name: str, session: Session, value: Mapping[str, Any], draft: Mapping[str, Any]
    ) -> str:
        try:
            made = await self._client.api.append_entry_by_name(
                name=name, if_match=session._storage_update_marker, entries=[draft]
            )
        except ConflictError as error:
            if error.reason != "stale":
                raise
            read = await self._known(name, session)
            if not read.ends_with(value):
                raise _stale(session) from error
            return read.last
        assert isinstance(made, Entries)
        return made.data[-1].id

    async def _mark(self, name: str, session: Session) -> None:
        """Note the last entry of a session that somebody else has made, if it is not behind."""
        read = await self._known(name, session)
        events = read.events()
        is_same = bool(events and session.events) and events[-1].id == session.events[-1].id
        if read.updated() > session.last_update_time and not is_same:
            raise _stale(session)
        session._storage_update_marker = read.last

    async def _rewind(self, name: str, session: Session, event: Event) -> Event:
        """Go on in a fork that ends before an invocation, with the state of then.

        ADK has computed a delta from the events alone, which does not know how the session was
        created: it is not needed.
        """
        read = await self._known(name, session)
        event.actions.state_delta = {}
        value = plain(event.model_dump(mode="json", exclude_defaults=True))
        if read.ends_with(value):
            return self._rewound(
                session, event, Read(read.entries[:-1], read.held[:-1], read.last), read.last
            )
        if session._storage_update_marker not in {None, read.last}:
            raise _stale(session)
        kept = read.before(event.actions.rewind_before_invocation_id or "")
        if kept is None:
            raise InvocationNotFoundError(
                f"Invocation ID not found: {event.actions.rewind_before_invocation_id}"
            )
        try:
            known = await self._client.api.look_up_name(name=name)
            left = [*await self._left(known.conversation_id), known.conversation_id]
            made = await self._client.api.append_entry(
                str(uuid4()),
                forked_at_conversation_id=known.conversation_id,
                forked_at_entry_id=read.entries[len(kept.entries)].id,
                forked_at_position="before",
                name={"name": name, "expectRevision": known.revision},
                if_match=read.last,
                entries=[{**draft_of(event, Stored.whole(value), left=left), "key": SESSION}],
            )
        except (ConflictError, NotFoundError) as error:
            if isinstance(error, ConflictError) and error.reason not in OVERTAKEN:
                raise
            raise _stale(session) from error
        assert isinstance(made, Entries)
        return self._rewound(session, event, kept, made.data[-1].id)

    def _rewound(self, session: Session, event: Event, kept: Read, last: str) -> Event:
        """Let a session show what was kept, and the event of the rewind. last: its entry's id."""
        shared = {
            key: value for key, value in session.state.items() if key.startswith(tuple(SCOPES.values()))
        }
        session.events[:] = kept.events()
        session.state.clear()
        session.state.update(kept.state() | shared)
        return self._committed(session, event, last)

    # Entries

    def _name(self, app_name: str, *rest: str) -> str:
        parts = "/".join(map(quoted, (app_name, *rest)))
        return checked_name("app_name, user_id and session_id together", self._prefix, parts)

    async def _begin(self, name: str, session_id: str, value: Mapping[str, Any], **fork: Any) -> str:
        """Make a name and its conversation, with the entry SESSION; return the entry's id."""
        held = {"kind": SESSION, "value": storable(value)}
        try:
            made = await self._client.api.append_entry_by_name(
                name=name, entries=[{**opaque(held), "key": SESSION}], **fork
            )
        except ConflictError as error:
            if error.reason not in TAKEN:
                raise
            raise AlreadyExistsError(f"Session with id {session_id} already exists.") from error
        assert isinstance(made, Entries)
        return made.data[-1].id

    async def _left(self, conversation_id: str) -> list[str]:
        """Return the conversations that rewinds of a session have left."""
        found = await self._client.api.look_up_entry(conversation_id, key=SESSION)
        own = found.conversation_id == conversation_id
        return list(held_in(found).get("left", ())) if own else []

    async def _known(self, name: str, session: Session) -> Read:
        try:
            return await self._read(name)
        except NotFoundError as error:
            raise SessionNotFoundError(f"Session {session.id} not found.") from error

    async def _read(self, name: str, *, conversation_id: str | None = None, with_events: bool = True) -> Read:
        """Return what a session shows. Raises NotFoundError if there is none.

        conversation_id: the one to read, wherever the name points by now. with_events: False: only
        of what changes the state the files are read.
        """
        found: list[ListedEntry] | None = None
        while found is None:
            try:
                found = [one async for one in self._entries(self._client, name, conversation_id)]
            except BadRequestError as error:
                if error.code != INVALID_CURSOR:
                    raise
                # Meanwhile a rewind has taken the entry at the end of a page away.
        entries = [one for one in reversed(found) if held_in(one)]
        if not entries:
            raise NotFoundError(f"no session {name!r}")
        held = [restored_in(one) for one in entries]
        chosen = [at for at, one in enumerate(held) if with_events or delta_in(one)]
        whole = await arun(self._client, self._files.whole([entries[at] for at in chosen]))
        for at, entry in zip(chosen, whole, strict=True):
            if entry is not entries[at]:
                held[at] = restored_in(entry)
        return Read(entries, held, found[0].id)

    async def _entries(
        self, client: AsyncForklore, name: str, conversation_id: str | None = None
    ) -> AsyncIterator[ListedEntry]:
        """Yield the entries that a name leads to, or those of a conversation, the newest first.

        If the name moves between two pages, what stands before an entry stays the same.
        """
        cursor: str | None = None
        by_name = partial(client.api.list_entries_by_name, name=name)
        listed = by_name if conversation_id is None else partial(client.api.list_entries, conversation_id)
        while True:
            page = await listed(
                channel=HISTORY,
                limit=PAGE_ENTRIES_MAX,
                tail=True if cursor is None else None,
                before_cursor=cursor,
            )
            for entry in reversed(page.data):
                yield entry
            cursor = page.before_cursor
            if cursor is None:
                return

    # State that sessions share

    async def _session(
        self,
        app_name: str,
        user_id: str,
        session_id: str,
        state: Mapping[str, Any],
        updated: float,
        last: str,
    ) -> Session:
        made = Session(id=session_id, app_name=app_name, user_id=user_id, last_update_time=updated)
        made.state = merged(state, await self._shared(app_name, user_id), await self._shared(app_name))
        made._storage_update_marker = last
        return made

    async def _share(self, app_name: str, user_id: str, parts: Mapping[str, Any], change: str) -> None:
        """Append the changes of the user's and the app's state. change: what they are a part of.

        The same of the same change is stored once.
        """
        for scope, whose in (("user", (user_id,)), ("app", ())):
            if parts[scope]:
                key = hashlib.sha256(text_of([change, parts[scope]]).encode()).hexdigest()
                draft = {**opaque({"kind": SHARED, "value": storable(parts[scope])}), "key": key}
                try:
                    await self._keeper(whose).api.append_entry_by_name(
                        name=self._name(app_name, *whose), entries=[draft]
                    )
                except ConflictError as error:
                    if error.reason != "key_in_use":
                        raise

    async def _shared(self, app_name: str, *whose: str) -> dict[str, Any]:
        """Return the state of an app, or of a user in it. After many changes, append the whole."""
        client, name = self._keeper(whose), self._name(app_name, *whose)
        changes: list[Mapping[str, Any]] = []
        last: str | None = None
        with suppress(NotFoundError):  # nobody has set any
            async for entry in self._entries(client, name):
                last = last or entry.id
                if held_in(entry):
                    changes.append(restored_in(entry))
                    if changes[-1].get("whole"):
                        break
        state = {key: value for one in reversed(changes) for key, value in one["value"].items()}
        if len(changes) > CHANGES_MAX:
            whole = opaque({"kind": SHARED, "value": storable(state), "whole": True})
            with suppress(ConflictError, TooLargeError):  # somebody has changed it meanwhile; it does not fit
                checked_size("the whole state", whole["content"])
                await client.api.append_entry_by_name(name=name, if_match=last, entries=[whole])
        return state

    def _keeper(self, whose: Sequence[str]) -> AsyncForklore:
        return self._client if whose else self._app_client


def _stale(session: Session) -> StaleSessionError:
    return StaleSessionError(f"session {session.id} was changed since it was read: get it again")


def _given(user_id: str | None) -> Iterable[str]:
    return () if user_id is None else (user_id,)
