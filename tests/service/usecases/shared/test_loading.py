from random import Random
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Channel
from forklore_service.errors import ForbiddenError, NotFoundError, UnavailableError
from forklore_service.storage.table import LOOKS_MAX, Table
from tests.service.usecases.builders import (
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    append,
    fork,
    idempotency_key,
    page,
    read,
    say,
    show,
    thought,
)
from tests.service.usecases.members import READER, accept, offer, remove, share
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Request, Wire

PARTS = {
    "group": keys.group(ROOT),
    "conversation": keys.conversation(ROOT, FORK),
    "head": keys.head(ROOT, FORK),
    "path": keys.path(ROOT, FORK),
    "owner's membership": keys.member(ROOT, "ann"),
}
"""The items that a creation writes together with the pointer."""


def lacking(table: Table, key: Key, *, times: int) -> tuple[Wire, list[Request]]:
    """Let the first look-ups miss an item, because BatchGetItem is no snapshot.

    Return the wire, and the requests that have missed it.
    """
    wire, missing = Wire.of(table), list[Request]()

    def miss(request: Request, answer: dict[str, Any]) -> None:
        for items in answer.get("Responses", {}).values():
            found = [item for item in items if Key(item["PK"]["S"], item["SK"]["S"]) != key]
            if len(found) < len(items) and len(missing) < times:
                missing.append(request)
                items[:] = found

    wire.after(miss)
    return wire, missing


@pytest.fixture
def forked(store: Store) -> Store:
    """A table with a root and a fork that inherits an entry."""
    table = store.process()
    say(table, ROOT, "inherited")
    fork(table)
    return store


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("knows", [True, False], ids=["known", "cold"])
def test_a_half_visible_creation_is_read_again(forked: Store, part: str, knows: bool) -> None:
    table = forked.process()
    if knows:
        show(table, FORK)
    _, missing = lacking(table, PARTS[part], times=2)

    if part in ("conversation", "owner's membership"):  # A page of a known one asks for neither.
        assert show(table, FORK).level is AccessLevel.OWNER
    else:
        assert read(table, FORK) == ["inherited"]
    assert missing


@pytest.mark.parametrize("part", PARTS)
def test_a_conversation_with_a_missing_item_is_not_found(forked: Store, part: str) -> None:
    table = forked.process()
    wire, _ = lacking(table, PARTS[part], times=1_000)

    with forked.refuses(NotFoundError):
        show(table, FORK)

    assert len(wire.requests) <= 2 * LOOKS_MAX


def test_a_missing_membership_is_looked_for_once_more(forked: Store) -> None:
    """It may have gone with the tree, which the first look still shows."""
    forked.add_member(ROOT, "bob")
    forked.remove_member(ROOT, "bob")
    table = forked.process()
    wire = Wire.of(table)

    for caller in (BOB, EVE):
        with forked.refuses(ForbiddenError):
            page(table, ROOT, by=caller)

    assert len(wire.requests) == 4


def test_an_unknown_id_is_looked_up_once(store: Store, table: Table) -> None:
    wire = Wire.of(table)

    with store.refuses(NotFoundError):
        show(table, OTHER)

    assert len(wire.requests) == 1


def test_of_a_known_conversation_a_page_reads_no_description_and_no_membership_of_its_owner(
    forked: Store,
) -> None:
    table = forked.process()
    read(table, FORK)
    wire = Wire.of(table)

    assert read(table, FORK) == ["inherited"]

    keys_read = [key["SK"]["S"] for key in wire.requests[0].body["RequestItems"][forked.name]["Keys"]]
    assert keys_read == ["GROUP", f"PATH#{FORK}", f"HEAD#{FORK}"]


def test_a_process_that_knows_a_conversation_of_an_earlier_owner_asks_who_may_read_it(forked: Store) -> None:
    share(forked.process(), "bob", READER)
    knowing = forked.process()
    assert read(knowing, FORK) == read(knowing, FORK, by=BOB) == ["inherited"]

    accept(forked.process(), offer(forked.process()))
    assert read(knowing, FORK) == read(knowing, FORK, by=BOB) == ["inherited"]
    remove(forked.process(), "ann", by=BOB)

    with forked.refuses(ForbiddenError):
        read(knowing, FORK)
    assert read(knowing, FORK, by=BOB) == ["inherited"]


def test_a_process_that_knows_an_earlier_conversation_of_the_id_asks_whose_context_it_has(
    store: Store, table: Table
) -> None:
    append(table, ROOT, thought("old"), by=PLANNER)
    assert read(table, by=PLANNER, channel=Channel.CONTEXT) == ["old"]
    store.remove_tree(ROOT, ttl_s=1)
    append(store.process(clock=WrongClock(60_000)), ROOT, thought("new"), by=CODER)

    with store.refuses(ForbiddenError):
        read(table, by=PLANNER, channel=Channel.CONTEXT)
    assert read(table, by=CODER, channel=Channel.CONTEXT) == ["new"]


def test_a_tree_that_is_being_deleted_needs_no_more_look_ups_than_a_live_one(forked: Store) -> None:
    forked.mark_deleted(ROOT)
    table = forked.process()
    wire = Wire.of(table)

    with forked.refuses(NotFoundError):
        show(table, FORK)

    assert len(wire.requests) == 2


def test_a_replay_reads_an_entry_again_that_is_not_visible_yet(store: Store, table: Table) -> None:
    [first] = append(table, ROOT, "once", idempotency_key=idempotency_key())
    lacking(table, keys.entry(ROOT, first.entry_id), times=2)

    with store.unchanged():
        assert append(table, ROOT, "once", idempotency_key=idempotency_key()) == [first]


def test_a_body_with_a_chunk_that_is_not_visible_yet_is_read_again(table: Table) -> None:
    noise = random_text(100_000)
    [entry_id] = say(table, ROOT, noise)
    lacking(table, keys.blob(ROOT, entry_id, 0), times=2)

    assert read(table, ROOT) == [noise]


@pytest.mark.parametrize("stays_away", ["entry", "part"])
def test_a_written_item_that_stays_invisible_is_503(table: Table, stays_away: str) -> None:
    [entry] = append(table, ROOT, random_text(100_000), idempotency_key=idempotency_key())
    key = keys.entry(ROOT, entry.entry_id) if stays_away == "entry" else keys.blob(ROOT, entry.entry_id, 0)
    lacking(table, key, times=1_000)

    with pytest.raises(UnavailableError):
        append(table, ROOT, "again", idempotency_key=idempotency_key())


def random_text(size: int) -> str:
    """Return text that does not compress."""
    return Random(7).randbytes(size // 2).hex()
