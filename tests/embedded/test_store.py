"""What a call changed is kept, and a call that failed changed nothing."""

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from forklore.embedded.journal import Change
from forklore.embedded.outbox import Message
from forklore.embedded.store import Store
from tests.embedded.conftest import Kept
from tests.embedded.items import TABLE, everything, key, put

VALUES: dict[str, Any] = {
    "text": {"S": "a\u0000b\U0001f420 \u2028"},
    "empty": {"S": ""},
    "number": {"N": "-12345678901234567890.5"},
    "true": {"BOOL": True},
    "null": {"NULL": True},
    "bytes": {"B": b"\x00\xff"},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "byte strings": {"BS": [b"a", b"\xff"]},
    "list": {"L": [{"S": "x"}, {"L": []}, {"B": b"b"}, {"M": {"S": {"S": "a member called S"}}}]},
    "map": {"M": {"N": {"N": "1"}, "deep": {"M": {"b": {"B": b"b"}}}}},
}


def set_text(partition: str, sort: str, value: str) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": key(partition, sort),
        "UpdateExpression": "SET #t = :t",
        "ExpressionAttributeNames": {"#t": "text"},
        "ExpressionAttributeValues": {":t": {"S": value}},
    }


def never(partition: str, sort: str) -> dict[str, Any]:
    """A condition that does not hold."""
    return {
        "ConditionCheck": {
            "TableName": TABLE,
            "Key": key(partition, sort),
            "ConditionExpression": "attribute_exists(nothing)",
        }
    }


def test_every_kind_of_value_comes_back(kept: Kept) -> None:
    put(kept.client, "a", "put", **VALUES)
    whole = {"TableName": TABLE, "Item": key("a", "transaction") | VALUES}
    kept.client.transact_write_items(TransactItems=[{"Put": whole}])
    before = everything(kept.client)

    assert before == [key("a", "put") | VALUES, key("a", "transaction") | VALUES]
    assert everything(kept.again().client) == before


def test_each_way_of_writing_is_kept(kept: Kept) -> None:
    for sort in "123456":
        put(kept.client, "a", sort)
    kept.client.delete_item(TableName=TABLE, Key=key("a", "1"))
    kept.client.update_item(**set_text("a", "2", "updated"))
    kept.client.update_item(**set_text("a", "new", "made by an update"))
    kept.client.batch_write_item(
        RequestItems={
            TABLE: [{"DeleteRequest": {"Key": key("a", "3")}}, {"PutRequest": {"Item": key("b", "1")}}]
        }
    )
    kept.client.transact_write_items(
        TransactItems=[
            {"Update": set_text("a", "4", "updated")},
            {"Delete": {"TableName": TABLE, "Key": key("a", "5")}},
            {"Put": {"TableName": TABLE, "Item": key("b", "2")}},
        ]
    )
    before = everything(kept.client)
    expected = [
        *(key("a", "2") | {"text": {"S": "updated"}}, key("a", "4") | {"text": {"S": "updated"}}),
        *(key("a", "6"), key("a", "new") | {"text": {"S": "made by an update"}}),
        *(key("b", "1"), key("b", "2")),
    ]

    assert before == expected
    assert everything(kept.again().client) == expected


def test_a_query_of_an_index_finds_what_was_kept(kept: Kept) -> None:
    for at in "12":
        put(kept.client, "a", at, L1={"S": at}, G1={"S": "shard"}, G1S={"S": at})
    again = kept.again()

    for index, partition, value in ("byConversation", "PK", "a"), ("allTrees", "G1", "shard"):
        answer = again.client.query(
            TableName=TABLE,
            IndexName=index,
            KeyConditionExpression=f"{partition} = :p",
            ExpressionAttributeValues={":p": {"S": value}},
        )
        assert [item["SK"]["S"] for item in answer["Items"]] == ["1", "2"]


@pytest.mark.parametrize("reopened", [False, True])
def test_a_call_that_failed_changed_nothing(kept: Kept, reopened: bool) -> None:
    put(kept.client, "a", "1", text={"S": "before"})
    before = everything(kept.client)
    failing: list[tuple[str, dict[str, Any]]] = [
        (
            "transact_write_items",
            {
                "TransactItems": [
                    {"Update": set_text("a", "1", "after")},
                    {"Put": {"TableName": TABLE, "Item": key("b", "1")}},
                    never("a", "2"),
                ]
            },
        ),
        ("update_item", set_text("a", "1", "after") | {"ConditionExpression": "attribute_exists(nothing)"}),
        # the second part fails after the first has changed the item
        ("update_item", set_text("a", "1", "after") | {"UpdateExpression": "SET #t = :t, other = missing"}),
        ("put_item", {"TableName": TABLE, "Item": key("a", "3") | {"text": {"S": "x" * 500_000}}}),
        (
            "batch_write_item",
            {
                "RequestItems": {
                    TABLE: [
                        {"PutRequest": {"Item": key("a", "4")}},
                        {"PutRequest": {"Item": key("a", "5") | {"text": {"S": "x" * 500_000}}}},
                    ]
                }
            },
        ),
    ]

    for operation, parameters in failing:
        with pytest.raises(ClientError):
            getattr(kept.client, operation)(**parameters)
        shown = kept.client if not reopened else Store(kept.journal).make_client()
        assert everything(shown) == before, operation


def test_a_call_that_fails_or_changes_nothing_writes_nothing(kept: Kept) -> None:
    written: list[object] = []

    def write(changes: Sequence[Change], _: Sequence[Message] = ()) -> list[int]:
        written.append(changes)
        return []

    kept.journal.write = write  # type: ignore[method-assign,assignment]
    put(kept.client, "a", "1")
    with pytest.raises(ClientError):
        kept.client.transact_write_items(TransactItems=[{"Update": set_text("a", "1", "x")}, never("a", "2")])
    kept.client.delete_item(TableName=TABLE, Key=key("no", "such"))

    assert len(written) == 1


def test_an_operation_that_is_not_kept_is_refused(kept: Kept) -> None:
    with pytest.raises(ClientError, match="UnknownOperationException"):
        kept.client.delete_table(TableName=TABLE)


def fill(kept: Kept) -> list[dict[str, Any]]:
    """Write until the disk is full; return what was acknowledged."""
    file: sqlite3.Connection = kept.journal._file
    pages = file.execute("PRAGMA page_count").fetchone()[0]
    file.execute(f"PRAGMA max_page_count = {pages + 20}")
    acknowledged: list[dict[str, Any]] = []
    for number in range(100):
        pair = [key("pair", f"{number:03}-{half}") | {"text": {"S": "x" * 2000}} for half in "ab"]
        parts = [{"Put": {"TableName": TABLE, "Item": item}} for item in pair]
        try:
            kept.client.transact_write_items(TransactItems=parts)
        except ClientError as error:
            if "InternalServerError" not in str(error) or "disk is full" not in str(error):
                raise
            return acknowledged
        acknowledged += pair
    raise AssertionError("the disk is never full")


@pytest.mark.failure("disk-full")
def test_after_a_write_that_the_disk_did_not_take_a_store_refuses_every_call(kept: Kept) -> None:
    fill(kept)

    for call in (lambda: everything(kept.client), lambda: put(kept.client, "a", "1")):
        with pytest.raises(ClientError, match="InternalServerError"):
            call()
    assert kept.store.refusal is not None


@pytest.mark.failure("disk-full")
def test_what_was_acknowledged_before_the_disk_was_full_is_there_and_nothing_else(kept: Kept) -> None:
    acknowledged = fill(kept)

    assert len(acknowledged) > 2
    again = kept.again()
    assert everything(again.client) == acknowledged
    put(again.client, "a", "1")


def test_a_closed_store_refuses_every_call(kept: Kept) -> None:
    kept.store.close()

    with pytest.raises(ClientError, match="closed"):
        everything(kept.client)


def test_items_whose_time_is_over_are_deleted_for_good(kept: Kept) -> None:
    put(kept.client, "a", "over", ttl={"N": "99"})
    put(kept.client, "a", "later", ttl={"N": "101"})
    put(kept.client, "b", "always")
    kept.store.expire(100)
    left = ["later", "always"]

    assert [item["SK"]["S"] for item in everything(kept.client)] == left
    assert [item["SK"]["S"] for item in everything(kept.again().client)] == left


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_refused(kept: Kept) -> None:
    put(kept.client, "a", "1")
    child = os.fork()
    if child == 0:
        try:
            everything(kept.client)
        except ClientError as error:
            os._exit(7 if "another process" in str(error) else 8)
        os._exit(9)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    put(kept.client, "a", "2")


def test_keys_that_are_no_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="strings"):
        Store(
            definition={
                "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
            }
        )
