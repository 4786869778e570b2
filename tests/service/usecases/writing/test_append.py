import threading
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.model import Caller, Entry, Metrics, TokenUsage, Words
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    GroupFullError,
    NotFoundError,
    PayloadTooLargeError,
    UnavailableError,
)
from forklore_service.limits import ENTRY_BYTES_MAX, PAGE_BYTES_MAX, escaped_size
from forklore_service.storage import cache, items
from forklore_service.storage.clock import Clock, system_ms
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing import conversations
from forklore_service.usecases.writing.append import append_turn
from forklore_service.usecases.writing.conversations import Patch
from tests.service.usecases.branches.test_children import start
from tests.service.usecases.builders import (
    ANN,
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    H,
    append,
    conflict,
    create,
    fork,
    idempotency_key,
    large,
    page,
    read,
    said,
    say,
    show,
    texts,
    thought,
    turn,
)
from tests.support.tables import Store, WrongClock
from tools.harness.tables import NAME
from tools.harness.wire import Request, Wire

MINUTE_MS = 60_000
LIFETIME_MS = 65 * 365 * 24 * 60 * MINUTE_MS
WRITE = "TransactWriteItems"


def last_of(table: Table, conversation_id: str = ROOT) -> EntryId:
    return show(table, conversation_id).head.last


# The effects of an append


def test_an_unknown_conversation_is_created_by_its_first_entry(store: Store, table: Table) -> None:
    (entry,) = append(table, ROOT, said("Hello there", agent_id="helper"), by=PLANNER)

    shown = show(table)
    assert (shown.conversation.conversation_id, shown.head.owner, shown.level) == (ROOT, "ann", "owner")
    assert shown.conversation.described.title == "Hello there"
    assert shown.conversation.client_id == "planner"
    assert shown.conversation.agent_id == "helper"
    assert shown.conversation.created_at == shown.head.updated_at == ids.created_at(entry.entry_id)
    assert (shown.head.last, shown.head.last_history) == (entry.entry_id, entry.entry_id)
    assert (shown.head.history, shown.head.context) == (1, 0)
    assert {key.sort.partition("#")[0] for key in store.contents() if not key.sort[0].isdigit()} == {
        *("PTR", "GROUP", "CONV", "HEAD", "TREE", "MEM")
    }
    assert len(store.contents()) == 8


def test_an_entry_is_read_as_it_was_answered(table: Table) -> None:
    content = text_of([{"role": "USER", "text": "1e400 \0 \ufeff é e\u0301 😀", "n": [1.0, -0.0, 10**30]}])
    draft = Draft.of(H, "history/x", content, agent_id="a", used=TokenUsage(1), usage='{"inputTokens": 1.0}')

    appended = append(table, ROOT, draft, by=PLANNER)

    assert page(table, by=PLANNER).entries == appended
    assert appended[0].content == content.text
    assert (appended[0].user_id, appended[0].client_id, appended[0].agent_id) == ("ann", "planner", "a")
    assert appended[0].usage == '{"inputTokens": 1.0}'


def test_a_batch_is_appended_in_the_order_sent_and_counted_once(table: Table) -> None:
    say(table, ROOT, "first")
    batch = [said(str(at), used=TokenUsage(at, 2, 3, 4)) for at in range(50)]

    appended = append(table, ROOT, *batch)

    assert read(table) == ["first", *map(str, range(50))]
    ordered = [entry.entry_id for entry in appended]
    assert ordered == sorted(ordered)
    head = show(table).head
    assert head.metrics == Metrics(51, TokenUsage(sum(range(50)), 100, 150, 200))
    assert (head.history, head.last, head.preview) == (51, ordered[-1], Words("49", "ann"))


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_metrics_and_preview_follow_the_appends(table: Table, is_known: bool) -> None:
    if is_known:
        create(table)
        show(table)
    append(table, ROOT, said("x" * 200, used=TokenUsage(5, 6, 7, 8)), thought("silent"), by=PLANNER)
    append(table, ROOT, Draft.of(H, "blob", text_of([1])))

    head = show(table).head
    assert head.metrics == Metrics(3, TokenUsage(5, 6, 7, 8))
    assert (head.history, head.context) == (2, 1)
    assert head.preview == Words("x" * 100, "ann")


# Titles


@pytest.mark.parametrize(
    ("drafts", "title"),
    [
        ([said("é" * 41)], "é" * 40),
        ([thought("no title"), said("one"), said("two")], "one"),
        ([Draft.of(H, "opaque", text_of([1, {"text": "second"}])), said("first text")], "first text"),
        ([Draft.of(H, "opaque", text_of([{"text": "opaque but a text"}]))], "opaque but a text"),
        ([thought("only context")], None),
        ([Draft.of(H, "opaque", text_of([]))], None),
        ([said("")], None),
    ],
)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "untitled so far"])
def test_the_first_history_text_is_the_title(
    table: Table, drafts: list[Draft], title: str | None, is_new: bool
) -> None:
    if not is_new:
        create(table, by=PLANNER)
    append(table, ROOT, *drafts, by=PLANNER)

    assert show(table).conversation.described.title == title

    say(table, ROOT, "a later text")
    assert show(table).conversation.described.title == (title or "a later text")


def test_a_title_that_was_given_stays(table: Table) -> None:
    create(table, title="given")
    say(table, ROOT, "text")

    assert show(table).conversation.described.title == "given"


@pytest.mark.parametrize("knows", [True, False], ids=["this process cleared it", "another did"])
def test_a_title_that_was_cleared_stays_empty(store: Store, table: Table, knows: bool) -> None:
    create(table)
    show(table)
    other = table if knows else store.process()
    clear(other)
    say(table, ROOT, "text")

    assert show(table).conversation.described.title is None


def clear(table: Table) -> None:
    conversations.update_conversation(table, caller=ANN, conversation_id=ROOT, change=Patch({"title": None}))


# Access


def warm(store: Store, *, by: Caller = ANN) -> Table:
    """Return a process that has the root in its cache."""
    table = store.process()
    show(table, by=by)
    return table


def cold(store: Store, *, by: Caller = ANN) -> Table:
    """Return a process with an empty cache."""
    return store.process()


PROCESSES = pytest.mark.parametrize("process", [warm, cold])


@PROCESSES
@pytest.mark.parametrize("level", [AccessLevel.READER, None])
def test_a_reader_and_a_stranger_may_not_append(
    store: Store, table: Table, process: Callable[[Store], Table], level: AccessLevel | None
) -> None:
    say(table, ROOT, "ann's")
    if level:
        store.add_member(ROOT, "bob", level)
    mine = process(store)

    with store.refuses(ForbiddenError):
        append(mine, ROOT, "bob's", by=BOB)


@pytest.mark.failure("write-during-revocation")
@pytest.mark.parametrize("level", [AccessLevel.READER, None], ids=["downgraded", "removed"])
def test_a_membership_taken_away_before_the_write_is_403(
    store: Store, table: Table, level: AccessLevel | None
) -> None:
    say(table, ROOT, "ann's")
    store.add_member(ROOT, "bob")
    say(table, ROOT, "bob's", by=BOB)

    def revoke() -> None:
        if level:
            store.change(keys.member(ROOT, "bob"), level=text(level))
        else:
            store.remove_member(ROOT, "bob")
        before.update(store.contents())

    before: dict[keys.Key, Item] = {}
    Wire.of(table).just_before(WRITE, revoke)
    with pytest.raises(ForbiddenError):
        say(table, ROOT, "too late", by=BOB)

    assert store.contents() == before


def transfer(store: Store) -> None:
    """Make bob the owner and ann a manager, as an accepted transfer does."""
    store.change(keys.group(ROOT), owner=text("bob"))
    store.change(keys.head(ROOT, ROOT), owner=text("bob"))
    store.change(keys.member(ROOT, "bob"), level=text(AccessLevel.OWNER))
    store.change(keys.member(ROOT, "ann"), level=text(AccessLevel.MANAGER))


@pytest.mark.parametrize("caller", [ANN, BOB], ids=["the old owner", "the new owner"])
def test_a_process_that_has_not_seen_a_transfer_appends_for_both_owners(
    store: Store, table: Table, caller: Caller
) -> None:
    say(table, ROOT, "a")
    store.add_member(ROOT, "bob")
    show(table)
    transfer(store)

    say(table, ROOT, "b", by=caller)

    assert read(table) == ["a", "b"]


def test_a_removed_former_owner_is_403_in_a_process_that_has_not_seen_the_transfer(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "a")
    show(table)
    store.add_member(ROOT, "bob")
    transfer(store)
    store.remove_member(ROOT, "ann")

    with store.refuses(ForbiddenError):
        say(table, ROOT, "b")


# Races for a new id


@pytest.mark.failure("two-appenders")
def test_of_two_first_appends_by_one_user_one_creates_and_the_other_follows(
    store: Store, table: Table
) -> None:
    Wire.of(table).just_before(WRITE, lambda: say(store.process(), ROOT, "rival"))

    say(table, ROOT, "mine")

    assert read(table) == ["rival", "mine"]
    shown = show(table)
    assert (shown.conversation.described.title, shown.head.history) == ("rival", 2)
    assert store.item(keys.group(ROOT))["conversations"] == number(1)


def test_an_append_that_loses_to_a_fork_is_a_plain_append_to_the_fork(store: Store, table: Table) -> None:
    say(table, ROOT, "inherited")
    Wire.of(table).just_before(WRITE, lambda: fork(store.process(), ROOT, FORK))

    say(table, FORK, "mine")

    assert read(table, FORK) == ["inherited", "mine"]
    assert store.item(keys.pointer(FORK))["group"] == text(ROOT)


# Own first attempts


def answer_lost(table: Table, *, times: int = 1) -> Wire:
    """Let the next writes succeed, but lose their answers."""
    wire = Wire.of(table)
    lost = 0

    def lose(request: Request, answer: dict[str, Any]) -> None:
        nonlocal lost
        lost += request.operation == WRITE
        if request.operation == WRITE and lost <= times and "Error" not in answer:
            raise ReadTimeoutError(endpoint_url="https://dynamodb")

    wire.after(lose)
    return wire


@pytest.mark.failure("own-first-attempt")
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
@pytest.mark.parametrize("drafts", [["once"], ["once", "and", "for all"]], ids=["one", "batch"])
def test_an_append_recognizes_its_own_first_attempt(
    store: Store, table: Table, drafts: list[str], is_new: bool
) -> None:
    """The failed condition returns the old item, which has the nonce of the request."""
    before = [] if is_new else ["before"]
    if before:
        say(table, ROOT, *before)
    wire = answer_lost(table)

    appended = append(table, ROOT, *drafts)

    assert wire.operations.count(WRITE) >= 2  # moto ignores the token, so the nonce decides.
    assert read(table) == [*before, *drafts]
    assert page(table).entries[len(before) :] == appended
    assert show(table).head.metrics.entries == len(before + drafts)


def test_an_append_whose_id_another_entry_has_takes_a_new_one(store: Store) -> None:
    future = store.process(clock=WrongClock(LIFETIME_MS))  # Then only the step decides the next id.
    say(future, ROOT, "a")
    steps = iter([0])
    random = Random(1)
    table = store.process(random=lambda bits: next(steps, 7) if bits == 32 else random.getrandbits(bits))
    taken = ids.next_id(last_of(table))
    another = Entry(taken, TWIG, "ann", H, "h", "[]")
    planted, _ = items.entry_items(ROOT, another, nonce="x", escaped_bytes=2)
    store.put(planted)

    (entry_id,) = say(table, ROOT, "b")

    assert entry_id > taken
    assert read(table) == ["a", "b"]
    assert store.item(keys.entry(ROOT, taken)) == planted


def test_an_append_that_fails_eight_times_is_503_and_has_at_most_one_effect(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "before")

    def lose(_request: Request, _answer: dict[str, Any]) -> None:
        raise ReadTimeoutError(endpoint_url="https://dynamodb")

    show(table)
    wire = Wire.of(table)
    wire.after(lose)
    with pytest.raises(UnavailableError):
        say(table, ROOT, "perhaps")

    assert len(wire.requests) == 8
    assert read(store.process()) == ["before", "perhaps"]


@pytest.mark.parametrize("conversation_id", [ROOT, OTHER], ids=["known", "new"])
def test_a_request_without_time_left_sends_no_request(
    store: Store, table: Table, conversation_id: str
) -> None:
    say(table, ROOT, "a")
    late = store.process(seconds=0)
    wire = Wire.of(late)

    with store.refuses(UnavailableError):
        say(late, conversation_id, "b")

    assert wire.requests == []


# Order and time


@pytest.mark.failure("two-appenders")
@pytest.mark.parametrize("rival_ms", [5 * MINUTE_MS, LIFETIME_MS], ids=["5 minutes", "65 years"])
def test_an_append_comes_after_entries_of_a_faster_clock(store: Store, rival_ms: int) -> None:
    """Both appends succeed, in one order."""
    table = store.process()
    say(table, ROOT, "first")
    show(table)
    rival = store.process(clock=WrongClock(rival_ms))
    Wire.of(table).just_before(WRITE, lambda: say(rival, ROOT, "rival"))

    (mine,) = say(table, ROOT, "mine")

    assert read(table) == ["first", "rival", "mine"]
    rivals = page(table).entries[1].entry_id
    assert ids.milliseconds_of(rivals) - system_ms() > rival_ms - MINUTE_MS
    assert last_of(table) == mine > rivals


@pytest.mark.failure("wrong-clock")
@pytest.mark.parametrize("off_ms", [11 * MINUTE_MS, -11 * MINUTE_MS])
def test_a_process_whose_clock_is_ten_minutes_off_reads_but_does_not_append(
    store: Store, off_ms: int
) -> None:
    say(store.process(), ROOT, "a")
    table = store.process(clock=Clock(lambda: system_ms() + off_ms))

    assert read(table) == ["a"]
    for conversation_id in (ROOT, OTHER):
        with store.refuses(UnavailableError):
            say(table, conversation_id, "b")


# The cache


@pytest.mark.parametrize(
    "make",
    [
        lambda t: create(t, TWIG, by=PLANNER),
        lambda t: append(t, TWIG, "x", thought("y"), by=PLANNER),
        lambda t: fork(t, ROOT, TWIG, by=PLANNER),
        lambda t: append(t, TWIG, "x", fork=(ROOT, None), by=PLANNER),
        lambda t: start(t, child_key=TWIG, by=PLANNER),
        lambda t: turn(t, TWIG, "x", context=["y"], by=PLANNER),
    ],
    ids=["create", "append", "fork", "fork by appending", "child", "turn"],
)
def test_a_process_does_not_read_what_it_has_just_written(
    table: Table, make: Callable[[Table], object]
) -> None:
    say(table, ROOT, "a")
    make(table)
    wire = Wire.of(table)

    append(table, TWIG, "x", by=PLANNER)

    assert wire.operations == [WRITE]


def test_who_makes_a_conversation_appends_context_to_it_without_a_read(table: Table) -> None:
    create(table, by=PLANNER)
    wire = Wire.of(table)

    append(table, ROOT, thought("x"), by=PLANNER)

    assert wire.operations == [WRITE]


# If-Match


def test_a_process_knows_the_epoch_that_it_has_written_itself(table: Table) -> None:
    say(table, ROOT, "a")
    append(table, ROOT, thought("b"), by=PLANNER)
    wire = Wire.of(table)

    append(table, ROOT, thought("c"), by=PLANNER)

    assert [request.operation for request in wire.requests] == [WRITE]


def test_if_match_fails_for_an_unknown_conversation(store: Store, table: Table) -> None:
    with store.refuses(ConflictError) as raised:
        append(table, ROOT, "a", if_match=ids.fresh_id(1, 1))

    assert raised.value.details["lastEntryId"] is None


@PROCESSES
def test_if_match_holds_for_the_last_message_and_the_very_last_entry_and_no_other(
    store: Store, table: Table, process: Callable[[Store], Table]
) -> None:
    (old,) = append(table, ROOT, thought("c"), by=PLANNER)
    with store.refuses(ConflictError) as raised:
        append(process(store), ROOT, "a", if_match=ids.next_id(old.entry_id))
    assert raised.value.details["lastEntryId"] is None

    (said,) = say(process(store), ROOT, "a", if_match=old.entry_id)
    for draft in ("b", thought("d")):
        with store.refuses(ConflictError) as raised:
            append(process(store), ROOT, draft, by=PLANNER, if_match=old.entry_id)
        assert raised.value.details["lastEntryId"] == said
    (new,) = append(process(store), ROOT, thought("d"), by=PLANNER, if_match=said)
    (newer,) = append(process(store), ROOT, thought("e"), by=PLANNER, if_match=new.entry_id)
    with store.refuses(ConflictError):
        append(process(store), ROOT, "b", if_match=new.entry_id)
    append(process(store), ROOT, thought("f"), by=PLANNER, if_match=newer.entry_id)
    say(process(store), ROOT, "b", if_match=said)


def test_an_if_match_that_another_process_has_written_is_looked_up_once(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    (newer,) = say(store.process(), ROOT, "b")
    wire = Wire.of(table)

    say(table, ROOT, "c", if_match=newer)

    assert [request.operation for request in wire.requests] == ["BatchGetItem", WRITE]
    assert read(table) == ["a", "b", "c"]


def test_an_if_match_that_does_not_hold_is_told_before_a_context_that_has_moved(
    store: Store, table: Table
) -> None:
    (first,) = say(table, ROOT, "a", by=PLANNER)
    turn(table, ROOT, "b", context=["b"])
    moved = Draft.of(C, "application/json", text_of(["c"]), based_on="none")
    request = Append(ROOT, [said("c")], context=moved)

    def reason(request: Append) -> object:
        return conflict(lambda: append_turn(store.process(), caller=PLANNER, request=request))["reason"]

    assert reason(request) == "context_moved"
    assert reason(request._replace(if_match=first)) == "stale"


def test_if_match_fails_after_a_concurrent_append(store: Store, table: Table) -> None:
    (first,) = say(table, ROOT, "a")
    rivals: list[EntryId] = []
    Wire.of(table).just_before(WRITE, lambda: rivals.extend(say(store.process(), ROOT, "rival")))

    with pytest.raises(ConflictError) as raised:
        append(table, ROOT, "mine", if_match=first)

    assert raised.value.details["lastEntryId"] == rivals[0]
    assert read(table) == ["a", "rival"]


def test_if_match_holds_after_concurrent_context(store: Store, table: Table) -> None:
    (first,) = say(table, ROOT, "a")
    Wire.of(table).just_before(WRITE, lambda: append(store.process(), ROOT, thought("c"), by=PLANNER))

    append(table, ROOT, "b", if_match=first)

    assert read(table) == ["a", "b"]


# Deleted conversations


def use(name: str) -> Callable[[Table], object]:
    """Return a request that uses the root, by name."""
    return {
        "append": lambda t: append(t, ROOT, "x"),
        "append context": lambda t: append(t, ROOT, thought("x"), by=PLANNER),
        "append if it matches": lambda t: append(t, ROOT, "x", if_match=ids.fresh_id(1, 1)),
        "list": lambda t: page(t, ROOT),
        "show": lambda t: show(t, ROOT),
        "change": clear,
        "fork": lambda t: fork(t, ROOT, TWIG),
        "fork by appending": lambda t: append(t, TWIG, "x", fork=(ROOT, None)),
    }[name]


USES = [
    "append",
    "append context",
    "append if it matches",
    "list",
    "show",
    "change",
    "fork",
    "fork by appending",
]


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("knows", [True, False], ids=["stale", "cold"])
def test_a_deleted_conversation_is_404_also_if_it_is_in_the_cache(
    store: Store, table: Table, name: str, knows: bool
) -> None:
    append(table, ROOT, "a", thought("b"), by=PLANNER)
    append(table, ROOT, thought("c"), by=PLANNER)
    mine = table if knows else store.process()
    store.remove_tree(ROOT)

    with store.refuses(NotFoundError):
        use(name)(mine)


@pytest.mark.failure("reused-id")
def test_an_id_that_was_deleted_recently_is_404_for_an_append(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    store.remove_tree(ROOT)

    for of in (None, (OTHER, None)):
        with store.refuses(NotFoundError):
            append(store.process(), ROOT, "b", fork=of)


def test_an_id_is_free_again_once_its_time_is_over(store: Store, table: Table) -> None:
    append(table, ROOT, "old", thought("old"), by=PLANNER)
    append(table, ROOT, thought("old", epoch=9), by=PLANNER)
    store.remove_tree(ROOT, ttl_s=system_ms() // 1000 - 10)

    append(table, ROOT, "new", by=EVE)  # This process has the old one in its cache.

    assert read(store.process(), by=EVE) == ["new"]
    assert show(table, by=EVE).head.owner == "eve"
    (entry,) = append(table, ROOT, thought("new"), by=Caller("eve", "planner"))
    assert entry.epoch == 1


# Too large


def incompressible(size: int) -> Draft:
    """Return an entry whose content has `size` bytes in an answer, and hardly compresses."""
    letters = bytes(point for point in range(0x20, 0x7F) if chr(point) not in '"\\')
    noise = Random(size).randbytes(size - 6).translate((letters * 3)[:256])
    return Draft.of(H, "noise", text_of([noise.decode()]))


def test_an_entry_of_exactly_the_limit_is_stored_and_comes_back(store: Store, table: Table) -> None:
    (entry,) = append(table, ROOT, incompressible(ENTRY_BYTES_MAX))

    assert escaped_size(entry.content) == ENTRY_BYTES_MAX
    assert page(table).entries == [entry]


@pytest.mark.failure("too-large")
@pytest.mark.parametrize(
    ("conversation_id", "drafts"),
    [
        (ROOT, [large(ENTRY_BYTES_MAX + 1)]),
        (FORK, [said("fine"), large(ENTRY_BYTES_MAX + 1, C)]),
        (OTHER, [large(PAGE_BYTES_MAX // 3 + 1)] * 3),
        (OTHER, [*[large(PAGE_BYTES_MAX // 2 - 10_000)] * 2, said("x", metadata=f'{{"a":"{"é" * 8_000}"}}')]),
        (ROOT, [incompressible(2_450_000)] * 2),
        (ROOT, [incompressible(60_000)] * 50),
    ],
    ids=[
        "an entry",
        "one of two",
        "a batch as escaped",
        "a batch with metadata",
        "a transaction",
        "too many chunks",
    ],
)
def test_an_append_that_is_too_large_is_refused_before_any_write(
    store: Store, table: Table, drafts: list[Draft], conversation_id: str
) -> None:
    """Too many chunks, too large batches, and entries too large for an answer are 413."""
    say(table, ROOT, "a")
    wire = Wire.of(table)
    fork_of = (ROOT, None) if conversation_id == FORK else None

    with store.refuses(PayloadTooLargeError):
        append(table, conversation_id, *drafts, by=PLANNER, fork=fork_of)

    assert WRITE not in wire.operations


@pytest.mark.parametrize("fork_of", [None, (ROOT, None)], ids=["new", "fork"])
def test_a_batch_with_too_many_parts_for_one_transaction_is_413(
    store: Store, table: Table, fork_of: tuple[str, None] | None
) -> None:
    say(table, ROOT, "a")
    drafts = [incompressible(41_000)] * 47  # an entry and a chunk each

    with store.refuses(PayloadTooLargeError):
        append(table, OTHER, *drafts, fork=fork_of, by=PLANNER, idempotency_key=idempotency_key(by=PLANNER))


# All or none


@pytest.mark.parametrize(
    ("drafts", "error"),
    [
        ([said("a"), said("b"), thought("over", epoch=1)], ConflictError),
        ([thought("up", epoch=9), thought("down", epoch=8)], ConflictError),
        ([said("a"), large(ENTRY_BYTES_MAX + 1)], PayloadTooLargeError),
    ],
    ids=["an epoch that is over", "an epoch that falls", "one too large"],
)
@PROCESSES
def test_a_batch_with_one_refused_entry_is_not_appended_at_all(
    store: Store,
    table: Table,
    drafts: list[Draft],
    error: type[ForkloreError],
    process: Callable[[Store], Table],
) -> None:
    append(table, ROOT, "a", thought("context", epoch=5), by=PLANNER)
    mine = process(store)

    with store.refuses(error):
        append(mine, ROOT, *drafts, by=PLANNER)


# Context


def epochs(
    table: Table, conversation_id: str = ROOT, *, by: Caller = PLANNER
) -> list[tuple[str, int | None]]:
    """Return the texts and epochs of the caller's own context."""
    found = page(table, conversation_id, by=by, channel=C, epoch="all").entries
    return list(zip(texts(found), [entry.epoch for entry in found], strict=True))


def test_context_joins_the_latest_epoch_of_its_client(store: Store, table: Table) -> None:
    create(table)
    append(table, ROOT, thought("a"), by=PLANNER)
    append(table, ROOT, thought("b", epoch=4), by=PLANNER)
    append(table, ROOT, thought("c"), by=PLANNER)
    append(store.process(), ROOT, thought("d"), by=PLANNER)

    assert epochs(table) == [("a", 1), ("b", 4), ("c", 4), ("d", 4)]


def test_two_clients_have_epochs_of_their_own(store: Store, table: Table) -> None:
    create(table)
    append(table, ROOT, thought("p", epoch=7), by=PLANNER)
    append(table, ROOT, thought("c"), by=CODER)
    append(table, ROOT, thought("c", epoch=2), by=CODER)
    append(table, ROOT, thought("p"), by=PLANNER)

    assert epochs(table, by=PLANNER) == [("p", 7), ("p", 7)]
    assert epochs(table, by=CODER) == [("c", 1), ("c", 2)]
    assert {key.sort for key in store.contents() if key.sort.startswith("CTX#")} == {
        f"CTX#{ROOT}#planner",
        f"CTX#{ROOT}#coder",
    }


def test_a_batch_may_go_through_several_epochs(store: Store, table: Table) -> None:
    create(table)
    batch = [thought("a"), thought("b", 3), said("between"), thought("c"), thought("d", 5), thought("e", 5)]

    appended = append(table, ROOT, *batch, by=PLANNER)

    assert epochs(table) == [("a", 1), ("b", 3), ("c", 3), ("d", 5), ("e", 5)]
    own = store.item(keys.context(ROOT, ROOT, "planner"))
    assert own["epoch"] == number(5)
    assert own["first"] == text(appended[4].entry_id)
    assert own["last"] == text(appended[5].entry_id)
    append(table, ROOT, thought("f"), by=PLANNER)
    assert store.item(keys.context(ROOT, ROOT, "planner"))["first"] == text(appended[4].entry_id)


@pytest.mark.parametrize(
    ("draft", "epoch"),
    [(thought("mine"), 6), (thought("mine", 6), 6), (thought("mine", 9), 9)],
    ids=["joins", "names the latest", "starts one"],
)
def test_a_process_whose_epoch_is_out_of_date_learns_the_latest(
    store: Store, table: Table, draft: Draft, epoch: int
) -> None:
    append(table, ROOT, thought("a"), by=PLANNER)
    append(table, ROOT, thought("b"), by=PLANNER)  # known here: 1
    append(store.process(), ROOT, thought("c", epoch=6), by=PLANNER)

    append(table, ROOT, draft, by=PLANNER)

    assert epochs(table) == [("a", 1), ("b", 1), ("c", 6), ("mine", epoch)]


OVER = [[thought("mine", 1)], [thought("mine", 2)], [thought("mine", 5)]]
OVER += [[thought("mine"), thought("mine", 4)], [thought("mine", 4), thought("mine", 2)]]


@pytest.mark.parametrize("knows", [True, False], ids=["warm", "cold"])
def test_an_if_match_that_does_not_hold_is_told_before_an_epoch_that_is_over(
    store: Store, table: Table, knows: bool
) -> None:
    """Also by a process that has not seen the append which made the If-Match stale."""
    append(table, ROOT, thought("a", 4), by=PLANNER)
    [last] = say(table, ROOT, "b")
    [newer] = say(store.process(), ROOT, "c")

    with store.refuses(ConflictError) as refused:
        by = table if knows else store.process()
        append(by, ROOT, thought("mine", 3), by=PLANNER, if_match=last)
    told = refused.value.details
    assert (told["reason"], told["lastEntryId"]) == ("stale", newer)


@pytest.mark.parametrize("drafts", OVER, ids=["1", "2", "5", "none, 4", "4, 2"])
def test_an_epoch_that_ended_in_another_process_is_409_with_the_latest(
    store: Store, table: Table, drafts: list[Draft]
) -> None:
    append(table, ROOT, thought("a"), by=PLANNER)
    append(table, ROOT, thought("b", 3), by=PLANNER)
    append(store.process(), ROOT, thought("c", epoch=6), by=PLANNER)

    with store.refuses(ConflictError) as refused:
        append(table, ROOT, *drafts, by=PLANNER)
    assert refused.value.details["reason"] == "epoch_over"
    assert refused.value.details["latestEpoch"] == 6


def test_an_epoch_that_another_process_began_in_a_fork_is_named_by_a_409(store: Store, table: Table) -> None:
    append(table, ROOT, thought("a", 3), by=PLANNER)
    fork(table)
    with pytest.raises(ConflictError):
        append(table, FORK, thought("mine", 2), by=PLANNER)  # known here: 3, which is inherited
    append(store.process(), FORK, thought("b", epoch=6), by=PLANNER)

    with store.refuses(ConflictError) as refused:
        append(table, FORK, thought("mine", 2), by=PLANNER)
    assert refused.value.details["latestEpoch"] == 6


@pytest.mark.parametrize("caller", [ANN, CODER], ids=["a plain user", "another client"])
@pytest.mark.parametrize("conversation_id", [ROOT, OTHER], ids=["known", "new"])
def test_context_is_for_agents_of_the_client_that_made_the_conversation(
    store: Store, table: Table, caller: Caller, conversation_id: str
) -> None:
    append(table, ROOT, "a", by=PLANNER)
    show(table)
    if conversation_id == OTHER and caller is CODER:
        append(table, OTHER, "a", by=PLANNER)

    with store.refuses(ForbiddenError):
        append(table, conversation_id, "fine", thought("x"), by=caller)


def test_a_deleted_conversation_is_404_for_an_epoch_that_was_over(store: Store, table: Table) -> None:
    append(table, ROOT, thought("a", epoch=7), by=PLANNER)
    append(table, ROOT, thought("b"), by=PLANNER)
    store.remove_tree(ROOT)

    with store.refuses(NotFoundError):
        append(table, ROOT, thought("x", epoch=1), by=PLANNER)


# A full conversation

FULL = {"reason": "conversation_full", "entriesMax": 3}


def test_a_conversation_takes_as_many_entries_of_its_own_as_it_may_have(store: Store, table: Table) -> None:
    other, wire = store.process(), Wire.of(table)
    table.entries_max = other.entries_max = 3
    append(table, ROOT, said("a"), by=PLANNER)
    key = idempotency_key("k", by=PLANNER)

    assert conflict(lambda: append(table, ROOT, said("b"), said("c"), said("d"))) == FULL
    before = len(wire.requests)
    kept = append(table, ROOT, said("b"), thought("c"), by=PLANNER, idempotency_key=key)
    asked = [request.operation for request in wire.requests[before:]]
    assert asked.count(WRITE) == 1

    for process in (table, other):
        with store.unchanged():
            assert conflict(partial(say, process, ROOT, "d")) == FULL
    assert append(other, ROOT, said("b"), thought("c"), by=PLANNER, idempotency_key=key) == kept
    fork(table)
    append(table, FORK, said("d"), said("e"), said("f"))
    assert conflict(lambda: say(table, FORK, "g")) == FULL
    assert read(table, FORK) == ["a", "b", "d", "e", "f"]
    assert say(store.process(), ROOT, "any number")


def test_of_two_processes_one_gets_the_last_place(store: Store, table: Table) -> None:
    other = store.process()
    table.entries_max = other.entries_max = 3
    append(table, ROOT, said("a"), said("b"))

    def take(request: Request) -> None:
        if request.operation == WRITE and len(read(other)) == 2:
            say(other, ROOT, "c")

    Wire.of(table).before(take)
    assert conflict(lambda: say(table, ROOT, "d")) == FULL
    assert read(other) == ["a", "b", "c"]


def test_who_may_not_write_learns_nothing_of_a_full_conversation(store: Store, table: Table) -> None:
    table.entries_max = 3
    append(table, ROOT, said("a"), said("b"), said("c"))
    store.add_member(ROOT, "bob", AccessLevel.READER)

    for caller in (BOB, EVE):
        with store.refuses(ForbiddenError):
            append(table, ROOT, said("d"), by=caller)
    with pytest.raises(ConflictError) as raised:
        append(table, ROOT, said("d"), if_match=ids.FIRST)
    assert raised.value.details["reason"] == "stale"


# A full tree


def report_size(wire: Wire, gigabytes: float) -> None:
    """Let DynamoDB report this size for every tree that is written to."""

    def report(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == WRITE:
            key = {"PK": text(ROOT)}
            sizes = [{"ItemCollectionKey": key, "SizeEstimateRangeGB": [gigabytes, gigabytes + 1]}]
            answer["ItemCollectionMetrics"] = {NAME: sizes}

    wire.after(report)


def test_a_tree_of_nine_gigabytes_refuses_appends_and_forks_but_can_be_read(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "a")
    report_size(Wire.of(table), 9.0)
    say(table, ROOT, "the last")

    writes: list[Callable[[], object]] = [
        lambda: say(table, ROOT, "b"),
        lambda: fork(table),
        lambda: append(table, FORK, "c", fork=(ROOT, None)),
    ]
    for write in writes:
        with store.refuses(GroupFullError):
            write()
    assert read(table) == ["a", "the last"]
    say(table, OTHER, "another tree")


def test_a_context_is_appended_although_another_thread_appends_after_each_refusal(
    store: Store, table: Table
) -> None:
    append(table, ROOT, thought("one"), by=PLANNER)
    append(store.process(), ROOT, thought("two", epoch=2), by=PLANNER)
    wire, refusals, is_other = Wire.of(table), list[int](), list[bool]()

    def meanwhile(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == WRITE and "Error" in answer and not is_other and len(refusals) < 9:
            refusals.append(request.number)
            is_other.append(True)
            say(table, ROOT, "by another thread")
            is_other.clear()

    wire.after(meanwhile)

    [entry] = append(table, ROOT, thought("three"), by=PLANNER)

    assert entry.epoch == 2
    assert 1 <= len(refusals) <= 3


def test_a_request_waits_for_its_turn_only_as_long_as_it_has_time(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "TURN_SECONDS", 30.0)
    begun = threading.Event()
    ended = threading.Event()

    def hold() -> None:
        with table.cache.turn(ROOT):
            begun.set()
            ended.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait(60)
    began = time.monotonic()
    with table.within(0.2).turn(ROOT):
        waited = time.monotonic() - began
    ended.set()
    holder.join()

    assert 0.1 < waited < 20
