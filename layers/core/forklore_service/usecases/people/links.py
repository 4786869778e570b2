"""Links for readers: make one, list them, end one. What a link shows: `usecases/reading/linked.py`.

A link is one item in the partition of its tree. So it waits in the trash with the tree, and goes
with it. It goes with its conversation, too, if that is removed, and with a transfer of the tree.
"""

from collections.abc import Iterable
from typing import NamedTuple

from forklore_service.domain import ancestry, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.keys import ListKey
from forklore_service.domain.links import DAY_SECONDS, ReaderLink, secret_of
from forklore_service.domain.model import Caller, Channel
from forklore_service.errors import ConflictError, NotFoundError, UnavailableError, ValidationError, brief
from forklore_service.limits import LINKS_MAX
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.people.transfers import finish_rewriting
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import (
    LoadedConversation,
    LookUp,
    TreeExtras,
    load_conversation,
    look_up,
)
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class LinkRequest(NamedTuple):
    """What a new link shows, and for how many days. up_to: None: up to the last entry now."""

    conversation_id: str
    days: int
    up_to: EntryId | None = None
    all_forks: bool = False
    user_ids: bool = False
    stays: bool = False


def create_link(
    table: Table,
    *,
    caller: Caller,
    request: LinkRequest,
    random: bytes,
    idempotency_key: IdempotencyKey | None = None,
) -> ReaderLink:
    """Make a link whose secret has these random bytes, and return it.

    Raises NotFoundError, ForbiddenError unless the caller is a manager, ValidationError if the
    conversation does not show `up_to`, ConflictError if it shows nothing, or the tree has too many
    links, IdempotentReplay for a replay.
    """
    conversation_id, once = request.conversation_id, Once(table, caller, idempotency_key)
    _, link_id = secret_of(conversation_id, random)
    extras = TreeExtras(entries=(request.up_to,) if request.up_to else ())
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extra_keys=once.keys, extras=extras)
        once.raise_if_answered(looked_up.found)
        loaded = looked_up.require(conversation_id, AccessLevel.MANAGER)
        group_id = loaded.group.group_id
        if loaded.group.rewriting is not None:
            finish_rewriting(table, group_id)  # the transfer may end links, and this comes after it
            continue
        up_to = None if request.all_forks else _last_shown(looked_up, loaded, request.up_to)
        others = [one for one in _links_beside(table, loaded) if one.link_id != link_id]
        if len(others) >= LINKS_MAX:
            raise ConflictError(f"a fork tree has at most {LINKS_MAX} links", reason="too_many_links")
        link = ReaderLink(
            link_id,
            conversation_id,
            table.now(),
            table.now_s() + request.days * DAY_SECONDS,
            up_to,
            request.user_ids,
            request.stays,
        )
        writes = [
            *once.record(group_id, conversation_id, link),
            actions.link.put(group_id, link),
            actions.group.note_link(loaded.group),
            # What was read may be torn: GROUP may be of a later time than the rest.
            actions.conversation.check_head(group_id, conversation_id),
            actions.member.check(group_id, caller.user_id, AccessLevel.MANAGER),
        ]
        refused = table.try_commit(writes)
        if refused is None:
            return link
        once.raise_if_recorded(refused)
    raise UnavailableError("the conversation keeps changing; try again")


def _last_shown(looked_up: LookUp, loaded: LoadedConversation, up_to: EntryId | None) -> EntryId:
    """Return the last entry that a link to one conversation shows."""
    if up_to is None:
        if loaded.head.lasts.history is None:
            raise ConflictError("the conversation shows nothing yet", reason="nothing_to_show")
        return loaded.head.lasts.history
    stored = looked_up.found.entry(loaded.group.group_id, up_to)
    is_shown = stored is not None and ancestry.shows(
        loaded.view, conversation_id=stored.entry.conversation_id, entry_id=up_to
    )
    if stored is None or not is_shown or stored.entry.channel is not Channel.HISTORY:
        raise ValidationError("the conversation shows no such history entry", field="upToEntryId")
    return up_to


def list_links(
    table: Table, *, caller: Caller, conversation_id: str, after: ListKey | InvalidCursor | None, limit: int
) -> PageOf[ReaderLink, ListKey]:
    """Return a page of the links to the conversation's tree that have not ended, oldest first.

    Raises NotFoundError, ForbiddenError unless the caller is a manager, and then InvalidCursorError
    for an invalid `after`.
    """
    loaded = load_conversation(table, conversation_id, caller=caller, minimum=AccessLevel.MANAGER)
    place = cursors.valid(after)
    links = _links_beside(table, loaded)
    rows = sorted((ListKey(link.created_at, link.link_id), link) for link in links)
    left = [(at, link) for at, link in rows if place is None or at > place]
    return PageOf([link for _, link in left[:limit]], left[limit - 1][0] if len(left) > limit else None)


def delete_link(table: Table, *, caller: Caller, conversation_id: str, link_id: str) -> None:
    """End a link to the conversation's tree.

    Raises NotFoundError, also if the tree has no such link, and ForbiddenError unless the caller is
    a manager.
    """
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extras=TreeExtras(link=link_id))
        loaded = looked_up.require(conversation_id, AccessLevel.MANAGER)
        group_id = loaded.group.group_id
        link = looked_up.found.link(group_id, link_id, now_s=table.now_s())
        if link is None or not _not_ended(table, loaded, [link]):
            raise NotFoundError(f"no link {brief(link_id)}")
        writes = [actions.link.delete(group_id, link_id)]
        if not caller.bypasses_membership:
            writes.append(actions.member.check(group_id, caller.user_id, AccessLevel.MANAGER))
        if table.try_commit(writes) is None:
            return
    raise UnavailableError("the conversation keeps changing; try again")


def _links_beside(table: Table, loaded: LoadedConversation) -> list[ReaderLink]:
    """Return the links to the tree of a conversation that have not ended."""
    return _not_ended(table, loaded, table.read.links(loaded.group.group_id, now_s=table.now_s()))


def _not_ended(table: Table, loaded: LoadedConversation, links: Iterable[ReaderLink]) -> list[ReaderLink]:
    """Return those links whose conversation is there, or can be restored.

    The link of a removed branch has ended, and is deleted only when a worker gets to it. A branch
    in the trash still has its HEAD.
    """
    group_id, live = loaded.group.group_id, loaded.conversation.conversation_id
    heads = {one: keys.head(group_id, one.conversation_id) for one in links}
    there = table.get((of for one, of in heads.items() if one.conversation_id != live), kept=True)
    return [one for one, of in heads.items() if one.conversation_id == live or of in there]
