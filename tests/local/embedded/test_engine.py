"""What the engine keeps, what it refuses, and that a call that failed changed nothing.

tests/local/embedded/test_as_dynamodb.py compares its answers with those of DynamoDB Local.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from forklore_local.embedded.engine import TOKENS_MAX, TRANSACTION_ACTIONS_MAX, Engine
from forklore_local.embedded.items import checked
from forklore_service.errors import StoreFailedError
from forklore_service.storage import schema
from forklore_service.storage.connection import CallRefused
from tests.local.conftest import Kept
from tests.local.embedded.items import TABLE, everything, key, put
from tools.bench.units import IN_TRANSACTION, units_of_get, units_of_write

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


@contextmanager
def refuses(code: str) -> Iterator[None]:
    with pytest.raises(CallRefused) as raised:
        yield
    assert raised.value.response["Error"]["Code"] == code


def putting(sort: str, **attributes: Any) -> dict[str, Any]:
    return {"Put": {"TableName": TABLE, "Item": key("a", sort) | attributes}}


def test_every_kind_of_value_comes_back(kept: Kept) -> None:
    put(kept.client, "a", "put", **VALUES)
    kept.client.transact_write_items(TransactItems=[putting("transaction", **VALUES)])
    before = everything(kept.client)

    assert before == [key("a", "put") | VALUES, key("a", "transaction") | VALUES]
    later = kept.again()
    assert everything(later.client) == before
    later.database.close()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a = :v AND",
            "(a = :v",
            "a == :v",
            "size(a) > :v",
            "contains(a, :v)",
            "a = :v XOR a = :v",
            "a.b.c",
        ),
        *("and", "", "a BETWEEN :v", "a IN ()", "attribute_exists()", "begins_with(a)", "a[0] = :v", ";"),
    ],
)
def test_a_condition_beyond_the_grammar_is_refused(text: str) -> None:
    with refuses("ValidationException"):
        Engine.in_memory().put_item(
            TableName=TABLE,
            Item=key("a", "b"),
            ConditionExpression=text,
            ExpressionAttributeValues={":v": {"N": "1"}},
        )


@pytest.mark.parametrize(
    "text",
    [
        *("SET a = :v SET b = :v", "SET a = :v, a = :v", "SET a.b = :v", "SET a = list_append(a, :v)", "SET"),
        *("ADD a :v b :v", "DELETE a :v", "REMOVE a[0]", "REMOVE a,", "SET a = a - :v", "SET PK = :v", ""),
    ],
)
def test_an_update_beyond_the_grammar_is_refused(text: str) -> None:
    with refuses("ValidationException"):
        Engine.in_memory().update_item(
            TableName=TABLE,
            Key=key("a", "b"),
            UpdateExpression=text,
            ExpressionAttributeValues={":v": {"N": "1"}},
        )


def test_a_parameter_that_storage_does_not_use_is_refused() -> None:
    engine = Engine.in_memory()
    with refuses("ValidationException"):
        engine.put_item(TableName=TABLE, Item=key("a", "b"), Expected={})
    with pytest.raises(TypeError):
        engine.query(TableName=TABLE, QueryFilter={})  # type: ignore[call-arg]
    with refuses("ResourceNotFoundException"):
        engine.get_item(TableName="another", Key=key("a", "b"))


def test_a_transaction_has_bounds_and_writes_all_or_nothing(kept: Kept) -> None:
    put(kept.client, "a", "there")
    never = {
        "ConditionCheck": {
            "TableName": TABLE,
            "Key": key("a", "none"),
            "ConditionExpression": "attribute_exists(PK)",
        }
    }
    many = [putting(str(at)) for at in range(TRANSACTION_ACTIONS_MAX + 1)]
    large = [putting(str(at), b={"B": bytes(380_000)}) for at in range(12)]
    before = everything(kept.client)
    for code, parts in {
        "TransactionCanceledException": [putting("x"), never],
        "ValidationException": many,
    }.items():
        with refuses(code):
            kept.client.transact_write_items(TransactItems=parts)
    for parts in (large, [putting("x"), putting("x")], []):
        with refuses("ValidationException"):
            kept.client.transact_write_items(TransactItems=parts)
    assert everything(kept.client) == before

    kept.client.transact_write_items(TransactItems=many[:-1])
    assert len(everything(kept.client)) == len(before) + TRANSACTION_ACTIONS_MAX


def test_a_batch_looks_up_its_keys_in_one_statement(kept: Kept) -> None:
    wanted = [key("a", f"{number:03}") for number in range(100)]
    for one in wanted:
        kept.client.put_item(TableName=TABLE, Item=one)
    statements: list[str] = []
    with kept.database.reading() as connection:
        connection.set_trace_callback(statements.append)

    answer = kept.client.batch_get_item(RequestItems={TABLE: {"Keys": wanted[::-1]}})

    assert answer["Responses"][TABLE] == wanted[::-1]
    [statement] = statements
    with kept.database.reading() as connection:
        connection.set_trace_callback(None)
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    assert [step for *_, step in plan if "item" in step] == ["SEARCH item USING PRIMARY KEY (PK=? AND SK=?)"]


def test_the_size_of_an_item_after_an_update_is_that_of_the_whole_item(kept: Kept) -> None:
    put(kept.client, "a", "x", gone={"S": "é"}, n={"N": "99"}, **VALUES)

    kept.client.update_item(
        TableName=TABLE,
        Key=key("a", "x"),
        UpdateExpression="SET #text = :text, new = :new ADD n :n REMOVE gone, absent",
        ExpressionAttributeNames={"#text": "text"},
        ExpressionAttributeValues={":text": {"S": "é"}, ":new": VALUES["map"], ":n": {"N": "1"}},
    )

    [item] = everything(kept.client)
    with kept.database.reading() as connection:
        assert connection.execute("SELECT size FROM item").fetchone() == (checked(item).size,)


def test_a_transaction_that_is_sent_again_with_its_token_is_written_once() -> None:
    engine = Engine.in_memory()
    add = {
        "Update": {
            "TableName": TABLE,
            "Key": key("a", "n"),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    for _ in range(3):
        engine.transact_write_items(TransactItems=[add], ClientRequestToken="t")
    with refuses("IdempotentParameterMismatchException"):
        engine.transact_write_items(TransactItems=[putting("x")], ClientRequestToken="t")
    assert everything(engine) == [key("a", "n") | {"n": {"N": "1"}}]

    for number in range(TOKENS_MAX):
        engine._note_done(str(number), number)
    assert len(engine._tokens) == TOKENS_MAX


@pytest.mark.parametrize("bytes_", [0, 900, 5_000])
def test_a_transaction_takes_the_units_of_awss_rules(bytes_: int) -> None:
    engine = Engine.in_memory()
    items = [
        key("a", "plain") | {"b": {"B": bytes(bytes_)}},
        key("a", "entry") | {"b": {"B": bytes(bytes_)}, "L1": {"S": "e"}},
        key("a", "tree") | {"b": {"B": bytes(bytes_)}, "G1": {"S": "t"}, "G1S": {"S": "s"}},
    ]
    parts = [{"Put": {"TableName": TABLE, "Item": item}} for item in items]
    answer = engine.transact_write_items(
        TransactItems=parts, ReturnConsumedCapacity="TOTAL", ReturnItemCollectionMetrics="SIZE"
    )
    units = sum(units_of_write(None, item, in_transaction=True) for item in items)
    assert answer["ConsumedCapacity"] == [
        {"TableName": TABLE, "CapacityUnits": units, "WriteCapacityUnits": units}
    ]
    assert units == IN_TRANSACTION * sum(units_of_write(None, item, in_transaction=False) for item in items)
    assert [one["ItemCollectionKey"] for one in answer["ItemCollectionMetrics"][TABLE]] == [
        {"PK": {"S": "a"}}
    ]

    asked = {TABLE: {"Keys": [key("a", "plain"), key("a", "none")], "ConsistentRead": True}}
    read = engine.batch_get_item(RequestItems=asked, ReturnConsumedCapacity="TOTAL")
    assert read["ConsumedCapacity"][0]["CapacityUnits"] == units_of_get(bytes_ + 20) + 1


def test_what_the_engine_describes_is_a_table_of_forklore() -> None:
    assert schema.is_like(Engine.in_memory().describe_table(TableName=TABLE)["Table"])


def test_what_has_expired_is_deleted_and_nothing_else(kept: Kept) -> None:
    for sort, ttl in (("over", "10"), ("later", "30"), ("text", None)):
        put(kept.client, "a", sort, ttl={"N": ttl} if ttl else {"S": "5"})
    kept.client.expire(20)

    assert [item["SK"]["S"] for item in everything(kept.client)] == ["later", "text"]


def test_a_read_that_a_signal_ends_leaves_no_old_view_to_the_next_one(kept: Kept) -> None:
    for sort in "ab":
        put(kept.client, "a", sort)

    def read() -> None:
        with kept.database.reading() as connection:
            rows = connection.execute("SELECT SK FROM item")  # and the exception keeps it
            assert next(rows) == ("a",)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read()
    other = Kept(kept.folder)
    put(other.client, "a", "c")
    other.database.close()

    assert [item["SK"]["S"] for item in everything(kept.client)] == ["a", "b", "c"]


@pytest.mark.failure("disk-full")
def test_a_file_that_sqlite_calls_full_is_said_and_as_it_was(kept: Kept) -> None:
    put(kept.client, "a", "there")
    with kept.database.reading() as connection:  # the only one, which is used again
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFailedError, match="is full; free some space"):
        put(kept.client, "a", "large", b={"B": bytes(100_000)})

    assert everything(kept.client) == [key("a", "there")]
