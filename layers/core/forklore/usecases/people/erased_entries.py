"""Erase the entries of a user in one tree, with the titles and previews that were made of them.

An erased entry keeps its place, so that no fork, cursor or epoch changes (`domain/erasures.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from forklore.domain import content, jsontext, keys
from forklore.domain.erasures import Erasure, erased
from forklore.domain.model import Channel, StoredEntry
from forklore.domain.tree import Group
from forklore.errors import UnavailableError
from forklore.limits import packs
from forklore.storage import actions, bodies
from forklore.storage.actions import Action, ActionKind, ConditionFailed
from forklore.storage.table import Table
from forklore.usecases.deletion.closing_trees import in_batches
from forklore.usecases.steps.drafts import TRANSACTION_BYTES_MAX, answer_bytes
from forklore.usecases.steps.optimistic import CHANGE, attempts

WRITES_MAX = 80
"""Entries, chunks and keys that one transaction erases. DynamoDB allows 100 actions."""


class _Texts(NamedTuple):
    """What the erased entries may have given to conversations: titles, and previews."""

    titles: frozenset[str]
    previews: frozenset[str]


def erase_entries(table: Table, erasure: Erasure, group_id: str, entries: Sequence[StoredEntry]) -> bool:
    """Erase entries of a live tree. Return False, and do nothing, if the tree is not live.

    First the conversations lose the titles and previews that were made of these entries, and the
    contexts their digests. A fork takes them from its source, so every transaction checks that no
    branch has come or gone since the conversations were read. Raises UnavailableError.
    """
    texts = _texts_of(table, group_id, entries)
    has_context = any(one.entry.channel is Channel.CONTEXT for one in entries)
    left, most = list(entries), (WRITES_MAX, TRANSACTION_BYTES_MAX)
    for _ in attempts(table, CHANGE):
        group = table.get([keys.group(group_id)]).group(group_id)
        if group is None or not group.is_live:
            return False
        refused = None
        digests = forgotten_digests(table, group_id) if has_context else ()
        for some in in_batches(chain(_stale_texts(table, group_id, texts), digests), WRITES_MAX):
            refused, group = _commit(table, erasure, group, some)
            if refused is not None:
                break
        while left and refused is None:
            portion = next(packs(left, most, lambda one: (2 + one.chunks, bodies.stored_bytes(one))))
            writes = [action for one in portion for action in _erasing(erasure, group_id, one)]
            refused, group = _commit(table, erasure, group, writes, entries=len(portion))
            if refused is None:
                left = left[len(portion) :]
        if refused is None:
            return True
        if refused.has(ActionKind.ERASURE):
            raise refused
        left = [one for one in left if not refused.has(ActionKind.ENTRY, one.entry_id)]
    raise UnavailableError("the tree keeps changing; try again")


def _texts_of(table: Table, group_id: str, entries: Sequence[StoredEntry]) -> _Texts:
    """Return the titles and previews that these entries make."""
    texts = set[str]()
    for stored in entries:
        if stored.entry.channel is Channel.HISTORY:
            body = table.content_of(group_id, stored, is_consistent=True)
            text = content.history_text(jsontext.read_value(body)) if body is not None else None
            texts |= {text} if text else set()
    return _Texts(
        frozenset(text[: content.TITLE_CHARACTERS] for text in texts),
        frozenset(text[: content.PREVIEW_CHARACTERS] for text in texts),
    )


def _stale_texts(table: Table, group_id: str, texts: _Texts) -> Iterator[Action]:
    """Yield the actions that remove these titles and previews from the tree's conversations."""
    for conversation_id, preview in table.read.previews(group_id):
        if preview in texts.previews and preview is not None:
            yield actions.conversation.remove_preview(group_id, conversation_id, was=preview)
    for conversation_id, title in table.read.titles(group_id):
        if title in texts.titles and title is not None:
            yield actions.conversation.remove_title(group_id, conversation_id, was=title)


def forgotten_digests(table: Table, group_id: str) -> Iterator[Action]:
    """Yield the actions that remove the digests of a tree's contexts."""
    return map(actions.context.forget_digest, table.read.known_contexts(group_id))


def _erasing(erasure: Erasure, group_id: str, stored: StoredEntry) -> list[Action]:
    rest = erased(stored.entry, pseudonym=erasure.pseudonym)
    return actions.entry.erase(group_id, stored, rest, escaped_bytes=answer_bytes(rest))


def _commit(
    table: Table, erasure: Erasure, group: Group, writes: Sequence[Action], *, entries: int = 0
) -> tuple[ConditionFailed | None, Group]:
    """Change texts of a tree if it is as it was read. Return the refusal, and the changed tree."""
    counted = [
        actions.erasure.count(erasure, entries=entries),
        actions.erasure.note_tree(erasure, group.group_id),
        actions.group.change_texts(group),
    ]
    refused = table.try_commit([*counted, *writes])
    return refused, group._replace(version=group.version + 1)
