"""What people without an account read by a link.

They see the history of one conversation as it was, or of each conversation of a tree as it is, and
nothing else. Whatever keeps a link from opening is told in the same words, so that nobody learns
more of a link that is over than of one that never was.
"""

from typing import NamedTuple

from forklore_service.domain.links import ReaderLink, read_secret
from forklore_service.domain.model import Caller, Channel
from forklore_service.errors import NotFoundError, UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.reading.entries import (
    EntryPage,
    ListEntriesRequest,
    PageStart,
    list_entries,
)
from forklore_service.usecases.shared.loading import LoadedConversation, TreeExtras, look_up

_READER = Caller("", bypasses_membership=True)
"""Stands for who has the secret. It is used only behind `_opened`, and for the history alone."""


class Opened(NamedTuple):
    """A link that is open, and the conversation that it leads to."""

    link: ReaderLink
    loaded: LoadedConversation


def open_link(table: Table, *, secret: str, conversation_id: str | None = None) -> Opened:
    """Return what a link leads to, and count it. Raises NotFoundError.

    conversation_id: as of `list_linked_entries`, also where it is empty. Who names a conversation
    has opened the link before, so that is not counted. A count that fails never fails the reading.
    """
    opened = _opened(table, secret, describes=True)
    if conversation_id == opened.link.conversation_id:
        return opened
    if conversation_id:
        branch = _branch(table, opened, conversation_id, describes=True)
        _opened(table, secret)  # a title that came after the link was ended is not for its readers
        return Opened(opened.link, branch)
    try:
        counted = actions.link.count(opened.loaded.group.group_id, opened.link.link_id)
        table.update(counted)
    except UnavailableError:
        pass
    return opened


def list_linked_entries(
    table: Table, *, secret: str, conversation_id: str | None, start: PageStart, limit: int
) -> tuple[ReaderLink, EntryPage]:
    """Return a page of the history that a link shows.

    conversation_id: of the tree, if the link shows all of it; None: the one that it leads to.
    Raises NotFoundError, and InvalidCursorError if a position is not of an entry that is shown.
    """
    opened = _opened(table, secret)
    link = opened.link
    shown = conversation_id or link.conversation_id
    if shown != link.conversation_id:
        _branch(table, opened, shown)
    request = ListEntriesRequest(
        shown, start, limit, channel=Channel.HISTORY, up_to=link.up_to, alternatives=link.all_forks
    )
    try:
        page = list_entries(table, caller=_READER, request=request)
    except NotFoundError:
        raise _no_link() from None
    if link.all_forks:
        _opened(table, secret)  # what was said after the link was ended is not for its readers
    return link, page


def _opened(table: Table, secret: str, *, describes: bool = False) -> Opened:
    """Return what a link leads to. Raises NotFoundError, in the same words for every reason."""
    said = read_secret(secret)
    if said is None:
        raise _no_link()
    looked_up = look_up(
        table,
        said.conversation_id,
        caller=_READER,
        extras=TreeExtras(link=said.link_id),
        describes=describes,
    )
    loaded = looked_up.loaded
    if loaded is None:
        raise _no_link()
    group = loaded.group
    link = looked_up.found.link(group.group_id, said.link_id, now_s=table.now_s())
    if link is None or link.conversation_id != said.conversation_id:
        raise _no_link()
    if group.rewriting is not None and not link.stays:
        raise _no_link()  # a transfer has ended it, and has not removed it yet
    return Opened(link, loaded)


def _branch(
    table: Table, opened: Opened, conversation_id: str, *, describes: bool = False
) -> LoadedConversation:
    """Return another branch that a link shows. Raises NotFoundError, as `_opened` does."""
    other = look_up(table, conversation_id, caller=_READER, describes=describes).loaded
    if not opened.link.all_forks or other is None or other.group.group_id != opened.loaded.group.group_id:
        raise _no_link()
    return other


def _no_link() -> NotFoundError:
    return NotFoundError("no such link")
