"""Search: look through the history of all trees of which the caller is a member, or of one
conversation.

There is no index of words. Each request reads a bounded number of bytes, tree by tree, the newest
tree first and in each tree the newest entry first. It then goes on where the one before stopped.
"""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ancestry, content, jsontext, keys, matching
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, Channel, Conversation, Entry, StoredEntry
from forklore_service.limits import PAGE_BYTES_MAX, escaped_size
from forklore_service.storage.bodies import CHUNK_BYTES
from forklore_service.storage.found import Found
from forklore_service.storage.table import QUERY_BYTES_MAX, Table
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.loading import LoadedConversation, load_conversation
from forklore_service.usecases.shared.visibility import Showing

READ_BYTES_MAX = 8_000_000
"""A request that has read so many bytes begins no further read.

The last read can be a Query of up to QUERY_BYTES_MAX, or one large body of up to 2.8 MB.
"""
CONTENT_BYTES_MAX = 40_000_000
"""A request that has looked through so much content stops. Stored content is compressed."""
SPARE_SECONDS = 5.0
"""A request that has less time left looks at no further entry, so that it can still answer."""
UNIT_BYTES = 4096
"""Each read counts as a multiple of this, as DynamoDB counts it."""
ROWS_AT_ONCE = 100
"""Rows of a user's list read in one request."""
ROW_BYTES = 13_000
"""At most so many bytes of an answer hold a hit's ids, title, agent and line."""


class SearchPlace(NamedTuple):
    """What was looked through: all trees before `tree`, and of it all down to `entry_id`.

    entry_id: None for the whole tree.
    """

    tree: ListKey
    entry_id: EntryId | None = None


class SearchRequest(NamedTuple):
    """What to look for.

    words: in folded case; all must occur. with_entries: whether the hits need their content.
    of_user: for a caller who bypasses membership, the user whose trees are searched. None: all.
    conversation_id: what to look through alone, with what it has inherited. None: all trees.
    """

    words: tuple[str, ...]
    limit: int = 20
    after: SearchPlace | InvalidCursor | None = None
    with_entries: bool = True
    of_user: str | None = None
    conversation_id: str | None = None


class Hit(NamedTuple):
    """An entry that has all words.

    conversation: the one that was looked through; else the one that owns the entry, or if that was
    removed, one that shows it. entry: without its content if that was not asked for.
    highlights: text around the words.
    """

    conversation: Conversation
    entry: Entry
    line: content.Line
    highlights: list[str]


def search(table: Table, *, caller: Caller, request: SearchRequest) -> PageOf[Hit, SearchPlace]:
    """Return the next entries that have all words, in the trees of which the caller is a member.

    A caller who bypasses membership searches the trees of `of_user`, or all trees.
    Raises InvalidCursorError; NotFoundError or ForbiddenError for the conversation to look through.
    """
    assert caller.bypasses_membership or request.of_user is None, "another's trees"
    inside = None
    if request.conversation_id is not None:
        inside = load_conversation(table, request.conversation_id, caller=caller)
    after = cursors.valid(request.after)
    user_id = request.of_user if caller.bypasses_membership else caller.user_id
    looking = _Looking(table, user_id, request, after, after, inside)
    rows = _rows(table, user_id, after) if inside is None else _row_of(inside, after)
    ahead: deque[_Part] = deque()
    at_once = 1
    while not looking.is_over:
        if not ahead:
            trees = list(islice(rows, looking.room(at_once)))
            ahead.extend(looking.read([_start(tree, after) for tree in trees]))
            at_once *= 2
        if not ahead:
            return PageOf(looking.hits, None)
        part = ahead.popleft()
        looking.look_through(part)
        if part.reached is not None and looking.place == SearchPlace(part.tree, part.reached):
            at_once = 1  # trees like this one would be read in vain
            if not looking.is_over:
                ahead.extendleft(looking.read([(part.tree, part.reached)]))
    return PageOf(looking.hits, looking.place)


def _rows(table: Table, user_id: str | None, after: SearchPlace | None) -> Iterator[ListKey]:
    """Yield the places of the trees to look through, newest first. user_id: None for all trees."""
    before = after.tree if after is not None and after.entry_id is None else None
    through = after.tree if after is not None and after.entry_id is not None else None
    if user_id is None:
        rows = tree_rows.of_all(table, before=before, through=through, page=ROWS_AT_ONCE)
    else:
        rows = tree_rows.of_user(table, user_id, before=before, through=through, page=ROWS_AT_ONCE)
    return (row.place for row in rows)


def _row_of(inside: LoadedConversation, after: SearchPlace | None) -> Iterator[ListKey]:
    """Yield the place of a conversation's tree, unless it was looked through."""
    if after is None or after.entry_id is not None:
        yield ListKey(inside.group.created_at, inside.group.group_id)


def _start(tree: ListKey, after: SearchPlace | None) -> tuple[ListKey, EntryId]:
    """Return the tree with the position before which it is to be read."""
    is_begun = after is not None and after.tree == tree and after.entry_id is not None
    return tree, after.entry_id if is_begun and after and after.entry_id else LAST


class _Part(NamedTuple):
    """Entries of a tree, newest first. reached: how far it was read; None: to its first entry."""

    tree: ListKey
    entries: Sequence[StoredEntry]
    reached: EntryId | None


class _Match(NamedTuple):
    """An entry that has all words.

    answer_bytes: about how many bytes of an answer it takes. before: what was looked through before
    it.
    """

    entry: Entry
    line: content.Line
    highlights: list[str]
    answer_bytes: int
    before: SearchPlace | None


class _Finding(NamedTuple):
    """What a part of a tree holds. place: what was looked through.

    is_cut: whether the request must stop here.
    """

    matches: list[_Match]
    place: SearchPlace | None
    is_cut: bool = False


@dataclass(slots=True)
class _Looking:
    """A search under way. start, place: what was looked through at first, and so far.

    user_id: whose trees; None for all. inside: the conversation that alone is looked through.
    answer_bytes: about the size of the answer so far.
    is_over: whether the request has done all that it may do.
    """

    table: Table
    user_id: str | None
    request: SearchRequest
    start: SearchPlace | None
    place: SearchPlace | None
    inside: LoadedConversation | None
    hits: list[Hit] = field(default_factory=list)
    read_bytes: int = 0
    content_bytes: int = 0
    answer_bytes: int = 0
    is_over: bool = False
    _showing: dict[str, Showing] = field(default_factory=dict)
    _stops: dict[str, EntryId] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.inside is not None:
            self._stops = ancestry.bounds_of(self.inside.view)

    def _is_wanted(self, entry: Entry) -> bool:
        """Return whether the entry is a part of what is looked through."""
        is_inside = self.inside is None or entry.entry_id < self._stops.get(entry.conversation_id, FIRST)
        return is_inside and entry.channel is Channel.HISTORY

    def room(self, at_once: int) -> int:
        """Return how many trees to read side by side: as many as Queries surely fit in."""
        return max(1, min(at_once, (READ_BYTES_MAX - self.read_bytes) // QUERY_BYTES_MAX))

    def read(self, starts: Sequence[tuple[ListKey, EntryId]]) -> list[_Part]:
        """Return a part of each tree, from a position backward. The reads run side by side."""
        answers = self.table.side_by_side(
            lambda start: self.table.newest_entries(start[0].conversation_id, before=start[1]), starts
        )
        parts = []
        for (tree, _), newest in zip(starts, answers, strict=True):
            self._count(newest.read_bytes)
            parts.append(_Part(tree, newest.entries, newest.reached))
        return parts

    def _count(self, read_bytes: int) -> None:
        self.read_bytes += max(1, -(-read_bytes // UNIT_BYTES)) * UNIT_BYTES

    def look_through(self, part: _Part) -> None:
        """Add the hits of a part, and move the place behind it, or to where the request must stop.

        Nothing of a tree is shown, not even a position in it, unless the user may read it now.
        """
        group_id, finding = part.tree.conversation_id, self._find(part)
        place, is_cut = finding.place, finding.is_cut
        if finding.matches or (place is not None and place.entry_id is not None):
            found = self._read_tree(group_id, finding.matches)
            if not self._may_read(found, group_id):
                place, is_cut = SearchPlace(part.tree), False
            elif (left := self._take(group_id, finding.matches, found)) is not None:
                place, is_cut = left.before, True
        self.place = place
        self.is_over = is_cut or self.read_bytes >= READ_BYTES_MAX or not self._has_time(place)

    def _find(self, part: _Part) -> _Finding:
        """Return the entries of a part that have all words, as many as the answer has room for."""
        matches: list[_Match] = []
        place, answer_bytes = self.place, self.answer_bytes
        for stored in part.entries:
            if self._is_wanted(stored.entry):
                if not self._may_look_at(stored, place):
                    return _Finding(matches, place, is_cut=True)
                match = self._match(part.tree.conversation_id, stored, place)
                if match is not None:
                    answer_bytes += match.answer_bytes
                    if answer_bytes > PAGE_BYTES_MAX and (self.hits or matches):
                        return _Finding(matches, place, is_cut=True)
                    matches.append(match)
            place = SearchPlace(part.tree, stored.entry_id)
            if len(self.hits) + len(matches) == self.request.limit:
                return _Finding(matches, place, is_cut=True)
        return _Finding(matches, SearchPlace(part.tree, part.reached))

    def _may_look_at(self, stored: StoredEntry, place: SearchPlace | None) -> bool:
        """Return whether the request may still read and unpack the entry's body.

        place: what was looked through before it.
        """
        may_read = not stored.chunks or self.read_bytes < READ_BYTES_MAX
        return may_read and self.content_bytes < CONTENT_BYTES_MAX and self._has_time(place)

    def _has_time(self, place: SearchPlace | None) -> bool:
        """Return whether there is time for more. Each request gets on, however late it is."""
        return place == self.start or self.table.has_time(SPARE_SECONDS)

    def _match(self, group_id: str, stored: StoredEntry, before: SearchPlace | None) -> _Match | None:
        """Return the entry if it has all words. One whose body cannot be read yet has none.

        before: what was looked through before it.
        """
        self.content_bytes += stored.escaped_bytes
        if stored.chunks:
            self._count(stored.chunks * CHUNK_BYTES)
        body = self.table.content_of(group_id, stored)
        if body is None:
            return None
        entry, files = stored.entry, [file.name for file in stored.entry.attachments]
        beside = [matching.fold(text or "") for text in (entry.indexed_content, entry.agent_id)]
        around = [*map(matching.fold, files), *beside, content.FAILED]
        if not matching.may_have_all(self.request.words, body, around):
            return None
        value = jsontext.read_value(body)
        texts, line = [*content.searched_texts(value), *files], content.line_of(value)
        folded = [*map(matching.fold, texts), *beside, *([content.FAILED] if line.has_failed else [])]
        if not matching.has_all(self.request.words, folded):
            return None
        highlights = matching.highlights(self.request.words, texts, folded)
        shown = entry._replace(content="")
        if self.request.with_entries:
            shown = shown._replace(content=body)
        size = ROW_BYTES + escaped_size(json.dumps(highlights, ensure_ascii=False))
        size += stored.escaped_bytes if shown.content else 0
        return _Match(shown, line, highlights, size, before)

    def _read_tree(self, group_id: str, matches: Sequence[_Match]) -> Found:
        """Return the GROUP, the user's MEM, and the CONV of each owner that is not removed."""
        owners = {match.entry.conversation_id for match in matches if self.inside is None}
        wanted = [keys.group(group_id), *(keys.conversation(group_id, owner) for owner in owners)]
        of_user = [] if self.user_id is None else [keys.member(group_id, self.user_id)]
        return self.table.get([*wanted, *of_user])

    def _take(self, group_id: str, matches: Sequence[_Match], found: Found) -> _Match | None:
        """Add the matches to the hits, without those that no live conversation shows any more.

        Return the first one that is left to the next request, because this one may not read any
        more. The first entry of a request is never left, so each request gets on.
        """
        showing = self._showing.setdefault(group_id, Showing(self.table, group_id))
        for match in matches:
            if self.inside is not None:
                self._add(match, self.inside.conversation)
                continue
            owner, reads = match.entry.conversation_id, showing.reads
            needs_reads = found.conversation(group_id, owner) is None and not showing.knows(owner)
            if needs_reads and self.read_bytes >= READ_BYTES_MAX and match.before != self.start:
                return match
            conversation = showing.conversation_of(match.entry, found)
            self.read_bytes += (showing.reads - reads) * UNIT_BYTES
            if conversation is not None:
                self._add(match, conversation)
        return None

    def _add(self, match: _Match, conversation: Conversation) -> None:
        entry = match.entry
        if self.request.with_entries:
            entry = entry._replace(attachments=self.table.linked(entry.attachments))
        self.hits.append(Hit(conversation, entry, match.line, match.highlights))
        self.answer_bytes += match.answer_bytes

    def _may_read(self, found: Found, group_id: str) -> bool:
        group = found.group(group_id)
        if group is None or not group.is_live:
            return False
        return self.user_id is None or found.member(group_id, self.user_id) is not None
