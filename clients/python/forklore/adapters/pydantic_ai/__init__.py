"""Conversations of Pydantic AI, kept in forklore."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

from forklore import AsyncForklore, ConflictError, Forklore, NotFoundError
from forklore.adapters.files import Files, misses_file
from forklore.adapters.running import arun
from forklore.adapters.storable import checked_name
from forklore.client.errors import BadRequestError
from forklore.client.generated.limits import PAGE_ENTRIES_MAX
from forklore.client.generated.results import Appended, Entries, Name
from forklore.client.kinds import as_async
from forklore.extras import needing

with needing("pydantic-ai"):
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )

    from forklore.adapters.pydantic_ai import log
    from forklore.adapters.pydantic_ai.places import Place, Places

__all__ = ["ForkloreConversationStore"]

ATTEMPTS_MAX = 8
"""How often a write is decided anew when others write to the same conversation."""
FASTER = frozenset({"stale", "name_moved", "key_in_use", "not_the_fork", "id_in_use"})
"""The conflicts that say that somebody else wrote first."""


class ForkloreConversationStore(ConversationStore):
    """A conversation store of Pydantic AI in forklore. It forks without a copy.

    A conversation is a name of the caller's. The name points to a line, which is a conversation of
    forklore. Each message is an entry, and the last entry of each save also holds the record. So a
    save is one append behind the last entry that it knows of. A rewritten history is a fork that
    takes the name. All writers that share a conversation use the same user and client.

    client: of either kind, made and closed by the caller. prefix: of the names.
    Raises TooLargeError for a message or a record beyond 2.5 MB, before anything is written.
    """

    def __init__(self, client: AsyncForklore | Forklore, *, prefix: str = "pydantic-ai/") -> None:
        self._client = as_async(client)
        self._files = Files.of(client)
        self._prefix = prefix
        self._places = Places()
        self._known: log.State | None = None

    # Records

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation; None if there is none."""
        state = await self._read_state(conversation_id)
        if state is None or state.record is None:
            return None
        self._known = state
        return log.copied(state.record)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return the records, the one saved last first."""
        records = []
        async for name in self._client.names(self._prefix):
            record = await self._record_of(name)
            if record is not None and (scope is None or record.scope == scope):
                records.append(record)
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record with its new entries, all or none.

        More than 50 entries, or 4 MB, take several requests. No history shows them before the last
        request, which stores the record.
        """
        for once in self._files.tries():
            with once:
                stored = await arun(self._client, self._files.stored(log.messages_of(new_entries)))
                change = log.Change.of(record, new_entries, stored)
                await self._write(record.conversation_id, change, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Write that a conversation is deleted. `delete` also removes what is stored of it."""
        await self._write(conversation_id, log.Change(None, None), expected_revision)

    async def delete(self, conversation_id: str, *, scope: str | None = None) -> None:
        """Delete a conversation, and the entries that no fork of it shows.

        The service removes the entries in the background. A deletion that was interrupted is ended
        by the next one.
        """
        await super().delete(conversation_id, scope=scope)
        await self._end_deletion(conversation_id)

    # Entries

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry. Raises KeyError if no conversation shows it."""
        return (await self.read_history(entry_id, limit=1))[0]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to `head_id`. Raises KeyError if no conversation shows it."""
        if head_id is None or limit == 0:
            return []
        place = self._places.get(head_id)
        if place is not None:
            try:
                return await self._history_at(place, head_id, limit)
            except (NotFoundError, KeyError):
                self._places.forget(head_id)
        return await self._history_at(await self._look_for(head_id), head_id, limit)

    async def _history_at(self, place: Place, head_id: str, limit: int | None) -> list[ConversationEntry]:
        """Return the entries that lead to the head, from the pages before it."""
        found: dict[str, ConversationEntry] = {}
        history: list[ConversationEntry] = []
        wanted: str | None = head_id
        cursor: str | None = None
        entries_max = PAGE_ENTRIES_MAX if limit is None else min(limit, PAGE_ENTRIES_MAX)
        while True:
            try:
                page = await self._client.api.list_entries(
                    place.line,
                    channel="history",
                    limit=entries_max,
                    up_to_entry_id=place.entry_id,
                    tail=True if cursor is None else None,
                    before_cursor=cursor,
                )
            except BadRequestError as error:
                if error.code != "invalid_cursor":
                    raise
                raise KeyError(head_id) from error
            for stored in await arun(self._client, self._files.whole(page.data)):
                entry = log.entry_in(stored)
                if entry is not None:
                    found[entry.id] = entry
                    self._places.put(entry.id, Place(place.line, stored.id))
            while wanted in found and (limit is None or len(history) < limit):
                history.append(found[wanted])
                wanted = found[wanted].parent_id
            if wanted is None or len(history) == limit:
                return history[::-1]
            cursor = page.before_cursor
            if cursor is None:
                raise KeyError(wanted)
            entries_max = PAGE_ENTRIES_MAX  # behind the head may be saves without messages

    async def _look_for(self, entry_id: str) -> Place:
        """Return where an entry is that no record of this process names.

        It reads conversation by conversation. No method of `ConversationStore` needs this: each of
        them reads a record first.
        """
        async for name in self._client.names(self._prefix):
            state = await self._read_state(name.name.removeprefix(self._prefix))
            for line in () if state is None else (state.line, *state.lines):
                async for stored in self._client.conversation(line).entries(
                    channel="history", page_entries=PAGE_ENTRIES_MAX
                ):
                    if log.id_in(stored) == entry_id:
                        return Place(line, stored.id)
        raise KeyError(entry_id)

    async def _place_of(self, entry_id: str | None, line: str) -> Place:
        """Return the place that a fork goes on from; without an entry the fork is blank.

        Raises KeyError if no conversation shows the entry.
        """
        if entry_id is None:
            return Place(line, None)
        known = self._places.get(entry_id)
        if known is None or known.entry_id is None:
            await self.read_history(entry_id, limit=1)
        return self._places.get(entry_id) or await self._look_for(entry_id)

    # States

    def _name(self, conversation_id: str) -> str:
        return checked_name("conversation_id", self._prefix, conversation_id)

    async def _read_state(self, conversation_id: str) -> log.State | None:
        """Return what the last record says; None if there is no such conversation.

        The state has no record if the conversation is being made or deleted.
        """
        cursor: str | None = None
        last: str | None = None
        while True:
            try:
                page = await self._client.api.list_entries_by_name(
                    name=self._name(conversation_id),
                    channel="history",
                    limit=1 if last is None else PAGE_ENTRIES_MAX,
                    tail=True if cursor is None else None,
                    before_cursor=cursor,
                )
            except NotFoundError:
                return None
            for stored in reversed(page.data):
                last = last or stored.id
                state = log.state_in(conversation_id, stored, last=last)
                if state is not None:
                    return self._noted(state)
            cursor = page.before_cursor
            if cursor is None:
                named = await self._named(self._name(conversation_id))
                if named is None:
                    return None
                return log.State(conversation_id, line=named.conversation_id, last=last, begun=True)

    def _noted(self, state: log.State) -> log.State:
        for tip, line in state.tips.items():
            self._places.put_line(tip, line)
        if state.head is not None:
            self._places.put_line(state.head, state.line if state.closed is None else state.closed.line)
        return state

    async def _record_of(self, name: Name) -> ConversationRecord | None:
        """Return the record of a listed name. The name's data hold it unless the name has moved."""
        if name.deleted:
            return None
        if log.is_of(name):
            return log.record_in(name.data)
        state = await self._read_state(name.name.removeprefix(self._prefix))
        return None if state is None else state.record

    # Writing

    async def _write(self, conversation_id: str, change: log.Change, expected: str | None) -> None:
        """Write a change behind the revision that the caller expects.

        Whoever was faster may have left that revision as it is. Then the change is decided anew.
        """
        state, self._known = self._known, None
        if state is None or state.conversation_id != conversation_id or state.revision != expected:
            state = None if expected is None else await self._read_state(conversation_id)
        for _ in range(ATTEMPTS_MAX):
            if (None if state is None else state.revision) != expected:
                break
            try:
                if state is None:
                    return await self._create(conversation_id, change)
                if state.record is not None:
                    return await self._go_on(state, change)
                await self._sweep(state)
            except ConflictError as error:
                if error.reason not in FASTER:
                    raise
            except NotFoundError as error:
                if misses_file(error):
                    raise
            except KeyError:  # what it goes on from is deleted
                break
            state = await self._read_state(conversation_id)
        raise ConversationConflict(conversation_id)

    async def _create(self, conversation_id: str, change: log.Change) -> None:
        """Make the name with its first line.

        The first entry of each line has the key `begin`. So to make what exists is a conflict.
        """
        try:
            place = await self._place_of(change.anchor, "")
        except KeyError:
            raise ConversationConflict(conversation_id) from None
        try:
            await self._append(log.State(conversation_id), change, origin=place)
        except NotFoundError as error:
            if misses_file(error):
                raise
            raise ConversationConflict(conversation_id) from None  # what it forks is deleted

    async def _go_on(self, state: log.State, change: log.Change) -> None:
        """Write behind a state, by an append or by a fork.

        A record whose head is not the end of its line closes the line: what is written next is a
        fork, which moves the name. An open line ends with the state, a closed one has the name: so
        a writer who is not first is refused.
        """
        at_end = change.anchor == state.head
        if state.closed is None and (at_end or not change.messages):
            ends = at_end or change.record is None
            closed = None if ends else await self._place_of(change.anchor, state.line)
            return await self._append(state, change, closed=closed)
        place = state.closed if at_end else None
        place = place or await self._place_of(change.anchor, state.line)
        line = str(uuid4())
        groups = log.groups(change, log.saying(state.moved(line), change.record), begins=True)
        if len(groups) > 1 or (state.closed is None and place.line != state.line):
            state = await self._close(state, change, place, line)
        return await self._fork(state, groups, place, line)

    async def _close(self, state: log.State, change: log.Change, place: Place, line: str) -> log.State:
        """Put the head where a change begins, and return the new state.

        line: where the change will be. A deletion finds it even if the change does not end.
        """
        assert change.record is not None
        record = replace(change.record, head_id=change.anchor, revision=str(uuid4()))
        state = replace(state, lines=(*state.lines, line))
        await self._append(state, log.Change(record, change.anchor), closed=place)
        after = await self._read_state(state.conversation_id)
        if after is None or after.revision != record.revision:
            raise ConversationConflict(state.conversation_id)
        return after

    async def _append(
        self,
        state: log.State,
        change: log.Change,
        *,
        closed: Place | None = None,
        origin: Place | None = None,
    ) -> None:
        """Append by the name, each request behind the one before it.

        closed: where the head is, if not at the end. origin: what a new conversation is a fork of.
        """
        after = state.last
        said = log.saying(state, change.record, closed)
        *first, rest = log.groups(change, said, begins=after is None)
        fields: dict[str, Any] = {"name": self._name(state.conversation_id), **_origin(origin)}
        for drafts in first:
            done = await self._client.api.append_entry_by_name(**fields, entries=drafts, if_match=after)
            after = _last(done)
        data = log.card(state, change.record)
        await self._client.api.append_entry_by_name(**fields, entries=rest, if_match=after, data=data)

    async def _fork(self, state: log.State, groups: list[list[log.Draft]], place: Place, line: str) -> None:
        """Write to a new line, which takes the name."""
        name = self._name(state.conversation_id)
        named = await self._client.api.look_up_name(name=name)
        if named.conversation_id != state.line:
            raise ConversationConflict(state.conversation_id)
        move = {"name": {"name": name, "expectRevision": named.revision}} if len(groups) == 1 else {}
        after = state.last if state.closed is None else None
        for drafts in groups:
            fields: dict[str, Any] = {**_origin(place), **move, "if_match": after}
            after = _last(await self._client.api.append_entry(line, entries=drafts, **fields))
        if not move:
            await self._client.api.set_name(name=name, conversation_id=line, expect_revision=named.revision)

    # Deleting

    async def _end_deletion(self, conversation_id: str) -> None:
        named = await self._named(self._name(conversation_id))
        if named is None:
            return
        state = None if named.deleted else await self._read_state(conversation_id)
        if state is None:
            await self._free(named)
        elif state.record is None:
            try:
                await self._sweep(state)
            except NotFoundError:
                return
            except ConflictError as error:
                if error.reason not in FASTER:
                    raise
                return  # it is being made, which began when there was no such conversation

    async def _sweep(self, state: log.State) -> None:
        """Delete what a deletion, or the making of a conversation, has left.

        Whoever makes a conversation may still be at it. So that is ended first: either this or what
        they write next is refused.
        """
        if state.begun:
            await self._append(state, log.Change(None, None))
        for line in (*state.lines, state.line):
            with suppress(NotFoundError):
                await self._client.api.delete_conversation(line, scope="branch")
        # Looked up last: meanwhile another process may have done all this, and made it anew.
        named = await self._named(self._name(state.conversation_id))
        if named is not None and named.conversation_id == state.line:
            await self._free(named)

    async def _free(self, named: Name) -> None:
        """Delete a name, unless it has moved."""
        with suppress(NotFoundError, ConflictError):
            await self._client.api.delete_name(name=named.name, expect_revision=named.revision)

    async def _named(self, name: str) -> Name | None:
        try:
            return await self._client.api.look_up_name(name=name)
        except NotFoundError:
            return None


def _origin(place: Place | None) -> dict[str, str]:
    """Return the fields of an append that make its conversation a fork; blank without an entry."""
    if place is None or not place.line:
        return {}
    if place.entry_id is None:
        return {"forked_at_conversation_id": place.line}
    return {
        "forked_at_conversation_id": place.line,
        "forked_at_entry_id": place.entry_id,
        "forked_at_position": "after",
    }


def _last(done: Appended) -> str:
    return done.data[-1].id if isinstance(done, Entries) else done.id
