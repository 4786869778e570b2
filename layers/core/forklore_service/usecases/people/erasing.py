"""The worker's part of a user's erasure: it reads the table until nothing names the user.

Each pass deletes or leaves the user's trees first, so that the user can write nothing more. Then it
reads all items. An entry of the user is erased, a title or a preview that is the user's words is
removed, and an idempotency record that may hold the user's id or text is deleted. A pass that
changed something, or that found what another worker has to end, is followed by one more. That one
begins when no request runs any more that read the table before. So the last pass has found nothing,
and nothing came after it. Only the record of the request for the erasure may go in the last pass:
nobody writes it again.

A sync beside an erasure may have stored a digest of what it had read before. So at the end the
contexts of all changed trees lose their digests once more.

Every step can be repeated. So a killed worker, or two workers at once, only repeat work.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

from forklore_service.domain import content, erasures, ids, keys
from forklore_service.domain.answer_logs import Part
from forklore_service.domain.erasures import BEGIN, END, SEGMENTS, Erasure, Mention, erased
from forklore_service.domain.jsontext import read_value
from forklore_service.domain.keys import Key
from forklore_service.domain.meaning import PIECES_MAX
from forklore_service.domain.model import Channel
from forklore_service.domain.tree import Group, MemberChange
from forklore_service.errors import UnavailableError
from forklore_service.limits import packs
from forklore_service.storage import actions, bodies
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.storage.user_scan import find_mentions
from forklore_service.usecases.deletion.cascade import ERASED_AT_ONCE, seconds_left
from forklore_service.usecases.deletion.closing_trees import in_batches, tombstone
from forklore_service.usecases.people.spreading import finish_spreading
from forklore_service.usecases.people.transfers import finish_rewriting
from forklore_service.usecases.shared.answer_logs import AnswerRef, drop, end_log
from forklore_service.usecases.shared.attachments import let_go, references_of
from forklore_service.usecases.shared.drafts import TRANSACTION_BYTES_MAX, answer_bytes
from forklore_service.usecases.shared.idempotency import NO_GROUP
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

FORGOTTEN_AT_ONCE = 50
"""Items deleted in one transaction. DynamoDB allows 100 actions."""
WRITES_MAX = 80
"""Entries, chunks and keys that one transaction erases. DynamoDB allows 100 actions."""


def advance_erasure(table: Table, queue: Queue, erasure_id: str, wait_s: int) -> int | None:
    """Do what can be done now. Return the seconds to wait before more; None if nothing is left.

    wait_s: for how many seconds a request that has begun may still run. Raises UnavailableError.
    """
    try:
        while True:
            erasure = table.get([keys.erasure(erasure_id)]).erasure(erasure_id)
            if erasure is None or erasure.user_id is None:
                return None
            left_s = seconds_left(erasure.not_before, table.now_ms(), 0)
            if left_s > 0:
                return left_s
            erasure = _read_on(table, queue, erasure, erasure.user_id)
            if all(place == END for place in erasure.places):
                return None if _end_pass(table, erasure, wait_s) else wait_s + 1
    except ConditionFailed as refused:
        if not refused.has(ActionKind.ERASURE):
            raise
        raise UnavailableError("another worker has gone on, or has ended it") from refused


def _read_on(table: Table, queue: Queue, erasure: Erasure, user_id: str) -> Erasure:
    """Read one page of each segment, and handle what it names. Return the erasure as stored."""
    waits = erasure.waits
    if all(place == BEGIN for place in erasure.places):
        waits |= _leave_trees(table, queue, erasure, user_id)

    def read(segment: int) -> tuple[list[Mention], Key]:
        place = erasure.places[segment]
        return find_mentions(table, user_id, segment=segment, segments=SEGMENTS, place=place)

    pages = list(table.side_by_side(read, range(SEGMENTS)))
    mentions = [mention for found, _ in pages for mention in found]
    said = [one for one in mentions if one.entry is not None or one.words_of == user_id]
    waits |= _erase_what_was_said(table, erasure, said)
    _forget_records(table, erasure, user_id, mentions)
    waits |= _forget_request(table, erasure, mentions)
    written = [one for one in mentions if one.answer_by == user_id]
    _forget_answers(table, erasure, user_id, written)
    notes = [one for one in mentions if keys.is_note(one.key.sort)]
    _forget(table, erasure, (one.key for one in notes))
    handled = [*said, *written, *notes]
    named = (one for one in mentions if one not in handled and one.record is None)
    others = {one.key.partition for one in named}
    for file in filter(keys.is_file, (one.key for one in mentions)):
        _disown(table, erasure, user_id, keys.in_file(file))
    waits |= bool(others)
    for group_id in filter(ids.is_uuid, sorted(others)):
        _leave(table, queue, erasure, user_id, group_id)
    read_on = erasure._replace(waits=waits, places=tuple(place for _, place in pages))
    table.commit([actions.erasure.save(read_on)])
    return read_on._replace(step=erasure.step + 1)


def _end_pass(table: Table, erasure: Erasure, wait_s: int) -> bool:
    """Return whether the erasure is done. If not, let the next pass begin in `wait_s` seconds."""
    now = table.get([keys.erasure(erasure.erasure_id)]).erasure(erasure.erasure_id)
    if now is None or now.step != erasure.step:
        return False
    at_ms = table.now_ms()
    if now.waits or now.changes != now.changes_before:
        later = ids.timestamp(at_ms + wait_s * 1000)
        table.commit([actions.erasure.save(now.next_pass(not_before=later))])
        return False
    for some in in_batches(table.read.erased_trees(now.erasure_id), ERASED_AT_ONCE):
        for group_id in map(keys.in_erased_tree, some):
            forget_digests(table, group_id)
        table.delete(some)
    table.commit(actions.erasure.end(now, at=ids.timestamp(at_ms)))
    return True


# The user's own trees, memberships and names


def _leave_trees(table: Table, queue: Queue, erasure: Erasure, user_id: str) -> bool:
    """Delete the trees that the user owns, end the other memberships, delete names and pins.

    Return whether there was anything in the user's lists.
    """
    is_empty = True
    for some in in_batches(table.read.keys_of_user(user_id), FORGOTTEN_AT_ONCE):
        is_empty = False
        for row in some:
            if keys.is_user_tree(row.sort):
                place, _ = keys.in_user_tree(row.sort)
                _leave(table, queue, erasure, user_id, place.conversation_id)
        _forget(table, erasure, filter(_is_of_user_alone, some))
    for row, attachment_id in table.read.user_files(user_id):
        _disown(table, erasure, user_id, attachment_id)
        _forget(table, erasure, [row])
    return not is_empty


def _is_of_user_alone(row: Key) -> bool:
    return keys.is_name(row.sort) or keys.is_shelf(row.sort) or keys.is_pins(row.sort)


def _disown(table: Table, erasure: Erasure, user_id: str, attachment_id: str) -> None:
    """Remove an attachment of the user that no entry names, and forget whose any other is."""
    let_go(table, [attachment_id], waits=False)
    refused = table.try_commit(
        [actions.erasure.count(erasure), actions.attachment.disown(attachment_id, user_id)]
    )
    if refused is not None and refused.has(ActionKind.ERASURE):
        raise refused  # another worker has ended the erasure


def _leave(table: Table, queue: Queue, erasure: Erasure, user_id: str, group_id: str) -> None:
    """Delete a tree that the user owns, live or in the trash, or end the user's membership of it.

    The worker that is told of the deletion closes the tree. Nothing is done if the tree is being
    made or deleted.
    """
    for _ in attempts(table, CHANGE):
        wanted = [keys.group(group_id), keys.member(group_id, user_id), keys.transfer_of_group(group_id)]
        found = table.get(wanted)
        group, member = found.group(group_id), found.member(group_id, user_id)
        if group is None or not group.is_kept:
            return
        if group.rewriting == user_id:
            finish_rewriting(table, group_id)
            continue
        if group.spreading is not None and member is not None:
            finish_spreading(table, group_id)
            continue
        if group.owner == user_id:
            counted = actions.erasure.count(erasure, trees=1)
            writes = [counted, *tombstone(group_id, at=table.now(), owner=user_id, kept=True)]
        elif member is not None:
            offered = found.transfer_of_group(group_id)
            writes = [
                actions.erasure.count(erasure, memberships=1),
                actions.group.change_members(
                    group, MemberChange(user_id, member.level, None, table.nonce()), kept=True
                ),
                *actions.member.remove(group, member),
                *actions.transfer.end_offer_to(user_id, group_id, offered),
            ]
        elif group.member_change is not None and group.member_change.user_id == user_id:
            hidden = group.member_change._replace(user_id=erasure.pseudonym)
            writes = [
                actions.erasure.count(erasure),
                actions.group.rename_changed_member(group_id, group.member_change, hidden),
            ]
        else:
            return
        refused = table.try_commit(writes)
        if refused is None:
            if group.owner == user_id:
                queue.announce([group_id])
            return
        if refused.has(ActionKind.ERASURE):
            raise refused  # another worker has ended the erasure
    raise UnavailableError("the members keep changing; try again")


# What the user has written elsewhere


def _erase_what_was_said(table: Table, erasure: Erasure, said: Iterable[Mention]) -> bool:
    """Erase the user's entries and words. Return whether some of them must be looked at again."""
    by_tree: dict[str, list[Mention]] = {}
    for mention in said:
        by_tree.setdefault(mention.key.partition, []).append(mention)
    waits = False
    for group_id, those in by_tree.items():
        waits |= not erase_in_tree(table, erasure, group_id, those)
    return waits


def _forget_records(table: Table, erasure: Erasure, user_id: str, mentions: Iterable[Mention]) -> None:
    """Delete the idempotency records that may hold the user's id or text.

    A recorded answer about a conversation shows a title and a preview. In a tree that this erasure
    has changed, or that is not there any more, they may be the user's.
    """
    recorded = {mention.key: mention.record for mention in mentions if mention.record is not None}
    shown = {
        key: record
        for key, record in recorded.items()
        if record.body and not record.entry_ids and record.group_id != NO_GROUP
    }
    groups = {record.group_id for record in shown.values()}
    trees = {group_id: keys.erased_tree(erasure.erasure_id, group_id) for group_id in groups}
    changed = table.get(trees.values())
    found = table.get(map(keys.group, groups))
    live = {one for one in groups if (group := found.group(one)) is not None and group.is_live}
    unwanted = (
        key
        for key, record in recorded.items()
        if erasures.names(record.body, user_id)
        or (key in shown and (record.group_id not in live or trees[record.group_id] in changed))
    )
    _forget(table, erasure, unwanted)


def _forget_request(table: Table, erasure: Erasure, mentions: Iterable[Mention]) -> bool:
    """Delete the record of the request that began the erasure. It has a hash of the user's id.

    The first pass leaves it, so that the request can be repeated as long as an answer may be waited
    for. Return whether it was left. Nobody writes it again, so its deletion needs no more passes.
    """
    own = [
        mention.key
        for mention in mentions
        if mention.record is not None and mention.record.conversation_id == erasure.erasure_id
    ]
    if erasure.passes > 1:
        table.delete(own)
        return False
    return bool(own)


def _forget_answers(table: Table, erasure: Erasure, user_id: str, written: Iterable[Mention]) -> None:
    """End the answers that the user writes, and delete their logs, but for the end.

    HEAD may name an answer that has expired.
    """

    def end(group_id: str, answer_id: str, last: Part) -> ConditionFailed | None:
        head = table.get([keys.head(group_id, last.conversation_id)]).head(group_id, last.conversation_id)
        ended = drop(table, AnswerRef(group_id, answer_id), last, head)
        refused = table.try_commit([actions.erasure.count(erasure), *ended])
        if refused is not None and refused.has(ActionKind.ERASURE):
            raise refused  # another worker has ended the erasure
        return refused

    heads = {one.answer: one.key for one in written if keys.is_head(one.key.sort)}
    for of in dict.fromkeys(one.answer for one in written if one.answer is not None):
        unwanted = end_log(table, AnswerRef(*of), partial(end, *of))
        if of in heads:
            forgotten = actions.answer.forget(heads[of], user_id)
            table.try_commit([actions.erasure.count(erasure), forgotten])
        _forget(table, erasure, unwanted)


def _forget(table: Table, erasure: Erasure, unwanted: Iterable[Key]) -> None:
    for some in in_batches(unwanted, FORGOTTEN_AT_ONCE):
        table.commit([actions.erasure.count(erasure), *actions.erasure.forget(some)])


# Of one tree: entries, and titles and previews that were made of them. An erased entry keeps its
# place, so that no fork, cursor or epoch changes (`domain/erasures.py`).


def erase_in_tree(table: Table, erasure: Erasure, group_id: str, mentions: Sequence[Mention]) -> bool:
    """Erase entries of a tree, and remove titles and previews that are the user's words.

    Before that, contexts lose their digests, and conversations what older versions made of texts.
    Return whether all is done: nothing is if the tree is neither live nor in the trash, and what
    has changed since it was read stays for the next pass.
    """
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or not group.is_kept:
        return False
    if any(one.entry and one.entry.entry.channel is Channel.CONTEXT for one in mentions):
        forget_digests(table, group_id)
    if any(one.entry for one in mentions):
        _forget_unsigned(table, group_id, mentions)
    _drop_references(table, group_id, mentions)
    left, most, is_done = list(mentions), (WRITES_MAX, TRANSACTION_BYTES_MAX), True
    while left:
        portion = next(packs(left, most, partial(_size, group)))
        writes = {one.key: _erasing(erasure, group, one) for one in portion}
        refused = table.try_commit(
            [
                actions.erasure.count(erasure, entries=sum(one.entry is not None for one in portion)),
                actions.erasure.note_tree(erasure, group_id),
                *([actions.group.note_erasure(group)] if any(map(_is_history, portion)) else []),
                *chain.from_iterable(writes.values()),
            ]
        )
        if refused is None:
            left = left[len(portion) :]
            continue
        if refused.has(ActionKind.ERASURE):
            raise refused
        is_done = False
        if refused.has(ActionKind.GROUP):
            break  # an entry of the tree has got the first vector
        left = [one for one in left if not any(refused.has(*action.id) for action in writes.get(one.key, ()))]
    return is_done


def _drop_references(table: Table, group_id: str, mentions: Iterable[Mention]) -> None:
    """Remove what says that entries name attachments, and those that nobody else names.

    The entries still name them, so it is done again where it was stopped.
    """
    layouts = [one.entry.layout for one in mentions if one.entry is not None]
    table.delete(references_of(group_id, layouts))
    let_go(table, (named for one in layouts for named in one.attachment_ids))


def forget_digests(table: Table, group_id: str) -> None:
    """Remove the digests of a tree's contexts, but for those that change meanwhile."""
    for digest in table.read.known_contexts(group_id):
        table.try_commit([actions.context.forget_digest(digest)])


def _forget_unsigned(table: Table, group_id: str, mentions: Sequence[Mention]) -> None:
    """Remove the tree's previews that have no author, and such titles that an entry would give.

    Data of older versions has no authors.
    """
    unsigned = list(table.read.unsigned_words(group_id))
    titles: set[str] = set()
    if any(not keys.is_head(key.sort) for key, _ in unsigned):
        said = [one.entry for one in mentions if one.entry and one.entry.entry.channel is Channel.HISTORY]
        texts = (content.history_text(read_value(table.content_of(group_id, one) or "[]")) for one in said)
        titles = {text[: content.TITLE_CHARACTERS] for text in texts if text}
    for key, words in unsigned:
        if keys.is_head(key.sort) or words in titles:
            table.try_commit([actions.conversation.forget_unsigned(key, words)])


def _is_history(mention: Mention) -> bool:
    return mention.entry is not None and mention.entry.entry.channel is Channel.HISTORY


def _size(tree: Group, mention: Mention) -> tuple[int, int]:
    """Return about how many actions and bytes erase what names the user."""
    stored = mention.entry
    if stored is None:
        return 1, 0
    vectors = PIECES_MAX if tree.embedded and _is_history(mention) else 0
    return 2 + stored.chunks + vectors, bodies.stored_bytes(stored)


def _erasing(erasure: Erasure, tree: Group, mention: Mention) -> list[Action]:
    if mention.entry is None:
        return [actions.conversation.forget_words(mention.key, erasure.user_id or "")]
    rest = erased(mention.entry.entry, pseudonym=erasure.pseudonym)
    group_id = mention.key.partition
    writes = actions.entry.erase(group_id, mention.entry, rest, escaped_bytes=answer_bytes(rest))
    if tree.embedded and _is_history(mention):
        writes += actions.vector.delete(group_id, rest.conversation_id, rest.entry_id)
    return writes
