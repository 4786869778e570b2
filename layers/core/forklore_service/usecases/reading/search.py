"""Search: look through the history of all trees of which the caller is a member, or of one
conversation.

There is no index of words. Each request reads a bounded number of bytes, tree by tree, the newest
tree first and in each tree the newest entry first. What it has read it ranks. Further pages read
the same again, then what comes after it.

By meaning, one conversation is searched by the vectors of what it shows, and all trees by the index
of vectors, where there is one. Only the nearest entries are read and ranked, then those that come
after these.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from forklore_service.domain import ancestry, content, ids, keys, matching, meaning
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import Caller, Channel, Conversation, Entry, StoredEntry
from forklore_service.domain.vectors import Near
from forklore_service.errors import ForbiddenError, NotFoundError
from forklore_service.limits import PAGE_BYTES_MAX, escaped_size
from forklore_service.storage import bodies
from forklore_service.storage.bodies import CHUNK_BYTES
from forklore_service.storage.found import Found
from forklore_service.storage.table import QUERY_BYTES_MAX, Table
from forklore_service.usecases.reading.exchanges import exchanges_around
from forklore_service.usecases.shared import cursors, tree_rows
from forklore_service.usecases.shared.cursors import InvalidCursor
from forklore_service.usecases.shared.drafts import answer_bytes
from forklore_service.usecases.shared.loading import LoadedConversation, load_conversation
from forklore_service.usecases.shared.over_all import Placed, nearest_of_user
from forklore_service.usecases.shared.searched import file_names, folded_of, searched, unseen
from forklore_service.usecases.shared.vectors import PACKED_BYTES, nearest
from forklore_service.usecases.shared.visibility import Showing

READ_BYTES_MAX = 8_000_000
"""A request that has read so many bytes begins no further read.

The last read can be a Query of up to QUERY_BYTES_MAX, or one large body of up to 2.8 MB.
"""
CONTENT_BYTES_MAX = 40_000_000
"""A request that has looked through so much content stops. Stored content is compressed."""
SPARE_SECONDS = 5.0
"""A request that has less time left looks at no further entry, so that it can still answer."""
NEAREST_MAX = 50
"""So many entries of a conversation are ranked together, the nearest ones first."""
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


class Ranking(NamedTuple):
    """Entries that were ranked against each other, and how many of them were shown.

    before: the entries come before this position. end: they were read down to this place; None: to
    the last tree. weights, scale: those of the first page, so that no score changes while pages are
    read. score, last: of the last hit that was shown, if any was.
    further: they are the nearest ones of those that are further than this one; None: of all, or
    they were read without vectors. through: they are all that are as near as this one, so that what
    is erased between two pages makes room for no other; None: there are no others.
    """

    before: EntryId
    end: SearchPlace | None
    weights: matching.Weights
    scale: meaning.Scale
    score: float
    last: SearchPlace | None
    further: Near | None = None
    through: Near | None = None


class SearchCursor(NamedTuple):
    """Where a search goes on.

    place: what was looked through, and needs no further look; None: nothing. ranking: what follows
    the place was looked through, too, but not all of it was shown.
    """

    place: SearchPlace | None
    ranking: Ranking | None = None


class SearchRequest(NamedTuple):
    """What to look for.

    question: what hits should be near to in meaning; None: only words rank. It needs words in the
    query. by_words: whether words rank, too. with_entries: whether the hits need their content.
    of_user: for a caller who bypasses membership, the user whose trees are searched. None: all.
    conversation_id: what to look through alone, with what it has inherited. None: all trees.
    around: how many exchanges on each side of a hit are wanted, with its own; None: none at all.
    score_min: hits of a ranking have this score or a better one; None: any.
    """

    query: matching.Query
    question: str | None = None
    by_words: bool = True
    limit: int = 20
    after: SearchCursor | InvalidCursor | None = None
    with_entries: bool = True
    of_user: str | None = None
    conversation_id: str | None = None
    around: int | None = None
    score_min: float | None = None


class Hit(NamedTuple):
    """An entry that fits the query.

    conversation: the one that was looked through; else the one that owns the entry, or if that was
    removed, one that shows it. entry: without its content if that was not asked for.
    highlights: text around the words. score: 0 if the query ranks nothing. around: whole
    exchanges, with that of the entry, oldest first; empty if they are too long, or the answer is.
    """

    conversation: Conversation
    entry: Entry
    line: content.Line
    highlights: list[str]
    score: float
    around: Sequence[Entry] = ()


class HitPage(NamedTuple):
    """A page of hits. resume: None: nothing follows.

    is_complete: whether all that the caller may see was ranked together.
    """

    rows: list[Hit]
    resume: SearchCursor | None
    is_complete: bool = True


def search(table: Table, *, caller: Caller, request: SearchRequest) -> HitPage:
    """Return the next entries that fit, in the trees of which the caller is a member.

    A query that ranks takes all that a request may read, and shows the best of it first. Each
    further page reads the same again, until all of it is shown. A query that only demands shows
    what it finds where it finds it, and ends its page with its limit.
    A caller who bypasses membership searches the trees of `of_user`, or all trees.
    Raises InvalidCursorError; NotFoundError or ForbiddenError for the conversation to look through.
    """
    assert caller.bypasses_membership or request.of_user is None, "another's trees"
    user_id = request.of_user if caller.bypasses_membership else caller.user_id
    if request.question is not None and not request.query.demanded:
        if request.conversation_id is not None:
            return _recall(table, request.conversation_id, caller, request, request.question)
        packed = _vector_of(table, request.question) if user_id is not None else None
        if user_id is not None and packed is not None:
            return _recall_all(table, user_id, packed, caller, request)
    inside = None
    if request.conversation_id is not None:
        inside = load_conversation(table, request.conversation_id, caller=caller)
    after = cursors.valid(request.after) or SearchCursor(None)
    looking = _Looking(table, user_id, request, after.place, after.ranking, inside)
    rows = _rows(table, user_id, after.place) if inside is None else _row_of(inside, after.place)
    looking.read_all(rows if after.ranking is None else _rows_of(after.ranking, rows))
    place = looking.place if looking.is_over else None
    if not request.query.words:
        return HitPage(looking.shown(caller), place and SearchCursor(place), after.place is place is None)
    resume = looking.rank(after.ranking, end=place)
    is_complete = after.place is None and (after.ranking.end if after.ranking else place) is None
    return HitPage(looking.shown(caller), resume, is_complete)


def _recall(
    table: Table, conversation_id: str, caller: Caller, request: SearchRequest, question: str
) -> HitPage:
    """Return the next entries of a conversation that are near to a question.

    The nearest ones are ranked together, also by words, then the nearest ones of the rest, and so
    on. Raises as `search` does.
    """
    assert table.nearness is not None, "a question needs a model"
    after = cursors.valid(request.after) or SearchCursor(None)
    inside, near = nearest(table, table.nearness, conversation_id, caller=caller, question=question)
    user_id = None if caller.bypasses_membership else caller.user_id
    looking = _Looking(table, user_id, request, None, after.ranking, inside)
    count = NEAREST_MAX
    if after.ranking is None:
        looking.newest = max((entry_id for _, entry_id in near), default=FIRST)
    else:
        before, further, through = after.ranking.before, after.ranking.further, after.ranking.through
        near = [one for one in near if one[1] < before and (further is None or one < further)]
        count = NEAREST_MAX if through is None else sum(one >= through for one in near)
    tree = ListKey(inside.group.created_at, inside.group.group_id)
    return _ranked_near(looking, [Placed(tree, one) for one in near[: count + 1]], after, caller)


def _vector_of(table: Table, question: str) -> bytes | None:
    """Return the vector of a question, if the table has an index of such vectors.

    Raises UnavailableError if the model does not answer.
    """
    if not table.by_meaning or table.nearness is None:
        return None
    packed = table.nearness.asked(question)
    return packed if len(packed) == PACKED_BYTES else None


def _recall_all(table: Table, user_id: str, packed: bytes, caller: Caller, request: SearchRequest) -> HitPage:
    """Return the next entries of a user's trees that are near to a question, as `_recall` does."""
    assert table.nearness is not None, "a question needs a model"
    after = cursors.valid(request.after) or SearchCursor(None)
    before, further = LAST, None
    if after.ranking is not None:
        before, further = after.ranking.before, after.ranking.further
    found = nearest_of_user(
        table, table.nearness, user_id, packed, before=before, further=further, count=NEAREST_MAX + 1
    )
    looking = _Looking(table, user_id, request, None, after.ranking, None)
    # A later page may find what is newer than all of this one, and was there before it.
    now = ids.fresh_id(table.now_ms() + 1, 0)
    looking.newest = max([now, *(one.near[1] for one in found.hits)])
    page = _ranked_near(looking, found.hits, after, caller)
    return page._replace(is_complete=page.is_complete and found.is_complete)


def _ranked_near(looking: "_Looking", near: Sequence[Placed], after: SearchCursor, caller: Caller) -> HitPage:
    """Return the next of some entries, which come nearest first."""
    request = looking.request
    rest = looking.through = looking.read_nearest(near)
    is_whole = rest is None and (after.ranking is None or after.ranking.further is None)
    resume = looking.rank(after.ranking, end=None)
    if rest is not None and request.score_min is not None and looking.ranked is not None:
        least = meaning.score(rest[0], 0.0, looking.ranked.scale) if request.by_words else rest[0]
        rest = None if least < request.score_min else rest
    if resume is None and rest is not None and looking.ranked is not None:
        resume = SearchCursor(None, looking.ranked._replace(score=0.0, last=None, further=rest, through=None))
    return HitPage(looking.shown(caller), resume, is_whole or not request.by_words)


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


def _rows_of(ranking: Ranking, rows: Iterable[ListKey]) -> Iterator[ListKey]:
    """Yield the trees that were ranked. What has come since then is not among them."""
    newest = ids.created_at(ranking.before)
    for tree in rows:
        if ranking.end is not None and tree < ranking.end.tree:
            return
        if tree.created_at <= newest:
            yield tree


class _Part(NamedTuple):
    """Entries of a tree, newest first. reached: how far it was read; None: to its first entry."""

    tree: ListKey
    entries: Sequence[StoredEntry]
    reached: EntryId | None


class _Candidate(NamedTuple):
    """An entry that fits the query.

    body: its content as it is stored. pieces: what is compared with the question. near: how near it
    is to it. before: what was looked through before it.
    """

    tree: ListKey
    stored: StoredEntry
    body: bytes
    fit: matching.Fit
    pieces: Sequence[str]
    near: float
    before: SearchPlace | None

    @property
    def place(self) -> SearchPlace:
        return SearchPlace(self.tree, self.stored.entry_id)


class _Finding(NamedTuple):
    """What a part of a tree holds. place: what was looked through.

    is_cut: whether the request must stop here.
    """

    candidates: list[_Candidate]
    place: SearchPlace | None
    is_cut: bool = False


@dataclass(slots=True)
class _Looking:
    """A search under way. start: what was looked through at first. ranking: what is read again.

    user_id: whose trees; None for all. inside: the conversation that alone is looked through.
    place: what was looked through so far. entries: how many; newest: the last of them, or the first
    id of the moment at which the last tree was made.
    candidates: what fits and is to be ranked. last: of those that were looked at for the answer.
    shown_query: what highlights are made around.
    answer_bytes: about the size of the answer so far.
    is_over: whether the request has read all that it may read. ranked: what was ranked, at last.
    through: as of a Ranking.
    """

    table: Table
    user_id: str | None
    request: SearchRequest
    start: SearchPlace | None
    ranking: Ranking | None
    inside: LoadedConversation | None
    hits: list[Hit] = field(default_factory=list)
    candidates: list[_Candidate] = field(default_factory=list)
    entries: int = 0
    newest: EntryId = FIRST
    read_bytes: int = 0
    content_bytes: int = 0
    answer_bytes: int = 0
    is_over: bool = False
    place: SearchPlace | None = None
    last: tuple[float, SearchPlace] | None = None
    ranked: Ranking | None = None
    through: Near | None = None
    shown_query: matching.Query = field(default_factory=matching.Query)
    _showing: dict[str, Showing] = field(default_factory=dict)
    _stops: dict[str, EntryId] = field(default_factory=dict)
    _opened: dict[str, LoadedConversation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place, self.shown_query = self.start, self.request.query
        if self.inside is not None:
            self._stops = ancestry.bounds_of(self.inside.view)

    def read_all(self, rows: Iterator[ListKey]) -> None:
        """Look through trees until the request must stop, or until there are no more."""
        ahead: deque[_Part] = deque()
        at_once = 1
        while not self.is_over:
            if not ahead:
                trees = list(islice(rows, self._room(at_once)))
                ahead.extend(self._read([(tree, self._begin_of(tree)) for tree in trees]))
                at_once *= 2
            if not ahead:
                return
            part = ahead.popleft()
            self._look_through(part)
            if part.reached is not None and self.place == SearchPlace(part.tree, part.reached):
                at_once = 1  # trees like this one would be read in vain
                if not self.is_over:
                    ahead.extendleft(self._read([(part.tree, part.reached)]))

    def read_nearest(self, near: Sequence[Placed]) -> Near | None:
        """Read the nearest of some entries. near: nearest first, those that no page has ranked.

        Return the last that was read; None: there are no more.
        """
        through = self.ranking.through if self.ranking is not None else None
        some = near[:NEAREST_MAX] if through is None else [one for one in near if one.near >= through]
        end = through or (some[-1].near if some else None)
        found = self.table.stored_entries((one.tree.conversation_id, one.near[1]) for one in some)
        stored = {one.entry_id: one for one in found if not one.entry.is_erased}
        for at, (tree, (score, entry_id)) in enumerate(some):
            if at and (self.read_bytes >= READ_BYTES_MAX or self.content_bytes >= CONTENT_BYTES_MAX):
                return near[at - 1].near
            if entry_id in stored:
                self._count(len(stored[entry_id].body))
                candidate = self._near_candidate(tree, stored[entry_id], score)
                if candidate is not None:
                    self.candidates.append(candidate)
        return end if len(near) > len(some) else None

    def _begin_of(self, tree: ListKey) -> EntryId:
        """Return the position before which a tree is to be read."""
        begun = self.start.entry_id if self.start is not None and self.start.tree == tree else None
        newest = self.ranking.before if self.ranking is not None else LAST
        return min(begun or LAST, newest)

    def _is_wanted(self, entry: Entry) -> bool:
        """Return whether the entry is a part of what is looked through."""
        is_inside = self.inside is None or entry.entry_id < self._stops.get(entry.conversation_id, FIRST)
        return is_inside and entry.channel is Channel.HISTORY

    def _room(self, at_once: int) -> int:
        """Return how many trees to read side by side: as many as Queries surely fit in."""
        return max(1, min(at_once, (READ_BYTES_MAX - self.read_bytes) // QUERY_BYTES_MAX))

    def _read(self, starts: Sequence[tuple[ListKey, EntryId]]) -> list[_Part]:
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

    def _look_through(self, part: _Part) -> None:
        """Keep what fits in a part; move the place behind it, or to where the request must stop.

        Without words to rank by, what fits becomes hits at once.
        Nothing of a tree is shown, not even a position in it, unless the user may read it now.
        """
        candidates, place, is_cut = self._find(part)
        if self.request.query.words:
            self.candidates += self._compared(candidates)
            candidates = []
        is_in_tree = place is not None and place.entry_id is not None
        if candidates or (is_in_tree and self._must_stop(place, is_cut=is_cut)):
            found = self._read_trees([part.tree.conversation_id], candidates)
            taken = self._take([(0.0, one) for one in candidates], found)
            if not self._may_read(found, part.tree.conversation_id):
                place, is_cut = SearchPlace(part.tree), False
            elif taken < len(candidates):
                place, is_cut = candidates[taken].before, True
        self.place = place
        self.is_over = self._must_stop(place, is_cut=is_cut)

    def _must_stop(self, place: SearchPlace | None, *, is_cut: bool) -> bool:
        """Return whether the request has read all that it may. What is read again has its own end.

        place: what was looked through. is_cut: whether the part before it was not read to its end.
        """
        is_bounded = self.ranking is None
        return is_cut or (is_bounded and (self.read_bytes >= READ_BYTES_MAX or not self._has_time(place)))

    def _find(self, part: _Part) -> _Finding:
        """Return the entries of a part that fit, as many as the request may look at."""
        candidates: list[_Candidate] = []
        place, query = self.place, self.request.query
        # A copy of a tree is younger than its entries; further pages read it again all the same.
        self.newest = max(self.newest, ids.fresh_id(ids.milliseconds(part.tree.created_at), 0))
        for stored in part.entries:
            if self._is_beyond(SearchPlace(part.tree, stored.entry_id)):
                return _Finding(candidates, place, is_cut=True)
            self.newest = max(self.newest, stored.entry_id)
            if self._is_wanted(stored.entry):
                if not self._may_look_at(stored, place):
                    return _Finding(candidates, place, is_cut=True)
                candidate = self._candidate(part.tree, stored, place)
                if candidate is not None:
                    candidates.append(candidate)
            place = SearchPlace(part.tree, stored.entry_id)
            if not query.words and len(self.hits) + len(candidates) == self.request.limit:
                return _Finding(candidates, place, is_cut=True)
        return _Finding(candidates, SearchPlace(part.tree, part.reached))

    def _is_beyond(self, place: SearchPlace) -> bool:
        """Return whether what is read again ends before an entry."""
        end = self.ranking.end if self.ranking is not None else None
        if end is None or end.entry_id is None or end.tree != place.tree or place.entry_id is None:
            return False
        return place.entry_id < end.entry_id

    def _may_look_at(self, stored: StoredEntry, place: SearchPlace | None) -> bool:
        """Return whether the request may still read and unpack the entry's body.

        place: what was looked through before it.
        """
        if self.ranking is not None:
            return True
        may_read = not stored.chunks or self.read_bytes < READ_BYTES_MAX
        return may_read and self.content_bytes < CONTENT_BYTES_MAX and self._has_time(place)

    def _has_time(self, place: SearchPlace | None) -> bool:
        """Return whether there is time for more. Each request gets on, however late it is."""
        return place == self.start or self.table.has_time(SPARE_SECONDS)

    def _candidate(self, tree: ListKey, stored: StoredEntry, before: SearchPlace | None) -> _Candidate | None:
        """Return the entry if it fits. One whose body cannot be read yet does not.

        before: what was looked through before it.
        """
        body = self._body_of(tree, stored)
        if body is None:
            return None
        text, query, by_words = bodies.decode(body), self.request.query, self.request.question is None
        if (by_words or query.demanded) and not _may_fit(query, stored.entry, text):
            return None
        found = searched(stored.entry, text)
        fit = matching.fit(query, found.folded, needs_word=by_words)
        if fit is None:
            return None
        pieces = [] if by_words else meaning.pieces_of(found.texts, stored.entry.indexed_content)
        return _Candidate(tree, stored, body, fit, pieces, 0, before)

    def _near_candidate(self, tree: ListKey, stored: StoredEntry, near: float) -> _Candidate | None:
        """Return an entry that is so near to the question, if its body can be read yet.

        Its content is only looked at if it may have a word of the query.
        """
        body = self._body_of(tree, stored)
        if body is None:
            return None
        text, query = bodies.decode(body), self.request.query
        fit = None
        if self.request.by_words and _may_fit(query, stored.entry, text):
            fit = matching.fit(query, folded_of(stored.entry, text), needs_word=False)
        return _Candidate(tree, stored, body, fit or matching.no_word(query), (), near, None)

    def _body_of(self, tree: ListKey, stored: StoredEntry) -> bytes | None:
        """Return the content of an entry as it is stored, and count it. None: not readable yet."""
        self.content_bytes += stored.escaped_bytes
        if stored.chunks:
            self._count(stored.chunks * CHUNK_BYTES)
        body = self.table.body_of(tree.conversation_id, stored)
        self.entries += body is not None
        return body

    def _compared(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Return the candidates with how near they are to the question, if there is one.

        An entry is as near as its nearest piece. One that has no text and no word is left out.
        """
        nearness = self.table.nearness
        if self.request.question is None or nearness is None:
            return [*candidates]
        pieces = [piece for one in candidates for piece in one.pieces]
        told = iter(nearness.near(self.request.question, pieces) if pieces else ())
        compared = [
            one._replace(near=max(islice(told, len(one.pieces)), default=0), pieces=()) for one in candidates
        ]
        return [
            after
            for before, after in zip(candidates, compared, strict=True)
            if before.pieces or before.fit.has_word
        ]

    def rank(self, ranking: Ranking | None, *, end: SearchPlace | None) -> SearchCursor | None:
        """Add the best of what was found to the hits, and return where the search goes on.

        ranking: what was ranked by an earlier page, and is read again. end: as in a Ranking.
        """
        query = self.request.query
        if ranking is None:
            entries = len(self.candidates) if query.demanded else self.entries
            weights = matching.weigh(query, entries, [one.fit for one in self.candidates])
            before = ids.next_id(self.newest)
        else:
            weights, before, end = ranking.weights, ranking.before, ranking.end
        further = None if ranking is None else ranking.further
        by_words = [matching.score(one.fit, weights) for one in self.candidates]
        near = [round(one.near, meaning.SCORE_DECIMALS) for one in self.candidates]
        scale = self._scale(near, by_words) if ranking is None else ranking.scale
        if self.request.question is not None and self.request.by_words:
            by_words = [meaning.score(*both, scale) for both in zip(near, by_words, strict=True)]
        elif self.request.question is not None:
            by_words = near
        scored = [*zip(by_words, self.candidates, strict=True)]
        scored.sort(key=lambda one: (one[0], one[1].tree, one[1].stored.entry_id), reverse=True)
        if self.request.score_min is not None:
            scored = [one for one in scored if one[0] >= self.request.score_min]
        if ranking is not None:
            scored = [one for one in scored if _is_after(ranking, *one)]
        self.shown_query = matching.by_weight(query, weights)
        self.read_bytes = 0
        while scored and len(self.hits) < self.request.limit:
            first = scored[: self.request.limit - len(self.hits)]
            trees = dict.fromkeys(one.tree.conversation_id for _, one in first)
            taken = self._take(first, self._read_trees(trees, [one for _, one in first]))
            scored = scored[taken:]
            if taken < len(first):
                break
        score, last = self.last or (0.0, None)
        self.ranked = Ranking(before, end, weights, scale, score, last, further, self.through)
        if not scored or self.last is None:
            return end and SearchCursor(end)
        return SearchCursor(self.start, self.ranked)

    def _scale(self, near: Sequence[float], by_words: Sequence[float]) -> meaning.Scale:
        best = max(by_words, default=0.0)
        if self.request.question is None:
            return meaning.Scale(best)
        furthest = sorted(near, reverse=True)[NEAREST_MAX - 1] if len(near) >= NEAREST_MAX else 0.0
        return meaning.Scale(best, max(near, default=0.0), max(furthest, 0.0))

    def shown(self, caller: Caller) -> list[Hit]:
        """Return the hits, with the exchanges around them as far as the answer has room.

        What the caller may not read any more is left out.
        """
        if self.request.around is None:
            return self.hits
        shown = []
        for hit in self.hits:
            with suppress(NotFoundError, ForbiddenError):
                shown.append(hit._replace(around=self._around(hit, caller, self.request.around)))
        return shown

    def _around(self, hit: Hit, caller: Caller, beside: int) -> Sequence[Entry]:
        """Raises NotFoundError and ForbiddenError."""
        loaded = self.inside or self._loaded(hit.conversation.conversation_id, caller)
        if self.answer_bytes >= PAGE_BYTES_MAX:
            return ()
        group_id = loaded.group.group_id
        around = exchanges_around(self.table, group_id, loaded.view, hit.entry.entry_id, beside)
        size = sum(map(answer_bytes, around))
        if self.answer_bytes + size > PAGE_BYTES_MAX:
            return ()
        self.answer_bytes += size
        return around

    def _loaded(self, conversation_id: str, caller: Caller) -> LoadedConversation:
        """Return the conversation of a hit. Raises NotFoundError and ForbiddenError."""
        if conversation_id not in self._opened:
            loaded = load_conversation(self.table, conversation_id, caller=caller, describes=False)
            self._opened[conversation_id] = loaded
        return self._opened[conversation_id]

    def _read_trees(self, trees: Iterable[str], candidates: Sequence[_Candidate]) -> Found:
        """Return GROUP and the user's MEM of each tree, and each owner's CONV if it has one."""
        wanted = [keys.group(group_id) for group_id in trees]
        if self.user_id is not None:
            wanted += [keys.member(group_id, self.user_id) for group_id in trees]
        owners = [(one.tree.conversation_id, one.stored.entry.conversation_id) for one in candidates]
        if self.inside is None:
            wanted += [keys.conversation(*owner) for owner in dict.fromkeys(owners)]
        return self.table.get(wanted)

    def _take(self, scored: Sequence[tuple[float, _Candidate]], found: Found) -> int:
        """Add candidates to the hits, without those that the user may not read now, and without
        those that no live conversation shows any more.

        Return how many were looked at: the others are left to the next request, because this one
        may read, or answer, no more. The first one is never left, so each request gets on.
        """
        for at, (score, one) in enumerate(scored):
            group_id, is_first = one.tree.conversation_id, self.last is None
            if not self._may_read(found, group_id):
                continue
            if not self._may_look_for(one, found) and not is_first:
                return at
            conversation = self._conversation_of(one, found)
            if conversation is not None and not self._add(one, conversation, score) and not is_first:
                return at
            self.last = (score, one.place)
        return len(scored)

    def _may_look_for(self, one: _Candidate, found: Found) -> bool:
        """Return whether the request may read all that it takes to find who shows an entry."""
        group_id, owner = one.tree.conversation_id, one.stored.entry.conversation_id
        if self.inside is not None or found.conversation(group_id, owner) is not None:
            return True
        return self._showing_of(group_id).knows(owner) or self.read_bytes < READ_BYTES_MAX

    def _showing_of(self, group_id: str) -> Showing:
        return self._showing.setdefault(group_id, Showing(self.table, group_id))

    def _conversation_of(self, one: _Candidate, found: Found) -> Conversation | None:
        """Return the conversation at which an entry is found; None if none shows it any more."""
        if self.inside is not None:
            return self.inside.conversation
        showing = self._showing_of(one.tree.conversation_id)
        reads = showing.reads
        conversation = showing.conversation_of(one.stored.entry, found)
        self.read_bytes += (showing.reads - reads) * UNIT_BYTES
        return conversation

    def _add(self, one: _Candidate, conversation: Conversation, score: float) -> bool:
        """Add a hit, unless the answer has no room for it. The first one is always added."""
        body = bodies.decode(one.body)
        entry = one.stored.entry._replace(content=body if self.request.with_entries else "")
        found = searched(one.stored.entry, body)
        highlights = matching.highlights(self.shown_query, found.texts, found.folded)
        size = ROW_BYTES + escaped_size(json.dumps(highlights, ensure_ascii=False))
        size += one.stored.escaped_bytes if entry.content else 0
        if self.hits and self.answer_bytes + size > PAGE_BYTES_MAX:
            return False
        if self.request.with_entries:
            entry = entry._replace(attachments=self.table.linked(entry.attachments))
        self.hits.append(Hit(conversation, entry, found.line, highlights, score))
        self.answer_bytes += size
        return True

    def _may_read(self, found: Found, group_id: str) -> bool:
        group = found.group(group_id)
        if group is None or not group.is_live:
            return False
        return self.user_id is None or found.member(group_id, self.user_id) is not None


def _may_fit(query: matching.Query, entry: Entry, body: str) -> bool:
    """Return False if an entry surely does not fit. body: its content."""
    beside = [*map(matching.fold, file_names(entry)), *unseen(entry), content.FAILED]
    return matching.may_fit(query, body, beside)


def _is_after(ranking: Ranking, score: float, one: _Candidate) -> bool:
    """Return whether a candidate comes after all that was shown."""
    shown = ranking.last
    if shown is None:
        return True
    if score != ranking.score:
        return score < ranking.score
    return one.tree < shown.tree or (
        one.tree == shown.tree and one.stored.entry_id < (shown.entry_id or FIRST)
    )
