"""List entries: a page of what a conversation shows, or of its whole tree."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from forklore_service.domain import access, ancestry, content, ids, jsontext
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.alternatives import ViewLine
from forklore_service.domain.ancestry import View
from forklore_service.domain.answer_logs import Standing
from forklore_service.domain.ids import LAST, EntryId
from forklore_service.domain.model import Caller, Channel, Entry, LastEntries, StoredEntry
from forklore_service.domain.paging import Window
from forklore_service.domain.tree import ClientContext
from forklore_service.errors import InvalidCursorError, NotFoundError, UnavailableError, brief
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage import bodies
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.reading.alternatives import AlternativesReader
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.answer_logs import standing
from forklore_service.usecases.shared.drafts import answer_bytes
from forklore_service.usecases.shared.loading import LoadedConversation, TreeExtras, look_up
from forklore_service.usecases.shared.view_pages import ENTRIES, Bound, LatestEpoch, Shown

LINE_BYTES_MAX = 2_600
"""Of a line, as escaped."""
LINES_CONTENT_MAX = 40_000_000
"""Bytes of content that the lines of a page are made of. Stored content is compressed."""


def _counts_of_line(stored: StoredEntry) -> Sequence[int]:
    rest = stored.entry._replace(content="", metadata=None)
    return answer_bytes(rest) + LINE_BYTES_MAX, 0 if stored.chunks else stored.escaped_bytes


LINES = Bound(_counts_of_line, (PAGE_BYTES_MAX, LINES_CONTENT_MAX))
"""No line is made of content that lies in chunks."""


class PageStart(NamedTuple):
    """Where a page begins: after or before an entry, or at the end of the view.

    At most one of them is given.
    """

    after: EntryId | None = None
    before: EntryId | None = None
    tail: bool = False

    @property
    def backward(self) -> bool:
        return self.tail or self.before is not None


class ListEntriesRequest(NamedTuple):
    """What to list.

    channel None: all that the caller may see. up_to: the view as it was when the turn of that entry
    was its last.
    epoch: only with Channel.CONTEXT: one epoch, all of them, or the latest that is shown.
    own: only the conversation's own entries. alternatives: also what goes on differently. Neither
    goes with all_forks. as_lines: a line in place of each entry's content and metadata.
    """

    conversation_id: str
    start: PageStart
    limit: int
    channel: Channel | None = None
    epoch: int | Literal["latest", "all"] = "latest"
    up_to: EntryId | None = None
    all_forks: bool = False
    own: bool = False
    alternatives: bool = False
    as_lines: bool = False

    @property
    def named(self) -> list[EntryId]:
        """The entries that it names: each must be a position of the view."""
        named = (self.start.after, self.start.before, self.up_to)
        return [entry_id for entry_id in named if entry_id is not None]


class EntryPage(NamedTuple):
    """Entries, oldest first, and the positions to continue from; None where the list ends.

    alternatives: by entry, the other conversations that go on differently before it.
    alternatives_at_end: those after the last entry; None if the page does not end with the view, or
    if nobody asked. answering: the answer that is written there, if the page ends with the view.
    lines: by entry, what it says; without those whose content lies in chunks.
    """

    entries: list[Entry]
    after: EntryId | None
    before: EntryId | None
    alternatives: Mapping[EntryId, list[str]] = MappingProxyType({})
    alternatives_at_end: list[str] | None = None
    answering: Standing | None = None
    lines: Mapping[EntryId, content.Line] = MappingProxyType({})


def list_entries(table: Table, *, caller: Caller, request: ListEntriesRequest) -> EntryPage:
    """Return a page of what the conversation shows, or with `all_forks` of its whole tree.

    Raises NotFoundError, ForbiddenError if the caller is not a member or asks for context that is
    not theirs, InvalidCursorError if a position is not of an entry of the unfiltered view.
    """
    start, client = request.start, caller.client_id
    wants_context = request.channel is Channel.CONTEXT
    looked_up = look_up(
        table,
        request.conversation_id,
        caller=caller,
        extras=TreeExtras(entries=tuple(request.named), context_of=client if wants_context else None),
        describes=False,
    )
    loaded = looked_up.require(request.conversation_id, AccessLevel.READER)
    show = shown_to(caller, loaded, request.channel)
    group_id = loaded.group.group_id
    place = _placed(looked_up.found, loaded, request)
    own_context = looked_up.found.context(group_id, request.conversation_id, client) if client else None
    show, window, latest = _narrowed(table, request, loaded, show, place.window, place.lasts, own_context)
    bound = LINES if request.as_lines else ENTRIES
    last = [*(place.lasts.of(channel) for channel in show.channels), latest.last]
    if start.after:
        window = window.clipped(ids.next_id(start.after), ids.LAST)
    if start.before:
        window = window.clipped(ids.FIRST, start.before)
    if request.all_forks:
        page = view_pages.read_tree(
            table,
            group_id,
            show=show,
            limit=request.limit,
            window=window,
            backward=start.backward,
            last=last,
            may_be_cut=True,
            bound=bound,
        )
        return _in_order(table, group_id, page, request)
    view = latest.view
    if request.own:
        window = window.clipped(loaded.head.floor, LAST)
        view = View(tuple(s for s in view.segments if s.conversation_id == request.conversation_id))
    line = ViewLine(loaded.view, root_id=group_id)
    reader = None
    if request.alternatives and Channel.HISTORY in show.channels:
        reader = _alternatives_beside(table, request, group_id, place, line)
    own = {Channel.HISTORY: loaded.head.history, Channel.CONTEXT: loaded.head.context}
    is_whole = not request.named and latest.view == loaded.view
    page = view_pages.read_view(
        table,
        group_id,
        view,
        show=show,
        limit=request.limit,
        window=window.clipped(ids.FIRST, ancestry.floor_of(view.segments)),
        backward=start.backward,
        own_entries=sum(own[channel] for channel in show.channels) if is_whole else None,
        is_alone=loaded.group.conversations == 1,
        last=last,
        may_be_cut=True,
        beside=reader.start if reader else None,
        bound=bound,
    )
    listed = _in_order(table, group_id, page, request)
    is_end = request.up_to is None and start.before is None and listed.after is None and not page.is_cut
    if is_end:
        listed = listed._replace(answering=standing(table, loaded))
    if reader is None:
        return listed
    return _with_alternatives(listed, reader, line, end=place.lasts if is_end else None)


class _Place(NamedTuple):
    """Where a page lies, as the entries say that the request names.

    end: the last entry that it may hold, at the end of the window. lasts: what is shown last before
    that end, or before `before`. shown_before: the history entry that is shown just before it.
    """

    end: EntryId
    window: Window
    lasts: LastEntries
    shown_before: EntryId | None


def _placed(found: Found, loaded: LoadedConversation, request: ListEntriesRequest) -> _Place:
    """Return where the page lies."""
    start, group_id = request.start, loaded.group.group_id
    up_to = found.entry(group_id, request.up_to) if request.up_to else None
    # The page ends where HEAD ended when it was read. A later append may be in one of the ranges
    # that are read side by side, and not in another.
    end = up_to.entry.ends if up_to else LAST if request.all_forks else loaded.head.last
    window = Window(stop=LAST if end == LAST else ids.next_id(end))
    lasts, shown_before = loaded.head.lasts, None
    for entry_id in request.named:
        stored = found.entry(group_id, entry_id)
        if stored is None or not _is_position(stored, loaded, window, request.all_forks):
            raise InvalidCursorError
        entry = stored.entry
        if entry_id == start.before:
            lasts = entry.after
        elif entry_id == request.up_to and not start.before:
            lasts = entry.lasts_after
        if entry_id == start.after:
            shown_before = entry.after.moved(entry.channel, entry_id).history
    return _Place(end, window, lasts, shown_before)


def _alternatives_beside(
    table: Table, request: ListEntriesRequest, group_id: str, place: _Place, line: ViewLine
) -> AlternativesReader:
    """Return what reads alternatives beside the page. It begins near where the page does."""
    start = request.start
    if start.backward:
        near = line.number_of(start.before or place.end)
    elif request.own:
        near = line.own
    else:
        near = line.number_of(place.shown_before)
    return AlternativesReader(
        table, group_id, line, backward=start.backward, after=place.shown_before, near=near
    )


def _with_alternatives(
    page: EntryPage, reader: AlternativesReader, line: ViewLine, *, end: LastEntries | None
) -> EntryPage:
    """Return the page with the alternatives of its history entries.

    end: what the view shows last; None if the page does not end with the view.
    """
    shown = [entry for entry in page.entries if entry.channel is Channel.HISTORY]
    places = [line.place(after=entry.after.history, before=entry.entry_id) for entry in shown]
    if end is not None:
        places.append(line.place(after=end.history, before=None))
    found = reader.of(places)
    return page._replace(
        alternatives={entry.entry_id: ids for entry, ids in zip(shown, found, strict=False) if ids},
        alternatives_at_end=found[-1] if end is not None else None,
    )


def get_entry(table: Table, *, caller: Caller, conversation_id: str, entry_id: str) -> Entry:
    """Return one entry that the conversation shows, of any epoch.

    Raises NotFoundError without such a conversation or entry, and for context that the caller may
    not see; ForbiddenError if the caller is not a member.
    """
    named = EntryId(entry_id) if ids.is_entry_id(entry_id) else ids.LAST
    looked_up = look_up(
        table, conversation_id, caller=caller, extras=TreeExtras(entries=(named,)), describes=False
    )
    loaded = looked_up.require(conversation_id, AccessLevel.READER)
    stored = looked_up.found.entry(loaded.group.group_id, named)
    if stored is None or not is_for(caller, stored.entry, loaded):
        raise NotFoundError(f"no entry {brief(entry_id)}")
    [entry] = table.with_bodies(loaded.group.group_id, [stored])
    return entry


def is_for(caller: Caller, entry: Entry, loaded: LoadedConversation) -> bool:
    """Tell whether the conversation shows the entry, and shows it to the caller."""
    is_shown = ancestry.shows(loaded.view, conversation_id=entry.conversation_id, entry_id=entry.entry_id)
    return is_shown and shown_to(caller, loaded).admits(entry)


def shown_to(caller: Caller, loaded: LoadedConversation, channel: Channel | None = None) -> Shown:
    """Return what the caller is shown of a channel; None: of all that they may see.

    Raises ForbiddenError for context that is not theirs.
    """
    if caller.bypasses_membership:
        return Shown((channel,) if channel else tuple(Channel), any_client=True)
    bound_to = loaded.conversation.client_id
    if channel is Channel.CONTEXT:
        access.require_context(caller, bound_to=bound_to)
        return Shown((Channel.CONTEXT,), caller.client_id)
    if channel is None and access.may_use_context(caller, bound_to=bound_to):
        return Shown((Channel.HISTORY, Channel.CONTEXT), caller.client_id)
    return Shown((Channel.HISTORY,))


def _narrowed(
    table: Table,
    request: ListEntriesRequest,
    loaded: LoadedConversation,
    show: Shown,
    window: Window,
    lasts: LastEntries,
    own_context: ClientContext | None,
) -> tuple[Shown, Window, LatestEpoch]:
    """Return the filter, the window and the part of the view that can hold what is wanted.

    lasts: what is shown last. own_context: the client's CTX in the conversation. It says where the
    latest epoch begins, so that older epochs are not read. Without a CTX the conversation itself
    has no context of the client, so that the context of other clients is not read. For an earlier
    state of the view, the CTX items along it are compared with that state. A list of both channels
    does not use the CTX: a CTX that becomes visible late would hide an entry.
    """
    client, group_id, whole = show.client_id, loaded.group.group_id, LatestEpoch(view=loaded.view)
    if client is None:
        return show, window, whole
    if request.channel is not Channel.CONTEXT:
        has_none = lasts.context is None and not request.all_forks
        return (show._replace(channels=(Channel.HISTORY,)) if has_none else show), window, whole
    if request.all_forks:
        if request.epoch != "latest":
            return show._replace(epoch=None if request.epoch == "all" else request.epoch), window, whole
        number = view_pages.latest_epoch_of_tree(table, group_id, client, stop=window.stop)
        return show._replace(epoch=number), window if number else Window(stop=ids.FIRST), whole
    if own_context is None:
        latest = view_pages.latest_epoch(table, group_id, loaded.inherited, client, window)
    elif request.epoch != "latest" or (request.up_to is None and own_context.last <= loaded.head.last):
        latest = whole._replace(epoch=own_context.epoch)
    else:
        latest = view_pages.latest_epoch(table, group_id, loaded.view, client, window)
    if request.epoch != "latest":
        return show._replace(epoch=None if request.epoch == "all" else request.epoch), window, latest
    epoch = latest.epoch
    return show._replace(epoch=epoch.number), window.clipped(epoch.first or ids.FIRST, ids.LAST), latest


def _is_position(stored: StoredEntry, loaded: LoadedConversation, window: Window, all_forks: bool) -> bool:
    """Tell whether the entry is in the unfiltered view, or tree, and not after the window."""
    entry = stored.entry
    if entry.entry_id >= window.stop:
        return False
    return all_forks or ancestry.shows(
        loaded.view, conversation_id=entry.conversation_id, entry_id=entry.entry_id
    )


def _in_order(
    table: Table, group_id: str, page: view_pages.ViewPage, request: ListEntriesRequest
) -> EntryPage:
    """Return the page oldest first, with the position on either side of it."""
    start, resume = request.start, page.resume
    if page.is_cut and resume is None:
        resume = start.before or start.after
        if resume is None:
            raise UnavailableError("something that was written cannot be read yet; try again")
    stored = page.entries[::-1] if start.backward else page.entries
    if request.as_lines:
        entries = [one.entry._replace(content="[]", metadata=None) for one in stored]
    else:
        entries = table.with_bodies(group_id, stored)
    lines = {one.entry_id: _line(one) for one in stored if request.as_lines and not one.chunks}
    if start.backward:
        newest = entries[-1].entry_id if entries else start.before
        return EntryPage(entries, after=newest if start.before else None, before=resume, lines=lines)
    oldest = entries[0].entry_id if entries else start.after
    return EntryPage(entries, after=resume, before=oldest if start.after else None, lines=lines)


def _line(stored: StoredEntry) -> content.Line:
    return content.line_of(jsontext.read_value(bodies.decode(stored.body)))
