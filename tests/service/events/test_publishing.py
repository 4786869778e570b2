"""A batch of the stream is published in order, at least once; what cannot be told is parked."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Self

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from forklore_service.domain import keys
from forklore_service.errors import UnavailableError
from forklore_service.events import publishing
from forklore_service.events.around import Incomplete
from forklore_service.events.event import Content
from forklore_service.events.publishing import INCOMPLETE_SECONDS, Published, Publisher
from forklore_service.storage import bus as bus_module
from forklore_service.storage.bus import BATCH_EVENTS_MAX, Bus
from forklore_service.storage.connection import Deadline
from forklore_service.storage.table import Table
from tests.service.events.buses import Heard
from tests.service.events.recording import Record, Recorded, record_of
from tests.service.usecases.builders import ROOT, create, large, say
from tests.support.tables import Store


@pytest.fixture
def heard(moto: None) -> Heard:
    return Heard()


class Publishing:
    """A publisher on the bus, with the errors that it reports."""

    def __init__(self, heard: Heard, store: Store, *, client: Any = None, bus: Bus | None = None) -> None:
        self.errors: list[Exception] = []
        self._publisher = Publisher(
            store.process(), bus or heard.bus(client), heard.parking, Content.NONE, self.errors.append
        )

    def __call__(self, records: Sequence[Record], until: Deadline | None = None) -> Published:
        return self._publisher.publish(records, until or Deadline.after(15.0))


class Faulty:
    """An EventBridge whose calls go wrong as they are told to, one after the other.

    faults: for each call an exception to raise, or the positions that fail, each with a code.
    Further calls succeed.
    """

    def __init__(self, client: Any, *faults: Exception | dict[int, str]) -> None:
        self._client = client
        self._faults = list(faults)
        self.calls: list[int] = []

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 (AWS's name)
        self.calls.append(len(Entries))
        fault = self._faults.pop(0) if self._faults else {}
        if isinstance(fault, Exception):
            raise fault
        good = [entry for at, entry in enumerate(Entries) if at not in fault]
        answered = iter(self._client.put_events(Entries=good)["Entries"] if good else [])
        results = [{"ErrorCode": fault[at]} if at in fault else next(answered) for at in range(len(Entries))]
        return {"FailedEntryCount": len(fault), "Entries": results}


class AsLongAs(Deadline):
    """A time that ends when something else does."""

    lasts: Callable[[], bool]

    def __new__(cls, lasts: Callable[[], bool]) -> Self:
        one = super().__new__(cls, at=0.0)
        one.lasts = lasts
        return one

    def allows(self, seconds: float) -> bool:
        del seconds
        return self.lasts()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "BACKOFF_FIRST_S", 0.0)


def appended(recorded: Recorded, table: Table, count: int) -> list[Record]:
    """Return the records of so many appends, in order."""
    create(table)
    changes = [change for _ in range(count) for change in recorded.changes(lambda: say(table, ROOT, "x"))]
    return [record_of(change, number) for number, change in enumerate(changes)]


def lasts(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["detail"]["lastEntryId"] for event in events]


def heads(records: Sequence[Record]) -> list[str]:
    """Return the last entry of each append in these records."""
    found = (record["dynamodb"] for record in records)
    return [held["NewImage"]["last"]["S"] for held in found if held["Keys"]["SK"]["S"].startswith("HEAD#")]


def test_events_arrive_on_the_bus_in_the_order_of_the_records(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, 12)

    done = Publishing(heard, store)(records)

    assert done == Published(events=12, parked=0, unfinished=None)
    events = heard.events()
    assert lasts(events) == heads(records)
    first = events[0]
    assert (first["source"], first["detail-type"]) == ("forklore", "EntriesAppended")
    assert first["detail"]["conversationId"] == ROOT


def test_a_call_has_at_most_ten_events_and_only_what_failed_is_sent_again(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, BATCH_EVENTS_MAX + 1)
    faults = {2: "ThrottlingException", 5: "InternalFailure"}, {1: "InternalFailure"}
    client = Faulty(heard, *faults)

    done = Publishing(heard, store, client=client)(records)

    assert client.calls == [10, 2, 1, 1]
    assert done.unfinished is None
    assert sorted(lasts(heard.events())) == heads(records)


def test_a_call_has_at_most_256_kb(recorded: Recorded, store: Store, table: Table, heard: Heard) -> None:
    create(table)
    changes = [
        change for _ in range(3) for change in recorded.changes(lambda: say(table, ROOT, large(100_000)))
    ]
    client = Faulty(heard)
    publisher = Publisher(store.process(), heard.bus(client), heard.parking, Content.HISTORY, print)

    publisher.publish([record_of(change) for change in changes], Deadline.after(15.0))

    assert client.calls == [2, 1]


@pytest.mark.parametrize(
    "fault",
    [
        ClientError({"Error": {"Code": "ThrottlingException"}}, "PutEvents"),
        ConnectTimeoutError(endpoint_url="https://events"),
    ],
)
def test_a_bus_that_does_not_answer_is_asked_again(
    recorded: Recorded, store: Store, table: Table, heard: Heard, fault: Exception
) -> None:
    records = appended(recorded, table, 2)

    done = Publishing(heard, store, client=Faulty(heard, fault, fault))(records)

    assert done == Published(events=2, parked=0, unfinished=None)
    assert lasts(heard.events()) == heads(records)


def test_without_an_answer_the_batch_is_repeated_from_the_first_record_that_was_not_told(
    recorded: Recorded, store: Store, table: Table, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_module, "BATCH_EVENTS_MAX", 2)
    records = appended(recorded, table, 6)
    down = [ClientError({"Error": {"Code": "InternalException"}}, "PutEvents")] * 1_000
    client = Faulty(heard, {}, {0: "InternalFailure"}, *down)
    monkeypatch.setattr(bus_module, "BACKOFF_FIRST_S", 0.001)

    done = Publishing(heard, store, client=client)(records, AsLongAs(lambda: len(client.calls) < 5))

    assert done.unfinished is not None
    unfinished = records[done.unfinished]["dynamodb"]
    assert unfinished["NewImage"]["last"]["S"] == heads(records)[2]
    Publishing(heard, store)(records[done.unfinished :])
    assert set(lasts(heard.events())) == set(heads(records))


@pytest.mark.failure("poison-record")
def test_a_record_that_cannot_be_told_is_parked_and_the_others_are_told(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, 4)
    at = next(at for at, one in enumerate(records) if one["dynamodb"]["Keys"]["SK"]["S"].startswith("HEAD#"))
    poisoned = json.loads(json.dumps(records[at]))
    del poisoned["dynamodb"]["NewImage"]["changedAt"]
    odd = {"dynamodb": {"Keys": {}, "SequenceNumber": "9"}}

    publish = Publishing(heard, store)
    done = publish([*records[:at], poisoned, odd, *records[at + 1 :]])

    assert done == Published(events=3, parked=2, unfinished=None)
    assert [type(error) for error in publish.errors] == [KeyError, KeyError]
    assert lasts(heard.events()) == heads(records)[1:]
    assert heard.parked() == [{"Records": [poisoned]}, {"Records": [odd]}]
    assert publish([records[at]]).events == 1  # what was parked, published again once it can be told


def test_an_entry_that_cannot_be_decoded_concerns_its_append_only(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, 3)
    at = next(at for at, one in enumerate(records) if "contentType" in one["dynamodb"]["NewImage"])
    records[at]["dynamodb"]["NewImage"]["body"] = {"B": "eA=="}

    done = Publishing(heard, store)(records)

    assert (done.events, done.parked) == (2, 1)
    assert lasts(heard.events()) == heads(records)[1:]


@pytest.mark.parametrize("code", ["MalformedDetail", "InvalidArgument"])
def test_an_event_that_the_bus_refuses_is_parked(
    recorded: Recorded, store: Store, table: Table, heard: Heard, code: str
) -> None:
    records = appended(recorded, table, 3)

    done = Publishing(heard, store, client=Faulty(heard, {1: code}))(records)

    assert done == Published(events=2, parked=1, unfinished=None)
    [parked] = heard.parked()
    assert heads(parked["Records"]) == heads(records)[1:2]


def test_if_a_call_is_refused_its_events_are_sent_one_by_one(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, 3)
    refusal = ClientError({"Error": {"Code": "ValidationException"}}, "PutEvents")

    done = Publishing(heard, store, client=Faulty(heard, refusal, {}, refusal))(records)

    assert done == Published(events=2, parked=1, unfinished=None)
    assert lasts(heard.events()) == [heads(records)[0], heads(records)[2]]


def test_if_the_queue_does_not_answer_the_record_comes_again(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = appended(recorded, table, 3)
    at = len(records) - 1
    heard.lose_parking()

    done = Publishing(heard, store)([*records[:at], {"dynamodb": {}}, records[at]])

    assert (done.parked, done.unfinished) == (0, at)


def test_if_the_table_does_not_answer_what_came_before_is_told(
    recorded: Recorded, store: Store, table: Table, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [one for one in appended(recorded, table, 3) if "HEAD#" in one["dynamodb"]["Keys"]["SK"]["S"]]
    queries: list[object] = []
    query = Table.query

    def one_query(self: Table, *args: Any, **named: Any) -> Any:
        queries.append(args)
        if len(queries) > 1:
            raise UnavailableError("busy")
        return query(self, *args, **named)

    monkeypatch.setattr(Table, "query", one_query)

    done = Publishing(heard, store)(records)

    assert done == Published(events=1, parked=0, unfinished=1)
    assert lasts(heard.events()) == heads(records)[:1]


def test_a_very_large_record_is_parked_without_its_images(
    heard: Heard, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "PARKED_BYTES_MAX", 400)
    key = {"PK": {"S": ROOT}, "SK": {"S": keys.head(ROOT, ROOT).sort}}
    odd = {"dynamodb": {"Keys": key, "NewImage": {"x": {"S": "x" * 400}}, "ApproximateCreationDateTime": 1}}

    assert Publishing(heard, store)([odd]).parked == 1

    [parked] = heard.parked()
    assert parked["Records"][0]["dynamodb"] == {"Keys": key, "ApproximateCreationDateTime": 1}
    assert parked["isCut"]
    assert Publishing(heard, store)(parked["Records"]).parked == 1


@pytest.mark.failure("half-visible-transaction")
def test_an_append_of_which_an_entry_cannot_be_read_yet_comes_again(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = [one for one in appended(recorded, table, 2) if "HEAD#" in one["dynamodb"]["Keys"]["SK"]["S"]]
    [key] = [key for key in store.contents() if key.sort.endswith(heads(records)[1])]
    entry = store.item(key)
    store.delete(key)

    done = Publishing(heard, store)(records)

    assert done == Published(events=1, parked=0, unfinished=1)
    store.put(entry)
    assert Publishing(heard, store)(records[1:]) == Published(events=1, parked=0, unfinished=None)
    assert lasts(heard.events()) == heads(records)


@pytest.mark.failure("poison-record")
def test_an_append_of_which_an_entry_is_lost_is_parked_after_some_minutes(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    records = [one for one in appended(recorded, table, 2) if "HEAD#" in one["dynamodb"]["Keys"]["SK"]["S"]]
    [key] = [key for key in store.contents() if key.sort.endswith(heads(records)[0])]
    store.delete(key)
    records[0]["dynamodb"]["ApproximateCreationDateTime"] -= INCOMPLETE_SECONDS + 60

    publish = Publishing(heard, store)

    assert publish(records) == Published(events=1, parked=1, unfinished=None)
    assert [type(error) for error in publish.errors] == [Incomplete]
    assert lasts(heard.events()) == heads(records)[1:]
    assert heard.parked() == [{"Records": [records[0]]}]


def test_an_old_change_comes_again_if_the_table_does_not_answer(
    recorded: Recorded, store: Store, table: Table, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    [record] = [one for one in appended(recorded, table, 1) if "HEAD#" in one["dynamodb"]["Keys"]["SK"]["S"]]
    record["dynamodb"]["ApproximateCreationDateTime"] -= INCOMPLETE_SECONDS + 60

    def busy(*_: Any, **__: Any) -> Any:
        raise UnavailableError("busy")

    monkeypatch.setattr(Table, "query", busy)

    assert Publishing(heard, store)([record]) == Published(events=0, parked=0, unfinished=0)


def test_a_large_message_of_which_a_part_cannot_be_read_yet_comes_again(
    recorded: Recorded, store: Store, table: Table, heard: Heard
) -> None:
    create(table)
    noise = Random(1).randbytes(40_000).hex()
    changes = recorded.changes(lambda: say(table, ROOT, noise))
    [blob] = [change for change in changes if change.key.partition.startswith("BLOB#")]
    store.delete(blob.key)
    records = [record_of(change) for change in changes]

    done = Publishing(heard, store)(records)

    assert (done.events, done.unfinished is not None) == (0, True)
    assert blob.new is not None
    store.put(blob.new)
    assert Publishing(heard, store)(records).events == 1
    [event] = heard.events()
    assert event["detail"]["entries"][0]["role"] == "USER"
