"""What is told of a change is kept with it, waits for its receivers, and is then gone."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from forklore_local.embedded.engine import Engine
from forklore_local.in_process.opened import open_database
from forklore_local.in_process.outbox import Outbox, Waiting, forget_receivers, note
from forklore_service.storage.connection import CallRefused
from tests.local.embedded.items import TABLE, key, put

RECEIVERS = ("a", "b")


class Kept:
    """A folder with an outbox. It can be closed and opened again."""

    def __init__(self, folder: Path, receivers: Sequence[str] = RECEIVERS) -> None:
        self.folder = folder
        self.database = open_database(folder)
        self.client = Engine(self.database, told=note)
        self.outbox = Outbox(self.database, folder, receivers)

    def write(self, sort: str, text: str, partition: str = "tree") -> None:
        put(self.client, partition, sort, text={"S": text})

    def end(self) -> None:
        self.outbox.close()
        self.database.close()

    def again(self, receivers: Sequence[str] = RECEIVERS) -> "Kept":
        self.end()
        return Kept(self.folder, receivers)

    def texts(self, waiting: Sequence[Waiting]) -> list[tuple[str, str]]:
        """Return for each message its receiver, and the text of the item before and after."""
        return [(one.receiver, " > ".join(self.images(one))) for one in waiting]

    def images(self, one: Waiting) -> Iterator[str]:
        record = json.loads(self.outbox.message(one.number) or "")["dynamodb"]
        assert record["Keys"]["PK"]["S"] == one.tree
        for name in ("OldImage", "NewImage"):
            assert name not in record or record[name].items() >= record["Keys"].items()
            yield record[name]["text"]["S"] if name in record else "-"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    opened = Kept(tmp_path)
    yield opened
    opened.end()


def test_each_receiver_is_told_of_each_change_with_both_images(kept: Kept) -> None:
    kept.write("HEAD#x", "one")
    kept.write("HEAD#x", "two")
    kept.write("HEAD#x", "two")  # which changes nothing
    kept.client.delete_item(TableName=TABLE, Key=key("tree", "HEAD#x"))
    kept.write("quiet", "one")

    waiting = kept.outbox.fresh()
    expected = ["- > one", "one > two"]  # a removal tells nothing
    assert kept.texts(waiting) == [(receiver, text) for text in expected for receiver in RECEIVERS]
    assert [one.number for one in waiting] == sorted({one.number for one in waiting})
    assert kept.outbox.fresh() == []


def test_a_record_has_bytes_in_base64_and_the_time_as_lambda_gets_them(kept: Kept) -> None:
    put(kept.client, "tree", "GROUP", bytes={"B": b"\x00\xff"})

    record = json.loads(kept.outbox.message(kept.outbox.fresh()[0].number) or "")["dynamodb"]
    assert record["NewImage"]["bytes"] == {"B": "AP8="}
    assert abs(record["ApproximateCreationDateTime"] - time.time()) < 60


def test_a_call_that_failed_and_what_expired_are_told_to_nobody(kept: Kept) -> None:
    never = {"Key": key("tree", "y"), "ConditionExpression": "attribute_exists(PK)", "TableName": TABLE}
    told = {"Put": {"TableName": TABLE, "Item": key("tree", "HEAD#x")}}
    with pytest.raises(CallRefused):
        kept.client.transact_write_items(TransactItems=[told, {"ConditionCheck": never}])
    assert kept.outbox.fresh() == []
    put(kept.client, "tree", "HEAD#x", ttl={"N": "10"})
    assert len(kept.outbox.fresh()) == len(RECEIVERS)
    kept.client.expire(20)

    assert kept.outbox.fresh() == []


def test_what_waits_is_there_after_a_restart_and_what_was_delivered_is_not(kept: Kept) -> None:
    kept.write("HEAD#x", "one")
    kept.write("HEAD#x", "two", "other")
    [first, *rest] = kept.outbox.fresh()
    kept.outbox.delete_message(first.number)
    kept.outbox.delete_message(first.number)  # again, which changes nothing
    assert kept.outbox.message(first.number) is None

    later = kept.again()
    assert later.outbox.fresh() == rest
    assert later.texts(rest) == [("b", "- > one"), ("a", "- > two"), ("b", "- > two")]
    later.write("HEAD#y", "three")
    assert later.outbox.fresh()[0].number > rest[-1].number, "a number was used again"
    later.end()


def test_a_delivered_text_is_in_no_file_of_the_folder(kept: Kept) -> None:
    kept.write("HEAD#x", "first")
    kept.write("HEAD#x", "kept")
    for one in kept.outbox.fresh():
        kept.outbox.delete_message(one.number)
    kept.end()

    stored = b"".join(file.read_bytes() for file in kept.folder.iterdir())
    assert b'"OldImage"' not in stored
    assert b"kept" in stored


def test_what_waits_for_a_receiver_that_is_not_named_again_is_dropped_and_said(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.write("HEAD#x", "one")

    later = kept.again(["b"])
    assert later.texts(later.outbox.fresh()) == [("b", "- > one")]
    assert [(record.message, record.__dict__["dropped"]) for record in caplog.records] == [("not_named", 1)]
    later.end()


@pytest.mark.failure("failing-receiver")
def test_another_process_leaves_messages_and_only_one_process_tells(kept: Kept) -> None:
    other = open_database(kept.folder)
    put(Engine(other, told=note), "tree", "HEAD#x", text={"S": "one"})
    assert kept.texts(kept.outbox.fresh()) == [("a", "- > one"), ("b", "- > one")]
    with pytest.raises(OSError, match="another process tells"):
        Outbox(other, kept.folder, ["c"])
    forget_receivers(other, kept.folder)
    put(Engine(other, told=note), "tree", "HEAD#x", text={"S": "two"})
    assert len(kept.outbox.fresh()) == 2, "the process that tells is alive"

    kept.outbox._lock.close()  # type: ignore[union-attr] # it was killed
    forget_receivers(other, kept.folder)
    put(Engine(other, told=note), "tree", "HEAD#x", text={"S": "three"})
    assert kept.outbox.fresh() == []
    other.close()


def test_in_memory_what_is_too_much_is_dropped_and_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore_local.in_process.outbox.WAITING_MAX", 3)
    database = open_database(None)
    outbox, engine = Outbox(database, None, ["a"]), Engine(database, told=note)
    for number in range(5):
        put(engine, "tree", "HEAD#x", text={"S": str(number)})
    numbers = [one.number for one in outbox.fresh()]

    assert [outbox.message(number) is None for number in numbers] == [True, True, False, False, False]
    assert [record.message for record in caplog.records] == ["dropping"]
