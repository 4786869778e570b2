"""The comparison with other packages: what it counts, and what it says of stores that go wrong."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import boto3
import pytest

from forklore.local import embedded
from tools.bench.ecosystem import async_stores
from tools.bench.ecosystem.__main__ import _row, dollars
from tools.bench.ecosystem.contenders import FORKLORE, Contender, _opened
from tools.bench.ecosystem.counting import Cost, Counter, counting
from tools.bench.ecosystem.measuring import STEPS, Measured, long_session, measure, two_writers
from tools.bench.ecosystem.stores import Store
from tools.harness.tables import fresh_store


@pytest.fixture(autouse=True)
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A moto in this process."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    started = embedded.start_moto()
    yield
    started.stop()


class Kept(Store):
    """Keeps all. Each process has an object, which shares `held`."""

    def __init__(self, held: dict[str, list[str]]) -> None:
        self.held = held

    def load(self, session: str) -> list[str]:
        return list(self.held.get(session, []))

    def append(self, session: str, texts: Sequence[str]) -> None:
        self.held.setdefault(session, []).extend(texts)


class Overwriting(Kept):
    """Two processes load, then both write what they loaded with their message."""

    both = threading.Barrier(2)

    def append(self, session: str, texts: Sequence[str]) -> None:
        loaded = self.load(session)
        if texts != ["begin"]:
            self.both.wait(5)
        self.held[session] = [*loaded, *texts]


class Doubling(Kept):
    def append(self, session: str, texts: Sequence[str]) -> None:
        super().append(session, [*texts, *texts])


class Refusing(Kept):
    """Refuses each message once."""

    def __init__(self, held: dict[str, list[str]]) -> None:
        super().__init__(held)
        self.refused: set[str] = set()

    def append(self, session: str, texts: Sequence[str]) -> None:
        if texts[0] != "begin" and texts[0] not in self.refused:
            self.refused.add(texts[0])
            raise ConnectionError
        super().append(session, texts)


class Short(Kept):
    """Has room for two messages, and for no fork."""

    def append(self, session: str, texts: Sequence[str]) -> None:
        if len(self.load(session)) + len(texts) > 2:
            raise OverflowError
        super().append(session, texts)


def contender(make: Callable[[dict[str, list[str]]], Store], name: str = "other") -> Contender:
    held: dict[str, list[str]] = {}
    return Contender(name, lambda _: (make(held), Counter()))


@pytest.mark.parametrize(
    ("make", "kept", "lost", "doubled", "refused"),
    [(Kept, 6, 0, 0, 0), (Overwriting, 3, 3, 0, 0), (Doubling, 6, 0, 6, 0), (Refusing, 6, 0, 0, 6)],
)
def test_what_becomes_of_the_messages_of_two_writers(
    make: Callable[[dict[str, list[str]]], Store], kept: int, lost: int, doubled: int, refused: int
) -> None:
    found = two_writers(contender(make), each=3)
    assert (found.sent, found.kept, found.lost) == (6, kept, lost)
    assert (found.doubled, found.refused) == (doubled, refused)
    assert found.errors == ({"ConnectionError"} if refused else set())


def test_a_step_that_fails_or_is_missing_is_shown() -> None:
    found = measure([contender(Short)], ["a", "b"], runs=1)["other"]
    assert found["append"].error == "OverflowError"
    assert _row(2, "other", found["append"], found["append"])[:3] == ["2", "other", "OverflowError"]
    assert _row(2, "other", found["fork"], found["fork"])[:3] == ["2", "other", "cannot"]
    assert (len(found["load"].ms), found["load"].error) == (1, "")


def test_a_store_that_cannot_keep_the_session_is_left_out() -> None:
    found = measure([contender(Kept), contender(Short, "short")], ["a"] * 3, runs=1)
    assert {one.error for one in found["short"].values()} == {"OverflowError"}
    assert [len(one.ms) for one in found["short"].values()] == [0, 0, 0]
    assert len(found["other"]["append"].ms) == 1


def test_a_long_session() -> None:
    assert long_session(contender(Kept), ["a"] * 3) == "kept"
    assert long_session(contender(Doubling), ["a"] * 3) == "not whole"
    assert long_session(contender(Short), ["a"] * 3) == "OverflowError"


def test_a_row_has_the_ratios_to_forklore() -> None:
    ours = Measured(Cost(2, 5.0, 10.0), [4.0, 8.0, 6.0])
    other = Measured(Cost(1, 0.5, 1.0), [3.0])
    assert (dollars(ours), dollars(other)) == (6.875, 0.6875)
    assert _row(10, "other", other, ours) == ["10", "other", "1", "0.5", "1", "0.69", "3.0", "10.00", "2.00"]
    assert _row(10, FORKLORE, ours, ours)[-2:] == ["", ""]


def test_requests_and_units_are_counted() -> None:
    with counting() as counter:
        client: Any = boto3.client("dynamodb", region_name="us-east-1")
    client.create_table(
        TableName="other",
        KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "ab"],
        BillingMode="PAY_PER_REQUEST",
    )
    key = {"a": {"S": "1"}, "b": {"S": "2"}}
    counter.begin()
    client.put_item(TableName="other", Item=key)
    written = counter.end()
    assert (written.requests, written.read_units) == (1, 0)
    assert written.write_units > 0
    counter.begin()
    client.get_item(TableName="other", Key=key, ConsistentRead=True)
    read = counter.end()
    assert (read.requests, read.write_units) == (1, 0)
    assert read.read_units > 0
    with pytest.raises(AssertionError, match="TransactWriteItems"):
        client.transact_write_items(TransactItems=[{"Put": {"TableName": "other", "Item": key}}])


def test_a_turn_of_an_adapter_is_counted() -> None:
    with fresh_store() as store, counting() as counter:
        counter.begin()
        ours = Contender(FORKLORE, lambda counted: _opened(store, async_stores.openai_of_forklore, counted))
        found = measure([ours], ["a", "b", "c"], runs=1)[FORKLORE]
        assert counter.end().requests == 0  # forklore's own client is counted by its meter
        costs = {step: found[step].cost for step in STEPS}
        assert all(cost is not None and cost.requests for cost in costs.values())
        assert costs["load"] is not None
        assert costs["load"].write_units == 0
        assert costs["append"] is not None
        assert costs["append"].write_units > 0
        writers = two_writers(ours, each=2)
        assert (writers.kept, writers.lost, writers.doubled) == (4, 0, 0)
