"""What is told of a change is kept with it, waits for its receivers, and is then gone."""

import json
import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from forklore.embedded.journal import Journal
from forklore.embedded.outbox import HeldMessages, Message, Outbox, Waiting
from forklore.embedded.store import TTL, Store
from tests.embedded.items import TABLE, key, put
from tests.embedded.test_store import never, set_text

RECEIVERS = ("a", "b")


class Kept:
    """A store in a file, with an outbox. It can be closed and opened again."""

    def __init__(self, path: Path, receivers: Sequence[str] = RECEIVERS) -> None:
        self.path = path
        self.outbox = Outbox(lambda partition, sort: (partition, sort) != ("quiet", "x"), receivers)
        self.added: list[Waiting] = []
        self.outbox.added = self.added.extend
        self.store = Store(Journal(path), outbox=self.outbox)
        self.client = self.store.make_client()

    def again(self, receivers: Sequence[str] = RECEIVERS) -> "Kept":
        self.store.close()
        return Kept(self.path, receivers)

    def texts(self, waiting: Sequence[Waiting]) -> list[tuple[str, str]]:
        """Return for each message its receiver, and the text of the item before and after."""
        return [(one.receiver, " > ".join(self.images(one))) for one in waiting]

    def images(self, one: Waiting) -> Iterator[str]:
        record = json.loads(self.store.message(one.number) or "")["dynamodb"]
        assert record["Keys"]["PK"]["S"] == one.tree
        for name in ("OldImage", "NewImage"):
            assert name not in record or record[name].items() >= record["Keys"].items()
            yield record[name]["text"]["S"] if name in record else "-"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    opened = Kept(tmp_path / "forklore.db")
    yield opened
    opened.store.close()


def test_each_receiver_is_told_of_each_change_with_both_images(kept: Kept) -> None:
    put(kept.client, "tree", "x", text={"S": "one"})
    kept.client.update_item(**set_text("tree", "x", "two"))
    kept.client.delete_item(TableName=TABLE, Key=key("tree", "x"))

    expected = ["- > one", "one > two"]  # a removal tells nothing
    assert kept.texts(kept.added) == [(receiver, text) for text in expected for receiver in RECEIVERS]
    assert {one.tree for one in kept.added} == {"tree"}
    assert [one.number for one in kept.added] == sorted({one.number for one in kept.added})


def test_a_record_has_bytes_in_base64_and_the_time_as_lambda_gets_them(kept: Kept) -> None:
    parts = [
        {"Put": {"TableName": TABLE, "Item": key("tree", sort) | {"bytes": {"B": b"\x00\xff"}}}}
        for sort in "xy"
    ]
    kept.client.transact_write_items(TransactItems=parts)
    put(kept.client, "tree", "z", bytes={"B": b"\x00\xff"})

    records = [json.loads(kept.store.message(one.number) or "")["dynamodb"] for one in kept.added[::2]]
    assert [record["NewImage"]["bytes"] for record in records] == [{"B": "AP8="}] * 3
    assert all(abs(record["ApproximateCreationDateTime"] - time.time()) < 60 for record in records)


def test_a_call_that_failed_what_is_not_told_and_what_expired_are_told_to_nobody(kept: Kept) -> None:
    with pytest.raises(ClientError):
        kept.client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": key("tree", "x") | {"text": {"S": "one"}}}},
                never("tree", "y"),
            ]
        )
    put(kept.client, "quiet", "x", text={"S": "one"})
    assert kept.added == []
    put(kept.client, "tree", "x", text={"S": "one"}, **{TTL: {"N": "10"}})
    kept.added.clear()
    kept.store.expire(20)

    assert kept.added == []
    assert not kept.client.get_item(TableName=TABLE, Key=key("tree", "x")).get("Item")


def test_what_waits_is_there_after_a_restart_and_what_was_delivered_is_not(kept: Kept) -> None:
    put(kept.client, "tree", "x", text={"S": "one"})
    put(kept.client, "other", "x", text={"S": "two"})
    kept.store.delete_message(kept.added[0].number)
    kept.store.delete_message(kept.added[0].number)  # again, which changes nothing
    assert kept.store.message(kept.added[0].number) is None

    later = kept.again()
    left = later.store.left()
    assert left == kept.added[1:]
    assert later.texts(left) == [("b", "- > one"), ("a", "- > two"), ("b", "- > two")]
    put(later.client, "tree", "y", text={"S": "three"})
    assert later.added[0].number > max(one.number for one in left), "a number was used again"
    later.store.close()


def test_a_delivered_text_is_in_no_file_of_the_folder(kept: Kept) -> None:
    put(kept.client, "tree", "x", text={"S": "first"})
    kept.client.update_item(**set_text("tree", "x", "kept"))
    for one in kept.added:
        kept.store.delete_message(one.number)
    kept.store.close()

    stored = b"".join(file.read_bytes() for file in kept.path.parent.iterdir())
    assert b'"OldImage"' not in stored
    assert b"kept" in stored


def test_what_waits_for_a_receiver_that_is_not_named_again_is_dropped_and_said(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    put(kept.client, "tree", "x", text={"S": "one"})

    later = kept.again(["b"])
    assert later.texts(later.store.left()) == [("b", "- > one")]
    assert [(record.message, record.__dict__["dropped"]) for record in caplog.records] == [("not_named", 1)]
    later.store.close()


def test_without_an_outbox_what_waits_is_left_as_it_is(kept: Kept) -> None:
    put(kept.client, "tree", "x", text={"S": "one"})
    kept.store.close()
    plain = Store(Journal(kept.path))
    put(plain.make_client(), "tree", "x", text={"S": "two"})
    plain.close()

    later = Kept(kept.path)
    assert later.texts(later.store.left()) == [("a", "- > one"), ("b", "- > one")]
    later.store.close()


@pytest.mark.failure("failing-receiver", "disk-full")
def test_when_the_file_cannot_be_written_neither_the_change_nor_its_message_is_there(kept: Kept) -> None:
    put(kept.client, "tree", "x", text={"S": "one"})
    other = sqlite3.connect(kept.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ClientError):
        put(kept.client, "tree", "x", text={"S": "two"})
    other.close()
    assert len(kept.added) == len(RECEIVERS)
    assert kept.store.message(kept.added[0].number) is None, "a store that failed answers nothing more"

    later = kept.again()
    assert later.texts(later.store.left()) == [("a", "- > one"), ("b", "- > one")]
    later.store.close()


def test_in_memory_what_is_too_much_is_dropped_and_said_once_at_each_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    held = HeldMessages(bytes_max=2_000)
    one = Message("a", "tree", "x" * 100)
    assert held.add_messages([one, one]) == [1, 2]
    assert held.add_messages([one, one]) == [], "all or none"
    assert held.add_messages([one]) == []
    assert [record.message for record in caplog.records] == ["dropping"]
    held.delete_message(1)
    assert [record.message for record in caplog.records] == ["dropping", "dropped"]
    assert caplog.records[-1].__dict__["dropped"] == 3
    assert held.add_messages([one]) == [3]
    assert held.waiting(["a"]) == [Waiting(2, "a", "tree"), Waiting(3, "a", "tree")]
