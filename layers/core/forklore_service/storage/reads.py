"""Reads by range: one method for each range that use cases read, with values of the domain.

Every method yields in the order of the keys. It sends the next request only when the caller needs
more.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

from forklore_service.domain import keys
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.attachments import Reference
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import Key, ListKey, SortRange
from forklore_service.domain.links import ReaderLink
from forklore_service.domain.model import Channel, Conversation, EntryLayout, StoredEntry, Transfer
from forklore_service.domain.names import Name, NameOwner, NameRef
from forklore_service.domain.notes import Note, NoteRef
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ChildRow, ClientContext, ForkRecord, HeadRow, Job, Member, TreeRow
from forklore_service.domain.vectors import Vector
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.found import Found


class Source(Protocol):
    """A table: its `query` yields the items of a range."""

    def query(
        self,
        of: SortRange,
        *,
        backward: bool = False,
        limit: int | None = None,
        page: int | None = None,
        only: tuple[str, ...] | None = None,
        kept: bool = False,
    ) -> Iterator[Item]: ...


class Malformed(NamedTuple):
    """What is yielded for an item that cannot be decoded."""

    error: Exception


class Reads:
    """The ranges of a table.

    limit: how many to yield at most. page: how many the first request reads, as `Table.query` says.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def conversations(
        self,
        group_id: str,
        *,
        after: ListKey | None = None,
        before: ListKey | None = None,
        newest_first: bool = False,
        limit: int | None = None,
        page: int | None = None,
    ) -> Iterator[ListKey]:
        """Yield the places of a tree's conversations between two places, without these two."""
        of = keys.tree_rows_range(group_id, after=after, before=before)
        return self._places(of, backward=newest_first, limit=limit, page=page)

    def fork_records(
        self,
        group_id: str,
        owner: str,
        *,
        first: EntryId = FIRST,
        last: EntryId = LAST,
        newest_first: bool = False,
        limit: int | None = None,
        page: int | None = None,
        kept: bool = False,
    ) -> Iterator[ForkRecord]:
        """Yield the forks that leave a conversation at a stop between two, both included.

        They come by their stops, and those of one stop by their age. Removed forks are among them
        as long as others show their entries. kept: those in the trash come twice.
        """
        of = keys.fork_records_range(group_id, owner, first=first, last=last)
        rows = self._source.query(of, backward=newest_first, limit=limit, page=page, kept=kept)
        return map(items.fork_record, rows)

    def remnant_ids(self, group_id: str) -> Iterator[str]:
        """Yield the removed branches of a tree of which something stays."""
        rows = self._source.query(keys.remnants_range(group_id), only=())
        return (keys.in_remnant(_sort(row)) or "" for row in rows)

    def remnants(self, group_id: str) -> Iterator[Remnant]:
        """Yield what stays of the removed branches of a tree."""
        return map(items.remnant, self._source.query(keys.remnants_range(group_id)))

    def children(
        self, group_id: str, conversation_id: str, *, after: ListKey | None, page: int
    ) -> Iterator[ChildRow]:
        """Yield the rows of the trees that a conversation has started, oldest first."""
        of = keys.children_range(group_id, conversation_id, after=after)
        return map(items.child_row, self._source.query(of, page=page))

    def user_trees(
        self,
        user_id: str,
        *,
        is_child: bool,
        after: ListKey | None = None,
        before: ListKey | None = None,
        through: ListKey | None = None,
        by_use: bool = False,
        newest_first: bool = True,
        limit: int | None = None,
        page: int | None = None,
    ) -> Iterator[TreeRow]:
        """Yield the rows of a user's list of trees.

        after: only the trees after this place. before: only those before this one. through: this
        place too, and those before it. by_use: those that were moved, by their place in the list by
        use.
        """
        of = keys.user_trees_range(
            user_id, is_child=is_child, after=after, before=before, through=through, by_use=by_use
        )
        rows = self._source.query(of, backward=newest_first, limit=limit, page=page)
        return map(items.tree_row, rows)

    def _places(
        self, of: SortRange, *, backward: bool = False, limit: int | None = None, page: int | None = None
    ) -> Iterator[ListKey]:
        rows = self._source.query(of, backward=backward, limit=limit, page=page, only=())
        return (keys.list_key(_sort(row)) for row in rows)

    def small_tree(self, group_id: str, *, limit: int) -> Found | None:
        """Return every CONV and HEAD of a tree, from one Query.

        limit: how many items may be read. None: there are more.
        """
        rows = list(self._source.query(keys.conversations_and_heads_range(group_id), limit=limit + 1))
        return _found(rows) if len(rows) <= limit else None

    def heads(self, group_id: str) -> Found:
        """Return every HEAD of a tree."""
        return _found(self._source.query(keys.heads_range(group_id)))

    def whole_conversations(self, group_id: str) -> Iterator[Conversation]:
        """Yield the conversations of a tree, with what is written seldom."""
        return map(items.conversation, self._source.query(keys.conversations_range(group_id)))

    def unsigned_words(self, group_id: str) -> Iterator[tuple[Key, str]]:
        """Yield each title of a tree, in a CONV, and preview, in a HEAD, that has no author.

        Those of branches in the trash are among them.
        """
        rows = self._source.query(
            keys.conversations_and_heads_range(group_id),
            only=("title", "titledBy", "preview", "previewBy"),
            kept=True,
        )
        for row in rows:
            for told, by in (("title", "titledBy"), ("preview", "previewBy")):
                if told in row and by not in row:
                    yield items.key(row), row[told]["S"]

    def head_rows(self, group_id: str) -> Iterator[HeadRow]:
        """Yield what HEAD names of each conversation of a tree."""
        return map(items.head_row, self._source.query(keys.heads_range(group_id), only=items.HEAD_ROW))

    def last_entries(self, group_id: str) -> Iterator[tuple[str, EntryId]]:
        """Yield each conversation of a tree with the last own entry that its HEAD names."""
        rows = self._source.query(keys.heads_range(group_id), only=items.LAST)
        return ((keys.in_head(_sort(row)), items.last(row)) for row in rows)

    def members(self, group_id: str) -> Iterator[Member]:
        return map(items.member, self._source.query(keys.members_range(group_id)))

    def member_ids(self, group_id: str) -> Iterator[str]:
        """Yield the users who are members of a tree."""
        rows = self._source.query(keys.members_range(group_id), only=("userId",))
        return map(items.user_id, rows)

    def links(self, group_id: str, *, now_s: int) -> Iterator[ReaderLink]:
        """Yield the links of a tree for readers that have not ended."""
        rows = self._source.query(keys.links_range(group_id))
        return (link for row in rows if (link := items.link(row, now_s=now_s)) is not None)

    def notes(
        self,
        group_id: str,
        conversation_id: str,
        *,
        first: EntryId = FIRST,
        last: EntryId = LAST,
        after: NoteRef | None = None,
        limit: int | None = None,
    ) -> Iterator[Note]:
        """Yield the notes on a conversation's own entries between two positions, after a note."""
        of = keys.notes_range(group_id, conversation_id, first=first, last=last, after=after)
        return map(items.note, self._source.query(of, limit=limit))

    def all_notes(self, group_id: str, *, after: NoteRef | None, page: int) -> Iterator[Note]:
        """Yield the notes of a tree, conversation by conversation, after a note."""
        return map(items.note, self._source.query(keys.all_notes_range(group_id, after=after), page=page))

    def note_keys(self, group_id: str, conversation_id: str, *, first: EntryId) -> Iterator[Key]:
        """Yield the keys of the notes on a conversation's own entries from a position on."""
        of = keys.notes_range(group_id, conversation_id, first=first, last=LAST)
        return map(items.key, self._source.query(of, only=()))

    def contexts(self, group_id: str, client_id: str) -> Iterator[tuple[str, ClientContext]]:
        """Yield the conversations of a tree that have context of a client, with what they say."""
        for row in self._source.query(keys.contexts_range(group_id)):
            conversation_id, of = keys.in_context(_sort(row))
            if of == client_id:
                yield conversation_id, items.context(row)

    def known_contexts(self, group_id: str) -> Iterator[Key]:
        """Yield the keys of a tree's CTX items that have a digest."""
        rows = self._source.query(keys.contexts_range(group_id), only=("digest",))
        return (items.key(row) for row in rows if "digest" in row)

    def all_contexts(self, group_id: str) -> Iterator[tuple[str, str, ClientContext]]:
        """Yield each conversation and client of a tree that have context, with what they say."""
        for row in self._source.query(keys.contexts_range(group_id)):
            yield *keys.in_context(_sort(row)), items.context(row)

    def context_keys(self, group_id: str, conversation_id: str) -> Iterator[Key]:
        """Yield the keys of the CTX items of a conversation."""
        return map(items.key, self._source.query(keys.contexts_of_range(group_id, conversation_id), only=()))

    def transfers(self, user_id: str, *, after: ListKey | None, page: int) -> Iterator[Transfer]:
        """Yield the pending transfers that a user sent or may accept, oldest first."""
        return map(items.transfer, self._source.query(keys.transfers_range(user_id, after=after), page=page))

    def names(
        self, owner: NameOwner, *, prefix: str = "", after: str | None = None, limit: int | None = None
    ) -> Iterator[Name]:
        """Yield the names of an owner that begin with `prefix`, in their order, after a name."""
        of = keys.names_range(owner, prefix=prefix, after=after)
        return map(items.name, self._source.query(of, limit=limit))

    def all_names(
        self, user_id: str, *, after: NameRef | None = None, limit: int | None = None
    ) -> Iterator[Name]:
        """Yield the names of a user, client by client, after a name."""
        return map(items.name, self._source.query(keys.all_names_range(user_id, after=after), limit=limit))

    def keys_of_user(self, user_id: str) -> Iterator[Key]:
        """Yield the keys of all items in a user's own partition."""
        return map(items.key, self._source.query(keys.user_range(user_id), only=()))

    def erased_trees(self, erasure_id: str) -> Iterator[Key]:
        """Yield the keys of the items that name the trees which an erasure has changed."""
        return map(items.key, self._source.query(keys.erased_trees_range(erasure_id), only=()))

    def jobs(self, kind: str, *, before: str | None = None) -> Iterator[Job | Malformed]:
        """Yield the jobs of a kind. One that cannot be decoded does not hide those after it.

        before: only those that are due before that.
        """
        of = keys.jobs_range(kind, before=before)
        rows = self._source.query(of, page=1_000, only=("createdAt", "leasedUntil"))
        for row in rows:
            try:
                yield items.job(row)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                yield Malformed(error)

    def entries(self, group_id: str) -> Iterator[StoredEntry]:
        """Yield each entry of a tree, without the content that lies in chunks."""
        return map(items.stored_entry, self._source.query(keys.entries_range(group_id)))

    def entry_layouts(self, group_id: str) -> Iterator[EntryLayout]:
        """Yield what there is beside each entry of a tree."""
        return map(items.entry_layout, self._source.query(keys.entries_range(group_id), only=items.LAYOUT))

    def own_entries(self, group_id: str, conversation_id: str, *, first: EntryId) -> Iterator[EntryLayout]:
        """Yield the own entries of a conversation from a position on, as `entry_layouts` does.

        Each channel is in order.
        """
        for channel in Channel:
            of = keys.own_entries_range(group_id, conversation_id, channel, first=first)
            yield from map(items.entry_layout, self._source.query(of, only=items.LAYOUT))

    def history_ids(
        self, group_id: str, conversation_id: str, *, first: EntryId, last: EntryId
    ) -> Iterator[EntryId]:
        """Yield the own history entries of a conversation between two positions, both included."""
        of = keys.own_entries_range(group_id, conversation_id, Channel.HISTORY, first=first, last=last)
        return (keys.entry_id_of(_sort(row)) for row in self._source.query(of, only=()))

    def vectors(
        self,
        group_id: str,
        conversation_id: str,
        *,
        first: EntryId,
        last: EntryId,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[Vector]:
        """Yield the vectors of a conversation's own entries between two positions."""
        of = keys.vectors_range(group_id, conversation_id, first=first, last=last)
        rows = self._source.query(of, only=items.VECTOR_FIELDS, backward=newest_first, limit=limit)
        return map(items.vector, rows)

    def vector_keys(self, group_id: str, conversation_id: str, *, first: EntryId) -> Iterator[Key]:
        """Yield the keys of the VEC items of a conversation's own entries from a position on."""
        of = keys.vectors_range(group_id, conversation_id, first=first, last=LAST)
        return map(items.key, self._source.query(of, only=()))

    def references(
        self, attachment_id: str, *, group_id: str | None = None, after: str | None = None, limit: int
    ) -> Iterator[Reference]:
        """Yield the entries that name an attachment, tree by tree, at most `limit`.

        group_id: only those of this tree. after: only those of the trees after this one.
        """
        of = keys.references_range(attachment_id, group_id)
        if after is not None:
            of = keys.references_after(attachment_id, after)
        return (keys.in_reference(items.key(row)) for row in self._source.query(of, limit=limit, only=()))

    def user_files(
        self, user_id: str, *, after: str | None = None, limit: int | None = None
    ) -> Iterator[tuple[Key, str]]:
        """Yield the keys of the items that name a user's attachments, with these.

        after: only those after this sort key.
        """
        of = keys.user_files_range(user_id, after=after)
        return ((items.key(row), items.user_file(row)) for row in self._source.query(of, limit=limit))

    def user_file_sizes(self, user_id: str) -> Iterator[tuple[Key, int]]:
        """Yield the keys of the items that name a user's attachments, with the bytes of these."""
        rows = self._source.query(keys.user_files_range(user_id), only=("size",))
        return ((items.key(row), items.user_file_size(row)) for row in rows)

    def entry_keys(self, group_id: str, conversation_id: str) -> Iterator[tuple[Key, EntryId]]:
        """Yield the key of each KEY item of a conversation, with the entry that it names."""
        rows = self._source.query(keys.entry_keys_range(group_id, conversation_id))
        return ((items.key(row), items.keyed_entry(row)) for row in rows)

    def parts(
        self, group_id: str, answer_id: str, *, first: int = 0, now_s: int, latest: int | None = None
    ) -> Iterator[Part]:
        """Yield the parts of an answer's log from a position on.

        latest: yield only so many of the latest, backward. Nothing is yielded of a log that has
        expired; it may still stand behind a later log of the same id. A later part may be shown,
        and one before it not yet.
        """
        of = keys.parts_range(group_id, answer_id, first=first)
        rows = self._source.query(of, backward=latest is not None, page=latest)
        parts = (part for row in rows if (part := items.part(row, now_s=now_s)) is not None)
        return islice(parts, latest)

    def part_keys(self, group_id: str, answer_id: str) -> Iterator[Key]:
        """Yield the keys of the parts of an answer's log, also of one that has expired."""
        return map(items.key, self._source.query(keys.parts_range(group_id, answer_id), only=()))

    def child_keys(self, group_id: str, conversation_id: str) -> Iterator[Key]:
        """Yield the keys of the CHILD items of one conversation."""
        return map(items.key, self._source.query(keys.children_range(group_id, conversation_id), only=()))

    def all_child_keys(self, group_id: str) -> Iterator[Key]:
        """Yield the keys of the CHILD items of all conversations of a tree."""
        return map(items.key, self._source.query(keys.all_children_range(group_id), only=()))

    def others(self, group_id: str) -> Iterator[tuple[Key, str | None]]:
        """Yield the key of each item of a tree but entries, with an answer that it names."""
        rows = self._source.query(keys.others_range(group_id), only=("answer",), kept=True)
        return ((items.key(row), items.answer_id(row)) for row in rows)


def _found(rows: Iterable[Item]) -> Found:
    return Found({items.key(row): row for row in rows})


def _sort(row: Item) -> str:
    sort_key: str = row["SK"]["S"]
    return sort_key
