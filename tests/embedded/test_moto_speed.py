"""moto behaves the same with its faster parts. A cancelled transaction changes nothing."""

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.core.common_models import BaseModel
from moto.dynamodb.responses import DynamoHandler

from forklore.embedded.moto_speed import lock_moto
from forklore.local.embedded import start_moto
from forklore.storage import schema

TABLE = "forklore"


@pytest.fixture
def client() -> Iterator[Any]:
    started = start_moto()
    made = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
    )
    made.create_table(TableName=TABLE, **schema.TABLE)
    yield made
    started.stop()


def put(client: Any, partition: str, sort: str, **attributes: Any) -> None:
    client.put_item(TableName=TABLE, Item={"PK": {"S": partition}, "SK": {"S": sort}, **attributes})


def everything(client: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.scan(TableName=TABLE)["Items"]
    return sorted(found, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def key(partition: str, sort: str) -> dict[str, Any]:
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def test_a_cancelled_transaction_leaves_puts_updates_and_deletes_undone(client: Any) -> None:
    put(client, "a", "1", n={"N": "1"}, m={"M": {"deep": {"L": [{"S": "x"}]}}})
    put(client, "a", "2", n={"N": "1"})
    put(client, "b", "1", n={"N": "1"})
    before = everything(client)

    with pytest.raises(ClientError) as caught:
        client.transact_write_items(
            TransactItems=[
                {
                    "Update": {
                        "TableName": TABLE,
                        "Key": key("a", "1"),
                        "UpdateExpression": "SET m.deep = :l ADD n :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}, ":l": {"L": []}},
                    }
                },
                {"Put": {"TableName": TABLE, "Item": {**key("a", "2"), "n": {"N": "9"}}}},
                {"Put": {"TableName": TABLE, "Item": key("c", "1")}},
                {"Delete": {"TableName": TABLE, "Key": key("b", "1")}},
                {
                    "ConditionCheck": {
                        "TableName": TABLE,
                        "Key": key("z", "1"),
                        "ConditionExpression": "attribute_exists(PK)",
                    }
                },
            ]
        )

    assert caught.value.response["Error"]["Code"] == "TransactionCanceledException"
    assert everything(client) == before


def test_a_committed_transaction_writes_all_its_parts(client: Any) -> None:
    put(client, "a", "1", n={"N": "1"})
    put(client, "b", "1")

    client.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": key("a", "1"),
                    "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            },
            {"Put": {"TableName": TABLE, "Item": key("c", "1")}},
            {"Delete": {"TableName": TABLE, "Key": key("b", "1")}},
        ]
    )

    assert everything(client) == [{**key("a", "1"), "n": {"N": "2"}}, key("c", "1")]


def test_an_item_that_was_read_does_not_change_with_the_table(client: Any) -> None:
    put(client, "a", "1", n={"N": "1"})
    read = client.get_item(TableName=TABLE, Key=key("a", "1"))["Item"]

    client.update_item(
        TableName=TABLE,
        Key=key("a", "1"),
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )

    assert read["n"] == {"N": "1"}
    assert client.get_item(TableName=TABLE, Key=key("a", "1"))["Item"]["n"] == {"N": "2"}


@pytest.mark.parametrize("index", [None, "byConversation", "allTrees"])
def test_a_query_sees_its_partition_of_the_table_or_index_and_no_other(
    client: Any, index: str | None
) -> None:
    partition, sort = {None: ("PK", "SK"), "byConversation": ("PK", "L1"), "allTrees": ("G1", "G1S")}[index]
    for tree in ("a", "b"):
        for at in ("1", "2", "3"):
            put(client, tree, at, L1={"S": at}, G1={"S": f"shard-{at}"}, G1S={"S": tree})
    wanted = "shard-2" if index == "allTrees" else "b"

    answer = client.query(
        TableName=TABLE,
        KeyConditionExpression=f"{partition} = :p",
        ExpressionAttributeValues={":p": {"S": wanted}},
        ScanIndexForward=False,
        **({"IndexName": index} if index else {}),
    )

    found = [(item["PK"]["S"], item["SK"]["S"]) for item in answer["Items"]]
    expected = [("b", "3"), ("b", "2"), ("b", "1")] if sort != "G1S" else [("b", "2"), ("a", "2")]
    assert found == expected


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize(("index", "sort"), [(None, "SK"), ("byConversation", "L1")])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("= :a", ["é"]),
        ("< :a", ["a", "b1", "b2"]),
        ("<= :a", ["a", "b1", "b2", "é"]),
        ("> :a", ["😀"]),
        (">= :a", ["é", "😀"]),
        ("BETWEEN :b AND :a", ["b1", "b2", "é"]),
        ("begins", ["b1", "b2"]),
    ],
)
def test_a_query_finds_what_its_key_condition_asks_for(
    client: Any, index: str | None, sort: str, condition: str, expected: list[str], forward: bool
) -> None:
    for at in ("é", "a", "b2", "😀", "b1"):
        put(client, "tree", at, L1={"S": at})
    if index:
        put(client, "tree", "bb")  # an item without the index's key is not in the index
    name = f"begins_with({sort}, :b)" if condition == "begins" else f"{sort} {condition}"
    values = {":p": {"S": "tree"}, ":a": {"S": "é"}, ":b": {"S": "b"}}
    used = {held: value for held, value in values.items() if held == ":p" or held in name}

    found: list[str] = []
    start: dict[str, Any] = {}
    for _ in range(10):
        page = client.query(
            TableName=TABLE,
            KeyConditionExpression=f"PK = :p AND {name}",
            ExpressionAttributeValues=used,
            ScanIndexForward=forward,
            Limit=1,
            **({"IndexName": index} if index else {}),
            **start,
        )
        found += [item["SK"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    assert found == (expected if forward else expected[::-1])


def test_a_value_of_any_kind_is_returned_as_it_was_put(client: Any) -> None:
    values = {
        "text": {"S": "a\u0000b\U0001f420"},
        "empty": {"S": ""},
        "number": {"N": "-12345678901234567890.5"},
        "true": {"BOOL": True},
        "false": {"BOOL": False},
        "null": {"NULL": True},
        "bytes": {"B": b"\x00\xff"},
        "texts": {"SS": ["a", "b"]},
        "numbers": {"NS": ["1", "2"]},
        "list": {"L": [{"S": "x"}, {"L": []}, {"M": {"S": {"S": "a member called S"}}}]},
        "map": {"M": {"N": {"N": "1"}, "deep": {"M": {"b": {"B": b"b"}}}}},
    }

    put(client, "a", "1", **values)

    assert client.get_item(TableName=TABLE, Key=key("a", "1"))["Item"] == {**key("a", "1"), **values}


def models_in_memory() -> int:
    gc.collect()
    return sum(isinstance(one, BaseModel) for one in gc.get_objects())


def test_overwritten_deleted_and_received_data_does_not_stay_in_memory(client: Any) -> None:
    queues: Any = boto3.client(
        "sqs", region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
    )
    url = queues.create_queue(QueueName="queue")["QueueUrl"]

    def work() -> None:
        for number in range(5):
            put(client, "a", "1", n={"N": str(number)})
            update = {
                "TableName": TABLE,
                "Key": key("a", "1"),
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
            client.update_item(**update)
            put(client, "gone", "1")
            gone = {"Delete": {"TableName": TABLE, "Key": key("gone", "1")}}
            client.transact_write_items(TransactItems=[{"Update": update}, gone])
            client.query(
                TableName=TABLE,
                KeyConditionExpression="PK = :p",
                ExpressionAttributeValues={":p": {"S": "a"}},
            )
            queues.send_message(QueueUrl=url, MessageBody="x")
            [received] = queues.receive_message(QueueUrl=url)["Messages"]
            queues.delete_message(QueueUrl=url, ReceiptHandle=received["ReceiptHandle"])

    work()
    before = models_in_memory()
    work()

    assert models_in_memory() == before


def test_motos_dynamodb_runs_one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[int] = []
    seen: list[int] = []

    def call_action(_: DynamoHandler) -> None:
        running.append(1)
        seen.append(len(running))
        time.sleep(0.01)
        running.pop()

    monkeypatch.setattr(DynamoHandler, "call_action", call_action)
    lock_moto()
    threads = [threading.Thread(target=DynamoHandler.call_action, args=(None,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [1] * 5


def test_the_lock_is_installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DynamoHandler, "call_action", DynamoHandler.call_action)
    lock_moto()
    locked = DynamoHandler.call_action
    lock_moto()

    assert DynamoHandler.call_action is locked
