from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import Key, SortRange
from forklore_service.domain.model import Channel, Entry, JobKind, StoredEntry
from forklore_service.domain.paging import RangeRead, Window
from forklore_service.errors import GroupFullError, UnavailableError
from forklore_service.storage import actions, bodies, items
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.connection import ATTEMPTS_MAX, Item
from forklore_service.storage.items import number, text
from forklore_service.storage.table import BATCH_DELETES_MAX, BATCH_KEYS_MAX, BLOBS_AT_ONCE, LOOKS_MAX, Table
from tests.support.tables import Store
from tools.harness.tables import NAME
from tools.harness.wire import Answer, Request, Wire, failure, success

GROUP = "00000001-0000-4000-8000-000000000000"
OTHER = "00000001-0000-4000-8000-00000000000f"


def row(sort: str) -> Item:
    return {"PK": text("p"), "SK": text(sort)}


def rows(count: int) -> list[Item]:
    return [row(f"{at:04}") for at in range(count)]


ALL = SortRange("p", "0", ":")


def at(millisecond: int) -> EntryId:
    return ids.fresh_id(millisecond, 0)


def entry(millisecond: int, content: str = "[]", channel: Channel = Channel.HISTORY) -> list[Item]:
    """Return the items of an entry written in that millisecond."""
    value = Entry(at(millisecond), GROUP, "ann", channel, "history", content)
    item, blobs = items.entry_items(GROUP, value, nonce="n", escaped_bytes=len(content))
    return [item, *blobs]


def keys_sent(wire: Wire) -> list[int]:
    """Return how many keys each BatchGetItem asked for."""
    return [len(request.body["RequestItems"][NAME]["Keys"]) for request in wire.requests]


# Deleting items by key


def deletes_sent(wire: Wire) -> list[int]:
    """Return how many items each BatchWriteItem deletes (in parallel), the largest first."""
    sent = [len(r.body["RequestItems"][NAME]) for r in wire.requests if r.operation == "BatchWriteItem"]
    return sorted(sent, reverse=True)


def test_any_number_of_items_is_deleted_25_at_a_time_whether_they_exist_or_not(
    store: Store, table: Table
) -> None:
    store.put(*rows(60), row("kept"))
    wire = Wire.of(table)

    table.delete([*(Key("p", f"{at:04}") for at in range(70)), Key("p", "0001")])

    assert list(store.contents()) == [Key("p", "kept")]
    assert deletes_sent(wire) == [BATCH_DELETES_MAX, BATCH_DELETES_MAX, 20]


def test_deleting_nothing_sends_no_request(table: Table) -> None:
    wire = Wire.of(table)

    table.delete([])

    assert wire.requests == []


def leave_unprocessed(wire: Wire, of: Callable[[list[Any]], list[Any]]) -> None:
    """Let DynamoDB leave out a part of each batch, as it may do. of: chooses the part."""

    def answer(request: Request) -> Answer | None:
        if request.operation != "BatchWriteItem":
            return None
        wanted = request.body["RequestItems"][NAME]
        left = of(wanted)
        request.scratch["left"] = left
        return success(UnprocessedItems={NAME: left} if left else {})

    wire.before(answer)


@pytest.mark.failure("partial-answer")
def test_only_the_unprocessed_part_of_a_batch_is_sent_again(store: Store, table: Table) -> None:
    wire = Wire.of(table)
    leave_unprocessed(wire, lambda wanted: wanted[: len(wanted) // 2])

    table.delete(Key("p", f"{at:04}") for at in range(20))

    sent = [request.body["RequestItems"][NAME] for request in wire.requests]
    assert [len(batch) for batch in sent] == [20, 10, 5, 2, 1]
    assert sent[1] == sent[0][:10]


@pytest.mark.failure("partial-answer")
def test_a_batch_that_stays_unprocessed_is_given_up_after_8_attempts(store: Store, table: Table) -> None:
    wire = Wire.of(table)
    leave_unprocessed(wire, lambda wanted: wanted)

    with pytest.raises(UnavailableError):
        table.delete([Key("p", "0001")])

    assert len(wire.requests) == ATTEMPTS_MAX


def test_a_throttled_batch_is_sent_again(store: Store, table: Table) -> None:
    store.put(*rows(3))
    wire = Wire.of(table)
    wire.before(lambda request: failure("ThrottlingException") if request.number < 3 else None)

    table.delete([Key("p", "0000"), Key("p", "0002")])

    assert list(store.contents()) == [Key("p", "0001")]


def test_a_query_can_ask_for_the_keys_and_some_attributes_only(store: Store, table: Table) -> None:
    store.put(row("1") | {"chunks": number(2), "body": text("large")}, row("2") | {"body": text("large")})

    assert list(table.query(ALL, only=("chunks",))) == [row("1") | {"chunks": number(2)}, row("2")]
    assert list(table.query(ALL, only=())) == [row("1"), row("2")]


# Reading items by key


def test_any_number_of_keys_is_read_a_hundred_at_a_time(store: Store, table: Table) -> None:
    store.put(*rows(150))
    wire = Wire.of(table)
    wanted = [Key("p", f"{at:04}") for at in range(205)]

    assert table.items_at(wanted).keys() == set(wanted[:150])
    assert keys_sent(wire) == [BATCH_KEYS_MAX, BATCH_KEYS_MAX, 5]
    assert all(request.body["RequestItems"][NAME]["ConsistentRead"] for request in wire.requests)


def test_a_repeated_key_is_read_once_and_none_is_ignored(store: Store, table: Table) -> None:
    store.put(*rows(1))
    wire = Wire.of(table)

    assert table.items_at([Key("p", "0000")] * 3) == {Key("p", "0000"): row("0000")}
    assert table.items_at([]) == {}
    assert keys_sent(wire) == [1]


def some_at_a_time(most: int) -> Callable[[Request, dict[str, Any]], None]:
    """Return a tap that makes DynamoDB answer at most `most` keys of a request."""

    def keep_back(request: Request, answer: dict[str, Any]) -> None:
        asked = request.body["RequestItems"][NAME]["Keys"]
        done = [(key["PK"]["S"], key["SK"]["S"]) for key in asked[:most]]
        found = answer["Responses"][NAME]
        answer["Responses"][NAME] = [i for i in found if (i["PK"]["S"], i["SK"]["S"]) in done]
        if asked[most:]:
            answer["UnprocessedKeys"] = {NAME: {"Keys": asked[most:], "ConsistentRead": True}}

    return keep_back


@pytest.mark.failure("partial-answer")
def test_unprocessed_keys_are_read_again(store: Store, table: Table) -> None:
    store.put(*rows(10))
    wire = Wire.of(table)
    wire.after(some_at_a_time(3))

    assert len(table.items_at(Key("p", f"{at:04}") for at in range(10))) == 10
    assert keys_sent(wire) == [10, 7, 4, 1]


def test_keys_that_stay_unprocessed_end_in_unavailable(store: Store, table: Table) -> None:
    wire = Wire.of(table)
    wire.after(some_at_a_time(0))

    with pytest.raises(UnavailableError):
        table.items_at([Key("p", "0000")])

    assert len(wire.requests) == 8


@pytest.mark.failure("partial-answer")
def test_there_is_a_pause_before_unprocessed_keys_are_read_again(store: Store) -> None:
    """The pauses grow, and stay within the request's time."""
    pauses: list[float] = []
    table = store.process(sleep=pauses.append)
    Wire.of(table).after(some_at_a_time(1))

    table.items_at(Key("p", f"{at:04}") for at in range(3))

    assert len(pauses) == 2


# Reading ranges


def empty_at_first(request: Request) -> Answer | None:
    """Answer the first Query with an empty page and a LastEvaluatedKey, as DynamoDB may do."""
    if "ExclusiveStartKey" in request.body:
        return None
    values = request.body["ExpressionAttributeValues"]
    near = values[":first" if request.body["ScanIndexForward"] else ":last"]["S"]
    by = "L1" if "IndexName" in request.body else "SK"
    reached = {"PK": values[":p"], "SK": text(near.rpartition("#H#")[2]), by: text(near)}
    return success(Items=[], LastEvaluatedKey=reached)


def short_pages(most: int) -> Callable[[Request, dict[str, Any]], None]:
    """Return a tap that ends each page of a Query after `most` items, as DynamoDB does at 1 MB."""

    def shorten(request: Request, answer: dict[str, Any]) -> None:
        if request.operation == "Query" and len(answer["Items"]) > most:
            del answer["Items"][most:]
            answer["LastEvaluatedKey"] = {name: answer["Items"][-1][name] for name in ("PK", "SK")}

    return shorten


@pytest.mark.failure("misleading-query-page")
@pytest.mark.parametrize("backward", [False, True])
def test_a_range_is_read_to_its_end_over_short_pages(store: Store, table: Table, backward: bool) -> None:
    store.put(*rows(10))
    wire = Wire.of(table)
    wire.after(short_pages(3))

    found = [item["SK"]["S"] for item in table.query(ALL, backward=backward)]

    assert found == sorted((item["SK"]["S"] for item in rows(10)), reverse=backward)
    assert len(wire.requests) == 4
    assert all(request.body["ConsistentRead"] for request in wire.requests)


@pytest.mark.failure("misleading-query-page")
def test_an_empty_page_with_a_key_to_go_on_from_is_not_the_end(store: Store, table: Table) -> None:
    store.put(*rows(2))
    wire = Wire.of(table)
    wire.before(empty_at_first)

    assert [item["SK"]["S"] for item in table.query(ALL)] == ["0000", "0001"]
    assert len(wire.requests) == 2


@pytest.mark.failure("misleading-query-page")
def test_a_range_larger_than_a_megabyte_is_read_to_its_end(store: Store, table: Table) -> None:
    """DynamoDB's own pages end at 1 MB."""
    store.put(*(item | {"data": {"B": bytes(300_000)}} for item in rows(8)))
    wire = Wire.of(table)

    assert len(list(table.query(ALL))) == 8
    assert len(wire.requests) > 1


def test_a_limit_bounds_how_many_items_are_read(store: Store, table: Table) -> None:
    store.put(*rows(10))
    wire = Wire.of(table)

    assert [item["SK"]["S"] for item in table.query(ALL, limit=3)] == ["0000", "0001", "0002"]
    assert len(wire.requests) == 1


def test_a_limit_holds_over_short_pages(store: Store, table: Table) -> None:
    store.put(*rows(10))
    Wire.of(table).after(short_pages(2))

    assert [item["SK"]["S"] for item in table.query(ALL, limit=3)] == ["0000", "0001", "0002"]


def test_reading_on_demand_reads_only_the_pages_that_are_used(store: Store, table: Table) -> None:
    store.put(*rows(10))
    wire = Wire.of(table)
    found = table.query(ALL, page=4)

    assert [next(found)["SK"]["S"] for _ in range(4)] == ["0000", "0001", "0002", "0003"]
    assert len(wire.requests) == 1
    assert len(list(found)) == 6


# Reading entries


def read(limit: int, window: Window = Window(), conversation: str | None = GROUP) -> RangeRead:  # noqa: B008
    return RangeRead(window, limit, conversation, Channel.HISTORY if conversation else None)


@pytest.mark.parametrize("conversation", [GROUP, None], ids=["by conversation", "of the tree"])
@pytest.mark.parametrize("backward", [False, True])
def test_a_range_of_entries_excludes_its_stop_and_returns_how_far_it_read(
    store: Store, table: Table, conversation: str | None, backward: bool
) -> None:
    store.put(*(item for millisecond in range(1, 7) for item in entry(millisecond)))
    window = Window(at(2), at(5))

    def found(limit: int) -> tuple[list[EntryId], EntryId | None]:
        (answer,) = table.read_ranges(GROUP, [read(limit, window, conversation)], backward=backward)
        return [stored.entry_id for stored in answer.entries], answer.reached

    whole = [at(2), at(3), at(4)][:: -1 if backward else 1]
    assert found(9) == (whole, None)
    assert found(2) == (whole[:2], whole[1])


def test_the_index_lists_entries_by_channel_and_the_table_lists_all(store: Store, table: Table) -> None:
    store.put(*entry(1), *entry(2, channel=Channel.CONTEXT), *entry(3))
    store.put(items.key_of(keys.group(GROUP)), items.key_of(keys.head(GROUP, GROUP)))
    reads = [
        RangeRead(Window(), 9, GROUP, Channel.HISTORY),
        RangeRead(Window(), 9, GROUP, Channel.CONTEXT),
        RangeRead(Window(), 9),
    ]

    answers = table.read_ranges(GROUP, reads, backward=False)

    assert [[e.entry_id for e in answer.entries] for answer in answers] == [
        [at(1), at(3)],
        [at(2)],
        [at(1), at(2), at(3)],
    ]


@pytest.mark.parametrize("backward", [False, True])
def test_an_empty_page_of_entries_reports_that_there_may_be_more(
    store: Store, table: Table, backward: bool
) -> None:
    store.put(*entry(1), *entry(2))
    Wire.of(table).before(empty_at_first)

    (answer,) = table.read_ranges(GROUP, [read(9)], backward=backward)

    assert answer.entries == []
    assert answer.reached == (ids.previous_id(LAST) if backward else FIRST)


def test_bodies_in_chunks_come_back_complete_and_in_the_requested_order(store: Store, table: Table) -> None:
    large = f'["{Random(1).randbytes(bodies.CHUNK_BYTES * 5 // 2).hex()}"]'
    store.put(*entry(1, "[1]"))
    for item in entry(2, large):
        store.put(item)
    wire = Wire.of(table)

    found = table.entries(GROUP, [at(2), at(1)])

    assert [one.content for one in found] == [large, "[1]"]
    assert keys_sent(wire) == [2, 3]


def test_many_chunks_are_read_in_requests_whose_answers_fit(store: Store, table: Table) -> None:
    wire = Wire.of(table)
    stored = StoredEntry(Entry(at(1), GROUP, "ann", Channel.HISTORY, "h", ""), b"", 50, 1, "n")

    with pytest.raises(UnavailableError):  # None of the chunks was written.
        table.with_bodies(GROUP, [stored])

    assert keys_sent(wire) == [BLOBS_AT_ONCE] * LOOKS_MAX
    assert BLOBS_AT_ONCE * bodies.CHUNK_BYTES < 16 * 2**20


# Transactions


def test_two_parts_of_one_id_are_a_mistake_of_the_code(store: Store, table: Table) -> None:
    one = Action(ActionKind.GROUP, "Put", items.key_of(keys.group(GROUP)))

    with store.unchanged(), pytest.raises(AssertionError):
        table.commit([one, one])


def test_a_refusal_names_the_parts_that_refused_and_decodes_what_stands_there(table: Table) -> None:
    there, gone = JobKind.DELETION, JobKind.TRANSFER
    table.commit([actions.job.put(there, GROUP, at=ids.timestamp(0))])
    table.commit([actions.job.lease(keys.job(there, GROUP), was=items.FREE, until="soon", holder="mine")])
    leases = [
        actions.job.lease(keys.job(kind, GROUP), was="another", until="later", holder="other")
        for kind in (there, gone)
    ]

    with pytest.raises(ConditionFailed) as refused:
        table.commit([actions.job.put(there, OTHER, at=ids.timestamp(0)), *leases])

    failed = refused.value
    assert [part.of for part in failed.failed] == [f"delete#{GROUP}", f"transfer#{GROUP}"]
    assert failed.kinds == [ActionKind.JOB, ActionKind.JOB]
    assert failed.lease_holder() == "mine"
    assert failed.has(ActionKind.JOB, f"transfer#{GROUP}")
    assert not failed.has(ActionKind.JOB, f"delete#{OTHER}")
    assert not failed.has(ActionKind.HEAD)
    assert (failed.head(), failed.group(), failed.transfer(), failed.epoch()) == (None, None, None, None)


# How full a tree is


@pytest.mark.parametrize(("gigabytes", "is_full"), [(0.0, False), (8.0, False), (9.0, True), (10.0, True)])
def test_a_tree_is_full_from_nine_gigabytes_on(
    store: Store, table: Table, gigabytes: float, is_full: bool
) -> None:
    wire = Wire.of(table)
    sizes = [{"ItemCollectionKey": {"PK": text(GROUP)}, "SizeEstimateRangeGB": [gigabytes, gigabytes + 1]}]
    wire.after(lambda _, answer: answer.update(ItemCollectionMetrics={NAME: sizes}))
    item = items.key_of(keys.group(GROUP)) | {"x": number(1)}

    table.commit([Action(ActionKind.GROUP, "Put", item)])

    assert wire.requests[0].body["ReturnItemCollectionMetrics"] == "SIZE"
    assert table.cache.is_full(GROUP) is is_full
    assert not table.cache.is_full("another")
    if is_full:
        with pytest.raises(GroupFullError):
            table.refuse_if_full(GROUP)
    else:
        table.refuse_if_full(GROUP)


def test_a_request_with_no_time_left_sends_nothing_and_shares_the_cache_of_the_process(table: Table) -> None:
    hurried = table.within(0)
    table.cache.mark_full(GROUP)
    wire = Wire.of(table)

    assert hurried.cache.is_full(GROUP)
    with pytest.raises(UnavailableError):
        hurried.get([Key("p", "0000")])
    assert wire.requests == []
