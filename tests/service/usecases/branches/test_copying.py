"""A private copy: a new tree of the caller's with copies of what a conversation shows."""

from collections.abc import Callable
from random import Random

import pytest
from botocore.exceptions import ReadTimeoutError

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.listing import Ancestry, Mode
from forklore_service.domain.model import Caller, EntryRef, JobKind, Metrics, StartedBy, TokenUsage, Words
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    PayloadTooLargeError,
    ValidationError,
)
from forklore_service.storage.table import Table
from forklore_service.usecases.background import sweeper
from forklore_service.usecases.branches import copying
from forklore_service.usecases.branches.copying import COPIED_MAX, Copy, copy_conversation
from forklore_service.usecases.deletion import tree_deletion
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.loading import ConversationDetails
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    H,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    large,
    page,
    read,
    said,
    say,
    show,
    thought,
)
from tests.service.usecases.members import (
    READER,
    Killed,
    assert_settled,
    dies,
    listed,
    meanwhile,
    members,
    remove,
    share,
)
from tests.support.mailbox import Mailbox, run_deletion
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Request, Wire

COPY = conversation(88)
LONG = 100
"""So many entries that one transaction cannot copy them."""


def copy(
    table: Table,
    of: str = FORK,
    to: str | None = COPY,
    *,
    by: Caller = EVE,
    idempotency_key: IdempotencyKey | None = None,
    title: str | None = None,
    up_to: str | None = None,
) -> ConversationDetails:
    request = Copy(of, to, title, up_to)
    return copy_conversation(table, caller=by, request=request, idempotency_key=idempotency_key)


def say_many(table: Table, of: str, count: int) -> None:
    for at in range(0, count, 50):
        say(table, of, *(f"{number}" for number in range(at, min(at + 50, count))))


@pytest.fixture
def tree(store: Store) -> Table:
    """A root that shows a, b, c, and a fork after b that shows a, b, x, y. Eve is a reader."""
    table = store.process()
    _, b, _ = say(table, ROOT, "a", "b", "c")
    fork(table, ROOT, FORK, b, AFTER)
    say(table, FORK, "x", "y")
    share(table, "eve", READER)
    return table


@pytest.fixture
def long_tree(store: Store) -> Table:
    """A root of LONG entries. Eve is a reader."""
    table = store.process()
    say_many(table, ROOT, LONG)
    share(table, "eve", READER)
    return table


def fails(error: type[ForkloreError], action: Callable[[], object], *, field: str | None = None) -> None:
    with pytest.raises(error) as raised:
        action()
    assert raised.value.details.get("field") == field


def delete(table: Table, of: str, *, by: Caller = ANN) -> None:
    assert tree_deletion.delete_conversation(table, Mailbox().queue, caller=by, conversation_id=of)


def test_a_reader_gets_a_tree_of_their_own_with_copies(store: Store, tree: Table) -> None:
    made = copy(tree)

    assert read(tree, COPY, by=EVE) == ["a", "b", "x", "y"]
    assert (made.owner, made.level) == ("eve", AccessLevel.OWNER)
    assert made == show(store.process(), COPY, by=EVE)
    assert members(tree, COPY, by=EVE) == {"eve": "owner"}
    assert COPY in listed(tree, EVE, ancestry=Ancestry.ROOTS, mode=Mode.ALL)
    originals, copies = page(tree, FORK).entries, page(tree, COPY, by=EVE).entries
    assert [one.copied_from for one in copies] == [
        EntryRef(one.conversation_id, one.entry_id) for one in originals
    ]
    fails(ForbiddenError, lambda: show(tree, COPY, by=ANN))
    assert_settled(store)


def test_a_copy_keeps_authors_and_content_but_no_usage_and_no_context(store: Store, tree: Table) -> None:
    share(tree, "bob", AccessLevel.WRITER)
    used = said("bob's", agent_id="helper", used=TokenUsage(3, 4), usage='{"inputTokens":3}')
    body = large(400_000)
    append(tree, FORK, used, thought("t"), body, by=Caller("bob", "planner"))

    made = copy(tree, by=Caller("eve", "reader"))

    *_, copied, odd = page(tree, COPY, by=EVE).entries
    assert (copied.user_id, copied.client_id, copied.agent_id) == ("bob", "planner", "helper")
    assert copied.usage is None
    assert odd.content == body.content.text
    assert made.head.metrics == Metrics(6)
    assert made.conversation.client_id == "reader"
    assert_settled(store)


def test_a_copy_has_title_agent_and_preview_of_its_source(store: Store) -> None:
    table = store.process()
    create(table, ROOT, title="Lisbon", agent_id="planner", tags={"a": "b"})
    first, _ = say(table, ROOT, "first", "last")

    for to, given, shown in (
        (
            conversation(81),
            copy(table, ROOT, conversation(81), by=ANN),
            ("Lisbon", "planner", Words("last", "ann")),
        ),
        (
            conversation(82),
            copy(table, ROOT, conversation(82), by=ANN, title="mine", up_to=first),
            ("mine", "planner", Words("first", "ann")),
        ),
    ):
        assert (given.conversation.described.title, given.conversation.agent_id, given.head.preview) == shown
        assert given == show(store.process(), to)
        assert given.conversation.described.tags == {}


def test_an_empty_conversation_is_copied_as_well(store: Store) -> None:
    table = store.process()
    create(table, ROOT)

    assert copy(table, ROOT, None, by=ANN).head.untitled
    copied = copy(table, ROOT, by=ANN)
    say(table, COPY, "mine")

    assert (copied.conversation.described.title, show(table, COPY).conversation.described.title) == (
        None,
        "mine",
    )
    assert_settled(store)


def test_a_copy_up_to_an_entry_includes_it(tree: Table) -> None:
    for at, entry in enumerate(page(tree, FORK).entries):
        made = copy(tree, FORK, conversation(90 + at), up_to=entry.entry_id)
        copied = read(tree, made.conversation.conversation_id, by=EVE)
        assert copied == ["a", "b", "x", "y"][: at + 1]


def test_an_entry_that_the_source_does_not_show_is_400(store: Store, tree: Table) -> None:
    c = page(tree, ROOT).entries[2].entry_id

    for up_to in (c, "x", "00000000-0000-7000-8000-000000000001"):
        with store.unchanged():
            fails(ValidationError, lambda up_to=up_to: copy(tree, up_to=up_to), field="upToEntryId")  # type: ignore[misc]


def test_a_copy_does_not_end_at_an_entry_of_another_clients_context(store: Store, tree: Table) -> None:
    (mine,) = say(tree, FORK, thought("t"), by=PLANNER)
    say(tree, FORK, "z")

    for by in (EVE, CODER):
        fails(ValidationError, lambda c=by: copy(tree, up_to=mine, by=c), field="upToEntryId")  # type: ignore[misc]
    copy(tree, up_to=mine, by=PLANNER)
    assert read(tree, COPY) == ["a", "b", "x", "y"]


def test_an_id_in_use_is_409(store: Store, tree: Table) -> None:
    create(tree, OTHER, by=BOB)

    for to in (OTHER, ROOT, FORK):
        with store.unchanged(), pytest.raises(ConflictError) as raised:
            copy(tree, to=to)
        assert raised.value.details["reason"] == "id_in_use"
    delete(tree, OTHER, by=BOB)
    fails_too = pytest.raises(ConflictError)
    with fails_too:
        copy(tree, to=OTHER)


def test_a_copy_is_independent_of_its_source(store: Store, tree: Table) -> None:
    copy(tree)
    append(tree, COPY, "mine", by=EVE)
    say(tree, FORK, "theirs")
    delete(tree, ROOT)
    run_deletion(store.process(), Mailbox().queue, ROOT, wait_s=0)

    assert read(tree, COPY, by=EVE) == ["a", "b", "x", "y", "mine"]
    assert_settled(store)


# Many entries


@pytest.mark.parametrize(("count", "writes"), [(87, 1), (88, 1), (89, 4), (176, 4), (177, 5)])
def test_a_copy_of_many_entries_takes_a_transaction_for_each_portion(
    store: Store, count: int, writes: int
) -> None:
    table = store.process()
    say_many(table, ROOT, count)
    wire = Wire.of(table)
    made = copy(table, ROOT, by=ANN, idempotency_key=idempotency_key())

    assert wire.operations.count("TransactWriteItems") == writes
    assert read(table, COPY) == read(table, ROOT)
    assert made == show(store.process(), COPY)
    assert made.head.history == count
    assert_settled(store)


def test_a_copy_of_many_bytes_is_staged(store: Store) -> None:
    table = store.process()
    for _ in range(4):
        text = Random(1).randbytes(1_200_000).hex()  # stored in half as many bytes
        append(table, ROOT, Draft.of(H, "hex", text_of([text])))

    copy(table, ROOT, by=ANN)

    assert read(table, COPY) == read(table, ROOT)
    assert_settled(store)


@pytest.mark.long
@pytest.mark.parametrize("count", [COPIED_MAX, COPIED_MAX + 1])
def test_a_copy_holds_at_most_a_thousand_entries(store: Store, count: int) -> None:
    table = store.process()
    say_many(table, ROOT, count)
    thousandth = page(table, ROOT).entries[-1].entry_id

    if count > COPIED_MAX:
        with store.unchanged(), pytest.raises(PayloadTooLargeError, match="upToEntryId"):
            copy(table, ROOT, by=ANN)
        copy(table, ROOT, by=ANN, up_to=thousandth)
    else:
        copy(table, ROOT, by=ANN)

    assert len(read(table, COPY)) == COPIED_MAX


def test_a_copy_has_a_bound_on_its_bytes(store: Store, tree: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 2_000
    monkeypatch.setattr(copying, "COPIED_BYTES_MAX", size)
    copy(tree, to=None)
    append(tree, FORK, large(size))

    with store.unchanged(), pytest.raises(PayloadTooLargeError):
        copy(tree)


def killed(store: Store, nth: int, of: str = ROOT) -> None:
    process = store.process()
    dies(process, nth, before=False)
    with pytest.raises(Killed):
        copy(process, of)


def test_a_copy_goes_on_where_a_killed_one_stopped(store: Store, long_tree: Table) -> None:
    killed(store, 4)
    there = set(store.contents())
    copied = {key for key in there if key.partition == COPY and key.sort[0].isdigit()}
    assert len(copied) == 88

    copy(long_tree, ROOT)

    assert copied <= set(store.contents())
    assert len(read(long_tree, COPY, by=EVE)) == LONG


def test_a_copy_of_something_else_takes_nothing_over(store: Store, long_tree: Table) -> None:
    say(long_tree, OTHER, "other")
    append(long_tree, OTHER, large(400_000))
    killed(store, 4)

    copy(long_tree, OTHER, by=ANN)

    assert len(read(long_tree, COPY)) == 2
    assert_settled(store)


def test_a_killed_copy_and_a_child_are_not_made_of_one_another(store: Store, long_tree: Table) -> None:
    killed(store, 4)

    with store.unchanged():
        fails(
            NotFoundError,
            lambda: append_entries(
                long_tree, caller=ANN, request=Append(COPY, [said("x")], start=StartedBy(ROOT, None))
            ),
        )
        fails(ConflictError, lambda: create(long_tree, COPY))


def test_an_abandoned_copy_is_swept(store: Store, long_tree: Table) -> None:
    append(long_tree, ROOT, large(400_000))
    killed(store, 5)
    assert keys.job(JobKind.CREATION, COPY) in store.contents()
    late, mailbox = store.process(clock=WrongClock(600_000)), Mailbox()

    sweeper.sweep(late, mailbox.queue)
    run_deletion(late, mailbox.queue, COPY, wait_s=0)

    assert not [key for key in store.contents() if COPY in key.partition or COPY in key.sort]
    copy(store.process(), ROOT)
    assert_settled(store)


def test_clearing_an_abandoned_copy_spares_a_new_tree_of_its_id(store: Store, long_tree: Table) -> None:
    killed(store, 4)
    late = store.process(clock=WrongClock(600_000))
    sweeper.sweep(late, Mailbox().queue)
    slow = store.process(clock=WrongClock(600_000))

    def another() -> None:
        run_deletion(late, Mailbox().queue, COPY, wait_s=0)
        say(store.process(), COPY, "mine")

    ran = meanwhile(slow, 3, another)
    run_deletion(slow, Mailbox().queue, COPY, wait_s=0)

    assert ran
    assert read(long_tree, COPY) == ["mine"]
    assert_settled(store)


def test_two_copies_under_one_id_make_one_tree(store: Store, long_tree: Table) -> None:
    other = store.process()
    meanwhile(long_tree, 4, lambda: copy(other, ROOT))

    fails(ConflictError, lambda: copy(long_tree, ROOT))
    assert read(long_tree, COPY, by=EVE) == read(long_tree, ROOT)
    assert_settled(store)


# At the same time


@pytest.mark.parametrize("of", [FORK, ROOT])
@pytest.mark.parametrize("taken", ["source", "membership"])
def test_a_copy_whose_answer_is_lost_is_made_although_its_source_is_taken_away_then(
    store: Store, tree: Table, of: str, taken: str
) -> None:
    """The last transaction is sent twice, and the second one finds what the first one has made."""
    say_many(tree, ROOT, LONG)
    table = store.process()
    lost: list[Request] = []

    def lose(request: Request, _answer: object) -> None:
        is_write = request.operation == "TransactWriteItems"
        if is_write and not lost and COPY in listed(store.process(), EVE):
            lost.append(request)
            if taken == "source":
                delete(store.process(), ROOT)
            else:
                remove(store.process(), "eve")
            raise ReadTimeoutError(endpoint_url="https://dynamodb")

    Wire.of(table).after(lose)
    copy(table, of)

    assert lost
    assert COPY in listed(store.process(), EVE)
