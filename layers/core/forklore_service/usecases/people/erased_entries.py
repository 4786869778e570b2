"""Erase what a user has said in one tree: entries, and titles and previews that were made of them.

An erased entry keeps its place, so that no fork, cursor or epoch changes (`domain/erasures.py`).
"""

from collections.abc import Sequence
from itertools import chain

from forklore_service.domain import content, keys
from forklore_service.domain.erasures import Erasure, Mention, erased
from forklore_service.domain.jsontext import read_value
from forklore_service.domain.model import Channel
from forklore_service.limits import packs
from forklore_service.storage import actions, bodies
from forklore_service.storage.actions import Action, ActionKind
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.drafts import TRANSACTION_BYTES_MAX, answer_bytes

WRITES_MAX = 80
"""Entries, chunks and keys that one transaction erases. DynamoDB allows 100 actions."""


def erase_in_tree(table: Table, erasure: Erasure, group_id: str, mentions: Sequence[Mention]) -> bool:
    """Erase entries of a live tree, and remove titles and previews that are the user's words.

    Before that, contexts lose their digests, and conversations what older versions made of texts.
    Return whether all is done: nothing is if the tree is not live, and what has changed since it
    was read stays for the next pass.
    """
    group = table.get([keys.group(group_id)]).group(group_id)
    if group is None or not group.is_live:
        return False
    if any(one.entry and one.entry.entry.channel is Channel.CONTEXT for one in mentions):
        forget_digests(table, group_id)
    if any(one.entry for one in mentions):
        _forget_unsigned(table, group_id, mentions)
    left, most, is_done = list(mentions), (WRITES_MAX, TRANSACTION_BYTES_MAX), True
    while left:
        portion = next(packs(left, most, _size))
        writes = {one.key: _erasing(erasure, one) for one in portion}
        refused = table.try_commit(
            [
                actions.erasure.count(erasure, entries=sum(one.entry is not None for one in portion)),
                actions.erasure.note_tree(erasure, group_id),
                *chain.from_iterable(writes.values()),
            ]
        )
        if refused is None:
            left = left[len(portion) :]
            continue
        if refused.has(ActionKind.ERASURE):
            raise refused
        is_done = False
        left = [one for one in left if not any(refused.has(*action.id) for action in writes.get(one.key, ()))]
    return is_done


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


def _size(mention: Mention) -> tuple[int, int]:
    """Return about how many actions and bytes erase what names the user."""
    stored = mention.entry
    return (2 + stored.chunks, bodies.stored_bytes(stored)) if stored else (1, 0)


def _erasing(erasure: Erasure, mention: Mention) -> list[Action]:
    if mention.entry is None:
        return [actions.conversation.forget_words(mention.key, erasure.user_id or "")]
    rest = erased(mention.entry.entry, pseudonym=erasure.pseudonym)
    group_id = mention.key.partition
    return actions.entry.erase(group_id, mention.entry, rest, escaped_bytes=answer_bytes(rest))
