import itertools

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller, Transfer
from forklore_service.errors import (
    BadRequestError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    TransferPendingError,
    ValidationError,
)
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.people import transfers
from forklore_service.usecases.people.transfers import Role, finish_rewriting
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    say,
    show,
)
from tests.service.usecases.members import (
    MANAGER,
    OWNER,
    READER,
    WRITER,
    Killed,
    accept,
    assert_settled,
    assert_whole,
    dies,
    end,
    listed,
    meanwhile,
    members,
    offer,
    pending,
    remove,
    share,
    update,
)
from tests.support.tables import Store


@pytest.fixture
def shared(store: Store) -> Table:
    """A tree of Ann with two forks. Bob is a reader, and Eve is a writer."""
    table = store.process()
    say(table, ROOT, "a")
    fork(table)
    fork(table, FORK, TWIG)
    share(table, "bob", READER)
    share(table, "eve", WRITER)
    return table


def owners(store: Store) -> set[str]:
    """Return the owners that the HEADs name."""
    return {items.head(i).owner for k, i in store.contents().items() if k.sort.startswith("HEAD#")}


# The effects of a transfer


def test_the_recipient_becomes_owner_and_the_sender_manager_at_every_fork(
    store: Store, shared: Table
) -> None:
    transfer = offer(shared, "bob", of=TWIG)
    assert (transfer.conversation_id, transfer.from_user_id, transfer.to_user_id) == (TWIG, "ann", "bob")
    assert members(shared) == {"ann": "owner", "bob": "reader", "eve": "writer"}

    accept(shared, transfer)

    assert members(shared, by=BOB) == {"ann": "manager", "bob": "owner", "eve": "writer"}
    for of in (ROOT, FORK, TWIG):
        shown = show(shared, of, by=BOB)
        assert (shown.owner, shown.head.owner, shown.level) == ("bob", "bob", OWNER)
        assert show(shared, of).level is MANAGER
        for by in (ANN, BOB):
            say(shared, of, "after", by=by)
    for by in (ANN, BOB):
        assert pending(shared, by=by) == []
        assert listed(shared, by) == {ROOT, FORK, TWIG}
    assert_settled(store)


def test_a_former_owner_may_be_removed_and_may_become_the_owner_again(store: Store, shared: Table) -> None:
    accept(shared, offer(shared))
    with store.refuses(ForbiddenError):
        offer(shared, "eve")
    accept(shared, offer(shared, "ann", by=BOB))
    assert members(shared)["ann"] == "owner"
    accept(shared, offer(shared))
    remove(shared, "ann", by=BOB)
    for of in (ROOT, FORK, TWIG):
        with store.refuses(ForbiddenError):
            say(shared, of, "x")
    assert_settled(store)


@pytest.mark.parametrize(
    ("to", "by", "error"),
    [
        ("ann", ANN, BadRequestError),
        ("nobody", ANN, BadRequestError),
        ("bob", EVE, ForbiddenError),
        ("nobody", BOB, ForbiddenError),
        ("bob", Caller("nobody"), ForbiddenError),
    ],
)
def test_who_may_offer_to_whom(
    store: Store, shared: Table, to: str, by: Caller, error: type[ForkloreError]
) -> None:
    with store.refuses(error):
        offer(shared, to, by=by)
    update(shared, "eve", MANAGER)
    with store.refuses(ForbiddenError):
        offer(shared, "bob", by=EVE)


def test_a_second_offer_is_409_and_names_the_first(store: Store, shared: Table) -> None:
    first = offer(shared)

    for to, of in itertools.product(("bob", "eve"), (ROOT, FORK)):
        with store.refuses(TransferPendingError) as raised:
            offer(shared, to, of=of)
        assert raised.value.details["existingTransferId"] == first.transfer_id
    for to in ("ann", "nobody"):
        with store.refuses(BadRequestError):
            offer(shared, to)
    end(shared, first)
    meanwhile(shared, 2, lambda: offer(store.process(), "eve"))
    with pytest.raises(TransferPendingError):
        offer(shared, "bob")


def test_only_parties_see_and_end_a_transfer(store: Store, shared: Table) -> None:
    for by in (ANN, BOB):
        transfer = offer(shared)
        for party in (ANN, BOB):
            got = transfers.get_transfer(shared, caller=party, transfer_id=transfer.transfer_id)
            assert got == transfer
        with store.refuses(NotFoundError):
            transfers.get_transfer(shared, caller=EVE, transfer_id=transfer.transfer_id)
        with store.refuses(ForbiddenError):
            end(shared, transfer, by=EVE)
        for other in (ANN, EVE):
            with store.refuses(ForbiddenError):
                accept(shared, transfer, by=other)
        end(shared, transfer, by=by)
        assert_gone(store, shared, transfer)
        assert members(shared) == {"ann": "owner", "bob": "reader", "eve": "writer"}


def assert_gone(store: Store, table: Table, transfer: Transfer) -> None:
    """Assert that nothing of the transfer is left, and that it is 404 for all."""
    assert not [k for k in store.contents() if "XFER" in k.partition + k.sort]
    for by in (ANN, BOB, EVE):
        for act in (end, accept):
            with store.refuses(NotFoundError):
                act(table, transfer, by=by)
        with store.refuses(NotFoundError):
            transfers.get_transfer(table, caller=by, transfer_id=transfer.transfer_id)
        assert pending(table, by=by) == []


@pytest.mark.parametrize("transfer_id", [OTHER, ROOT])
def test_an_unknown_transfer_is_404(store: Store, shared: Table, transfer_id: str) -> None:
    for act in (transfers.get_transfer, transfers.delete_transfer, transfers.accept_transfer):
        with store.refuses(NotFoundError):
            act(shared, caller=ANN, transfer_id=transfer_id)


def test_a_transfer_of_a_deleted_tree_is_shown_to_nobody(store: Store, shared: Table) -> None:
    transfer = offer(shared)
    store.mark_deleted(ROOT)

    for by in (ANN, BOB):
        assert pending(shared, by=by) == []
        for act in (end, accept):
            with store.refuses(NotFoundError):
                act(shared, transfer, by=by)
        with store.refuses(NotFoundError):
            transfers.get_transfer(shared, caller=by, transfer_id=transfer.transfer_id)
    with store.refuses(NotFoundError):
        offer(shared)


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_transfers_are_listed_by_role_oldest_first(store: Store, table: Table, limit: int) -> None:
    made = []
    for at, (by, to) in enumerate([(ANN, BOB), (BOB, ANN), (ANN, BOB), (BOB, EVE), (ANN, BOB), (EVE, ANN)]):
        of = conversation(500 + at)
        create(table, of, by=by)
        share(table, to.user_id, by=by, of=of)
        made.append(offer(table, to.user_id, by=by, of=of))
    store.mark_deleted(conversation(502))

    assert pending(table, limit=limit) == [made[0], made[1], made[4], made[5]]
    assert pending(table, role=Role.SENDER, limit=limit) == [made[0], made[4]]
    assert pending(table, role=Role.RECIPIENT, limit=limit) == [made[1], made[5]]
    assert pending(table, by=BOB, limit=limit) == [made[0], made[1], made[3], made[4]]
    assert pending(table, by=Caller("nobody"), limit=limit) == []


# Killed half way


@pytest.fixture
def half_way(store: Store, shared: Table) -> Table:
    """The tree after Bob became its owner. Its HEADs still name Ann."""
    process = store.process()
    transfer = offer(process)
    [wire] = [dies(process, 3, before=False)]
    with pytest.raises(Killed):
        accept(process, transfer)
    assert wire.operations[-1] == "TransactWriteItems"
    assert owners(store) == {"ann"}
    assert items.group(store.item(keys.group(ROOT))).rewriting == "ann"
    return store.process()


@pytest.mark.parametrize("level", [READER, None], ids=["downgraded", "removed"])
def test_a_former_owner_named_in_head_loses_access_with_the_revocation(
    store: Store, shared: Table, half_way: Table, level: AccessLevel | None
) -> None:
    for of in (ROOT, FORK, TWIG):
        say(shared, of, "still a manager", by=ANN)
    warm = store.process()
    for of in (ROOT, FORK, TWIG):
        say(warm, of, "still a manager", by=ANN)

    if level:
        update(half_way, "ann", READER, by=BOB)
    else:
        remove(half_way, "ann", by=BOB)

    assert_settled(store)
    for process, of in itertools.product((warm, store.process()), (ROOT, FORK, TWIG)):
        with store.refuses(ForbiddenError):
            say(process, of, "x", by=ANN)
        with store.refuses(ForbiddenError):
            fork(process, of, OTHER, by=ANN)


def test_a_former_owner_named_in_head_may_leave(store: Store, half_way: Table) -> None:
    remove(half_way, "ann", by=ANN)

    assert_settled(store)
    with store.refuses(ForbiddenError):
        say(store.process(), ROOT, "x")


def test_others_may_be_changed_while_heads_are_rewritten(store: Store, half_way: Table) -> None:
    with store.refuses(ValidationError):
        remove(half_way, "bob", by=ANN)
    update(half_way, "eve", READER, by=ANN)
    share(half_way, "dan", by=BOB)
    assert_whole(store)
    assert items.group(store.item(keys.group(ROOT))).rewriting == "ann"


@pytest.mark.parametrize("by", [ANN, BOB, EVE])
def test_a_fork_made_while_heads_are_rewritten_belongs_to_the_new_owner(
    store: Store, half_way: Table, by: Caller
) -> None:
    for source in (ROOT, TWIG):
        made = fork(half_way, source, None, by=by)
        assert (made.owner, made.head.owner) == ("bob", "bob")
    append(half_way, OTHER, "x", fork=(FORK, None), by=by)
    assert show(half_way, OTHER, by=by).head.owner == "bob"
    finish_rewriting(half_way, ROOT)
    assert_settled(store)


@pytest.mark.failure("too-many-for-one-transaction")
def test_more_heads_than_fit_into_one_transaction_are_rewritten(store: Store, shared: Table) -> None:
    for at in range(transfers.HEADS_AT_ONCE + 5):
        fork(shared, ROOT, conversation(600 + at))
    process = store.process()
    transfer = offer(process)
    gone = [keys.head(ROOT, conversation(600 + at)) for at in (0, 7)]
    meanwhile(process, 7, lambda: store.delete(*gone))

    accept(process, transfer)

    assert gone[0] not in store.contents()
    assert owners(store) == {"bob"}
    assert_settled(store)


def test_an_acceptance_first_finishes_the_one_before(store: Store, half_way: Table) -> None:
    accept(half_way, offer(half_way, "eve", by=BOB))

    assert members(half_way) == {"ann": "manager", "bob": "manager", "eve": "owner"}
    assert owners(store) == {"eve"}
    assert_settled(store)
    remove(half_way, "ann", by=EVE)
    remove(half_way, "bob", by=EVE)
    for by in (ANN, BOB):
        with store.refuses(ForbiddenError):
            say(half_way, ROOT, "x", by=by)


def test_finishing_a_finished_or_deleted_transfer_does_nothing(store: Store, shared: Table) -> None:
    with store.unchanged():
        finish_rewriting(shared, ROOT)
        finish_rewriting(shared, OTHER)
    store.mark_deleted(ROOT)
    with store.unchanged():
        finish_rewriting(shared, ROOT)
