"""Short functions for requests of callers, and for what callers see."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.model import Caller, Channel, Description, Entry, ForkPosition
from forklore_service.errors import ConflictError
from forklore_service.storage.table import Table
from forklore_service.usecases.answers.reading import Answer, get_answer
from forklore_service.usecases.answers.writing import (
    Beginning,
    append_part,
    begin_answer,
    drop_answer,
    stop_answer,
)
from forklore_service.usecases.branches import forks, promotion
from forklore_service.usecases.branches.forks import ForkRequest
from forklore_service.usecases.reading import entries
from forklore_service.usecases.reading.entries import EntryPage, ListEntriesRequest, PageStart
from forklore_service.usecases.shared.appended import Appended
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing import conversations
from forklore_service.usecases.writing.append import append_entries, append_turn
from forklore_service.usecases.writing.conversations import NewConversation
from tests.support.tables import Store

ANN, BOB, EVE = Caller("ann"), Caller("bob"), Caller("eve")
PLANNER, CODER = Caller("ann", "planner"), Caller("ann", "coder")
H, C = Channel.HISTORY, Channel.CONTEXT
BEFORE, AFTER, BLANK = ForkPosition


def conversation(number: int) -> str:
    """Return the id of a conversation."""
    return f"{number:08x}-0000-4000-8000-000000000000"


ROOT, FORK, TWIG, OTHER = (conversation(number) for number in range(1, 5))


def said(text: str, **more: Any) -> Draft:
    """Return a message for the history. more: of the draft."""
    return Draft.of(H, "history", text_of([{"role": "USER", "text": text}]), **more)


def thought(text: str, epoch: int | None = None, **more: Any) -> Draft:
    """Return an entry for the context. more: of the draft."""
    return Draft.of(C, "application/json", text_of([text]), epoch=epoch, **more)


def large(size: int, channel: Channel = H) -> Draft:
    """Return an entry whose content has `size` bytes in an answer, and compresses well."""
    text = '["' + "x" * (size - 6) + '"]'
    return Draft.of(channel, "application/json", text_of(json.loads(text)))


def append(
    table: Table,
    conversation_id: str,
    *drafts: Draft | str,
    by: Caller = ANN,
    fork: tuple[str, EntryId | None] | None = None,
    if_match: EntryId | None = None,
    idempotency_key: IdempotencyKey | None = None,
) -> list[Entry]:
    """Append. A plain text is a message. fork: the source, and the first entry not inherited."""
    request = Append(
        conversation_id,
        [said(draft) if isinstance(draft, str) else draft for draft in drafts],
        fork=Fork(*fork, BEFORE if fork[1] else BLANK) if fork else None,
        if_match=if_match,
        idempotency_key=idempotency_key,
    )
    return append_entries(table, caller=by, request=request)


def say(
    table: Table,
    conversation_id: str,
    *drafts: Draft | str,
    by: Caller = ANN,
    if_match: EntryId | None = None,
) -> list[EntryId]:
    """Append, and return the new entries' ids."""
    return [entry.entry_id for entry in append(table, conversation_id, *drafts, by=by, if_match=if_match)]


def turn(
    table: Table,
    conversation_id: str,
    *drafts: Draft | str,
    context: Sequence[Any],
    by: Caller = PLANNER,
    **what: Any,
) -> Appended:
    """Append, with the agent's whole present context."""
    request = Append(
        conversation_id,
        [said(draft) if isinstance(draft, str) else draft for draft in drafts],
        context=Draft.of(C, "application/json", text_of(list(context))),
        **what,
    )
    return append_turn(table, caller=by, request=request)


def _described(what: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request. Those of its description are one field of it."""
    said = {name: what.pop(name) for name in Description._fields if name in what}
    return {**what, "described": Description(**said)}


def create(
    table: Table,
    conversation_id: str | None = ROOT,
    *,
    by: Caller = ANN,
    idempotency_key: IdempotencyKey | None = None,
    **what: Any,
) -> ConversationDetails:
    request = NewConversation(conversation_id, **_described(what))
    return conversations.create_conversation(
        table, caller=by, request=request, idempotency_key=idempotency_key
    )


def fork(
    table: Table,
    source_id: str = ROOT,
    fork_id: str | None = FORK,
    anchor: EntryId | None = None,
    position: ForkPosition | None = None,
    *,
    by: Caller = ANN,
    idempotency_key: IdempotencyKey | None = None,
    **what: Any,
) -> ConversationDetails:
    """Fork at an entry, by default before it. Without an entry, fork at the head.

    The key's record has the answer of the one fork, as the API's without a count.
    """
    position = position or (BEFORE if anchor else AFTER)
    where = Fork(source_id, anchor, position, what.pop("anchor_key", None))
    request = ForkRequest(where, fork_id, **_described(what))
    if idempotency_key is not None:
        render_one = idempotency_key.render
        idempotency_key = idempotency_key._replace(render=lambda made: render_one(made[0]))
    made = forks.fork_conversation(table, caller=by, request=request, idempotency_key=idempotency_key)
    return made[0]


def promote(
    table: Table,
    conversation_id: str = FORK,
    *,
    by: Caller = ANN,
    idempotency_key: IdempotencyKey | None = None,
) -> None:
    promotion.promote_conversation(
        table, caller=by, conversation_id=conversation_id, idempotency_key=idempotency_key
    )


def show(table: Table, conversation_id: str = ROOT, *, by: Caller = ANN) -> ConversationDetails:
    return conversations.get_conversation(table, caller=by, conversation_id=conversation_id)


def page(
    table: Table,
    conversation_id: str = ROOT,
    *,
    by: Caller = ANN,
    limit: int = 1_000,
    after: EntryId | None = None,
    before: EntryId | None = None,
    tail: bool = False,
    **what: Any,
) -> EntryPage:
    request = ListEntriesRequest(conversation_id, PageStart(after, before, tail), limit, **what)
    return entries.list_entries(table, caller=by, request=request)


def texts(entries: Sequence[Entry]) -> list[str]:
    """Return the texts of the entries."""
    elements = [json.loads(entry.content)[0] for entry in entries]
    return [element["text"] if isinstance(element, dict) else element for element in elements]


def read(table: Table, conversation_id: str = ROOT, *, by: Caller = ANN, **what: Any) -> list[str]:
    """Return the texts of all entries that a conversation shows."""
    return texts(page(table, conversation_id, by=by, **what).entries)


def idempotency_key(key: str = "k", *, by: Caller = ANN, body: str = "body") -> IdempotencyKey:
    """Return an Idempotency-Key as the API gives it to a use case."""
    scope = f"{by.user_id}/{by.client_id}/{key}"

    def of_conversation(conversation_id: str) -> keys.Key:
        return keys.idempotency(f"{scope}/{conversation_id}")

    return IdempotencyKey(keys.idempotency(scope), body, str, of_conversation)


def answer(make: Callable[[], object]) -> str:
    """Return the answer's text as the API does: of the effect, or of the record."""
    try:
        return str(make())
    except IdempotentReplay as before:
        return before.record.body


# Answers that are written piece by piece


A, B = conversation(70), conversation(71)
"""Ids of answers."""


def begin(
    table: Table,
    answer_id: str = A,
    *,
    by: Caller = ANN,
    of: str = ROOT,
    idempotency_key: IdempotencyKey | None = None,
    after: EntryId | None = None,
    after_key: str | None = None,
    if_match: EntryId | None = None,
    take_over: bool | None = None,
) -> Answer:
    request = Beginning(of, answer_id, after, after_key, if_match=if_match, take_over=take_over)
    return begin_answer(table, caller=by, request=request, idempotency_key=idempotency_key)


def write(
    table: Table, after: int, text: str = '["x"]', *, by: Caller = ANN, of: str = ROOT, to: str = A
) -> int:
    return append_part(table, caller=by, conversation_id=of, answer_id=to, after=after, content=text)


def stop(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT) -> Answer:
    return stop_answer(table, caller=by, conversation_id=of, answer_id=answer_id)


def drop(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT) -> None:
    drop_answer(table, caller=by, conversation_id=of, answer_id=answer_id)


def shown(table: Table, answer_id: str = A, *, by: Caller = ANN, of: str = ROOT, after: int = 0) -> Answer:
    return get_answer(table, caller=by, conversation_id=of, answer_id=answer_id, after=after)


def finish(
    table: Table,
    text: str = "Because.",
    *,
    answer_id: str = A,
    by: Caller = ANN,
    to: str = ROOT,
    forked: Fork | None = None,
    if_match: EntryId | None = None,
    key: IdempotencyKey | None = None,
) -> Entry:
    request = Append(
        to, [said(text)], fork=forked, if_match=if_match, finishes=answer_id, idempotency_key=key
    )
    return append_entries(table, caller=by, request=request)[-1]


def conflict(act: Callable[[], object]) -> dict[str, object]:
    """Return what the conflict of an action says, without its message."""
    with pytest.raises(ConflictError) as raised:
        act()
    return {name: held for name, held in raised.value.details.items() if name != "message"}


def standing(table: Table, of: str = ROOT) -> tuple[str, str | None] | None:
    """Return the answer that a conversation shows, and its state."""
    found = show(table, of).answering
    return None if found is None else (found.answer.answer_id, found.state)


def log(store: Store, answer_id: str = A) -> list[str]:
    """Return the kinds of the parts of a log, in order."""
    partition = keys.part(ROOT, answer_id, 0).partition
    return [item["kind"]["S"] for key, item in sorted(store.contents().items()) if key.partition == partition]
