"""The engine answers random calls in the grammar of `storage` as DynamoDB Local does.

Answers, errors, reasons, ends of pages, sizes and capacity are compared. Where DynamoDB Local is
not as AWS's documentation says, `as_on_aws` names the page.
"""

import base64
import random
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from forklore_local.embedded.engine import Engine
from forklore_local.embedded.values import checked_number
from forklore_service.storage.connection import response_of
from tests.service.reliability.figures import Measure
from tools.bench.local import ENVIRONMENT
from tools.harness.tables import Store, fresh_store

pytestmark = pytest.mark.long  # DynamoDB Local takes seconds to start

PARTITIONS = ["a", "b", "é", "PTR#a"]
SORTS = ["0", "1", "1#", "A", "a", "z", "é", "\uffff", "\U0001f600", "~"]
ENTRIES = ["x#1", "x#2", "y#1", "é"]
TREES, STARTED = ["t", "u"], ["1", "2"]
KEYS = ["L1", "G1", "G1S"]
NAMES = ["n", "m", "s", "t", "list", "ttl"]
NUMBERS = ["0", "1", "-1", "5", "100", "1.50", "-0.001", "1e3", "12345678901234567890123456789012345678"]
TEXTS = ["", "x", "y", "é", "x" * 900, "x" * 2000, "x" * 4090]
LARGE = [30_000, 99_000]
HUGE = [390_000, 409_500, 409_598, 420_000]
"""A half of the item is too large for the local index. Such an item stands at HUGE_SORTS only."""
HUGE_SORTS = {"1", "z", "~"}
FIRST, LAST = " ", "\U0010ffff"

Call = tuple[str, dict[str, Any]]


class Calls:
    """Makes up calls. table: the name of the table."""

    def __init__(self, seed: int, table: str) -> None:
        self.random = random.Random(seed)
        self.table = table
        self.tokens: list[dict[str, Any]] = []

    def next(self) -> Call:
        makers = [self.transaction] * 6 + [self.query] * 5 + [self.batch_get, self.get, self.one] * 2
        return self.random.choice([*makers, self.batch_write, self.scan])()

    def is_one_in(self, number: int) -> bool:
        return self.random.randrange(number) == 0

    def key(self) -> dict[str, Any]:
        if self.is_one_in(300):
            return {"PK": {"S": ""}, "SK": {"S": "1"}}
        return {"PK": {"S": self.random.choice(PARTITIONS)}, "SK": {"S": self.random.choice(SORTS)}}

    def value(self, depth: int = 0) -> dict[str, Any]:
        match self.random.randrange(14):
            case 0 | 1 | 2 | 3:
                return {"S": self.random.choice(TEXTS)}
            case 4 | 5 | 6:
                return {"N": self.random.choice(NUMBERS)}
            case 7:
                return {"B": self.random.randbytes(self.random.choice([0, 1, 700]))}
            case 8:
                return {"BOOL": self.is_one_in(2)}
            case 9:
                return {"NULL": True}
            case 10:
                return {"SS": self.random.choice([["a"], ["b", "a"], ["é", "a", "z"]])}
            case 11:
                return {"NS": self.random.choice([["1"], ["2", "-1.5"]])}
            case 12 if depth < 2:
                return {"M": {name: self.value(depth + 1) for name in self.random.sample(NAMES, 2)}}
            case 13 if depth < 2:
                return {"L": [self.value(depth + 1) for _ in range(self.random.randrange(3))]}
        return {"S": "x"}

    def item(self) -> dict[str, Any]:
        item = self.key() | {name: self.value() for name in self.some_names()}
        if self.is_one_in(2):
            item["L1"] = self.index_value("L1", item)
        if self.is_one_in(3):
            item["G1"], item["G1S"] = self.index_value("G1", item), self.index_value("G1S", item)
        if self.is_one_in(60):
            item.pop(self.random.choice(["G1", "G1S"]), None)
        if self.is_one_in(25):
            sizes = [*LARGE, *HUGE] if item["SK"]["S"] in HUGE_SORTS else LARGE
            item["big"] = {"B": bytes(self.random.choice(sizes))}
        if self.is_one_in(400):
            bad: list[tuple[str, Any]] = [("L1", {"N": "1"}), ("L1", {"S": ""}), ("n", {"N": "x"})]
            bad += [("n", {"N": "1" * 39}), ("m", {"M": {"": {"N": "1"}}})]
            bad += [
                ("s", {"SS": []}),
                ("s", {"SS": ["a", "a"]}),
                ("n", {"N": "1e126"}),
                ("n", {"N": "1e-131"}),
            ]
            name, value = self.random.choice(bad)
            item[name] = value
        return item

    def some_names(self) -> list[str]:
        return self.random.sample(NAMES, self.random.randrange(4))

    def index_value(self, name: str, key: dict[str, Any]) -> dict[str, Any]:
        """Return a value for a key of an index. No two items have the same sort key there."""
        if name == "G1":
            return {"S": self.random.choice(TREES)}
        first = self.random.choice(ENTRIES if name == "L1" else STARTED)
        return {"S": f"{first}#{key['PK']['S']}#{key['SK']['S']}"}

    # Expressions, each with the placeholders that it uses

    def comparison(self, names: dict[str, str], values: dict[str, Any]) -> str:
        name = self.random.choice([*NAMES, "L1"])
        names[f"#{name}"] = name
        given = f":v{len(values)}"
        if self.is_one_in(100):
            return f"#{name} {self.random.choice(['=', '<>', '<', '>='])} #{name}"
        match self.random.randrange(9):
            case 0:
                return f"attribute_exists(#{name})"
            case 1:
                return f"attribute_not_exists(#{name})"
            case 2:
                values[given], values[f"{given}x"] = self.value(), self.value()
                return f"#{name} IN ({given}, {given}x)"
            case 3:
                values[given] = {"S": self.random.choice(["", "x", "é"])}
                return f"begins_with(#{name}, {given})"
            case _:
                values[given] = self.value()
                return f"#{name} {self.random.choice(['=', '=', '<>', '<', '<=', '>', '>='])} {given}"

    def condition(self, names: dict[str, str], values: dict[str, Any]) -> str:
        match self.random.randrange(6):
            case 0 | 1:
                return self.random.choice(["attribute_not_exists(PK)", "attribute_exists(PK)"])
            case 2:
                return f"attribute_not_exists(PK) OR {self.comparison(names, values)}"
            case 3:
                return f"{self.comparison(names, values)} AND {self.comparison(names, values)}"
            case 4:
                either = f"{self.comparison(names, values)} OR {self.comparison(names, values)}"
                return f"NOT {self.comparison(names, values)} AND ({either})"
            case _:
                return self.comparison(names, values)

    def update(self, key: dict[str, Any], names: dict[str, str], values: dict[str, Any]) -> str:
        """Return an update, but none that AWS refuses and DynamoDB Local does not.

        Such a one makes a number of an index's key, or puts an item into the local index that is
        too large for it (developer guide, "Local secondary indexes", "Item size").
        """
        given = self.random.sample(NAMES, 2)
        others = {*given, *(["L1"] if key["SK"]["S"] in HUGE_SORTS else [])}
        put = self.random.sample([name for name in [*NAMES, *KEYS] if name not in others], 2)
        names |= {f"#{name}": name for name in (*given, *put)}
        one, two, first, second = (f"#{name}" for name in (*given, *put))
        values[":by"] = self.random.choice([{"N": "1"}, {"N": "-1"}, {"N": "0.5"}])
        values |= {f":{name}": self.index_value(name, key) if name in KEYS else self.value() for name in put}
        put_one, put_two = (f":{name}" for name in put)
        match self.random.randrange(5):
            case 0:
                kept = f"if_not_exists({second}, {put_two})"
                return f"SET {first} = {put_one}, {second} = {kept} ADD {one} :by REMOVE {two}"
            case 1:
                del values[put_two]
                return f"ADD {one} :by SET {first} = {put_one} REMOVE {two}, {second}"
            case 2:
                values[":none"] = {"N": "0"}
                del values[put_one], values[put_two], names[two]
                return f"SET {one} = if_not_exists({one}, :none) + :by REMOVE {first}, {second}"
            case 3:
                del values[put_one], values[put_two]
                return f"REMOVE {first}, {second} ADD {one} :by, {two} :by"
        del values[":by"]
        return f"SET {first} = {put_one}, {second} = {put_two} REMOVE {one}, {two}"

    def action(self, verb: str) -> dict[str, Any]:
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        asked: dict[str, Any] = {"TableName": self.table}
        asked |= {"Item": self.item()} if verb == "Put" else {"Key": self.key()}
        if verb == "Update":
            asked["UpdateExpression"] = self.update(asked["Key"], names, values)
        if verb == "ConditionCheck" or self.is_one_in(3):
            asked["ConditionExpression"] = self.condition(names, values)
            if not self.is_one_in(3):
                asked["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.is_one_in(300):
            names["#unused"] = "unused"
        if names:
            asked["ExpressionAttributeNames"] = names
        if values:
            asked["ExpressionAttributeValues"] = values
        return asked

    # Calls

    def transaction(self) -> Call:
        if self.tokens and self.is_one_in(15):
            again = self.random.choice(self.tokens)
            if self.is_one_in(3):
                # Another request, valid in itself: AWS does not say which of two faults it tells.
                deletion = {"Delete": {"TableName": self.table, "Key": {"PK": {"S": "a"}, "SK": {"S": "0"}}}}
                again = again | {"TransactItems": again["TransactItems"][:-1] or [deletion]}
            return "transact_write_items", again
        parts = [self.part() for _ in range(self.random.choice([1, 1, 2, 3, 5]))]
        if self.is_one_in(200):
            parts = [self.part() for _ in range(101)]
        if not self.is_one_in(20):
            of = {repr(_key_of(part)): part for part in parts}
            parts = list(of.values())
        asked = {
            "TransactItems": parts,
            "ClientRequestToken": f"{self.table[-9:]}{self.random.getrandbits(100):x}",
            "ReturnConsumedCapacity": "TOTAL",
            "ReturnItemCollectionMetrics": "SIZE",
        }
        self.tokens = [*self.tokens[-20:], asked]
        return "transact_write_items", asked

    def part(self) -> dict[str, Any]:
        verb = self.random.choice(["Put", "Put", "Put", "Update", "Update", "Delete", "ConditionCheck"])
        return {verb: self.action(verb)}

    def one(self) -> Call:
        verb = self.random.choice(["Put", "Update", "Update", "Delete"])
        asked = self.action(verb) | {"ReturnConsumedCapacity": "TOTAL"}
        if verb == "Update":
            asked["ReturnValues"] = self.random.choice(["NONE", "UPDATED_NEW", "ALL_NEW"])
        return f"{verb.lower()}_item", asked

    def batch_write(self) -> Call:
        requests = []
        for _ in range(self.random.choice([1, 2, 5, 25, 26])):
            is_put = self.is_one_in(2)
            requests.append(
                {"PutRequest": {"Item": self.item()}} if is_put else {"DeleteRequest": {"Key": self.key()}}
            )
        if not self.is_one_in(10):
            requests = list({repr(_key_of(one)): one for one in requests}.values())
        return "batch_write_item", {"RequestItems": {self.table: requests}, "ReturnConsumedCapacity": "TOTAL"}

    def get(self) -> Call:
        asked = {"TableName": self.table, "Key": self.key(), "ReturnConsumedCapacity": "TOTAL"}
        return "get_item", asked | {"ConsistentRead": self.is_one_in(2)}

    def batch_get(self) -> Call:
        keys = [self.key() for _ in range(self.random.choice([1, 2, 5, 20]))]
        if not self.is_one_in(20):
            keys = list({repr(key): key for key in keys}.values())
        asked = {"Keys": keys, "ConsistentRead": self.is_one_in(2)}
        return "batch_get_item", {"RequestItems": {self.table: asked}, "ReturnConsumedCapacity": "TOTAL"}

    def query(self) -> Call:
        partition, sort, partitions, sorts, index = self.random.choice(
            [
                ("PK", "SK", PARTITIONS, SORTS, None),
                ("PK", "L1", PARTITIONS, ENTRIES, "byConversation"),
                ("G1", "G1S", TREES, STARTED, "allTrees"),
            ]
        )
        first, last = sorted(self.random.choice([*sorts, FIRST, LAST]) for _ in range(2))
        if self.is_one_in(100):
            first, last = last, first
        if self.is_one_in(2):
            first, last = FIRST, LAST
        if self.is_one_in(50):
            last = "~" * self.random.choice([1024, 1025])
        asked: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": f"{partition} = :p AND {sort} BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":p": {"S": self.random.choice(partitions)},
                ":first": {"S": first},
                ":last": {"S": last},
            },
            "ScanIndexForward": self.is_one_in(2),
            "ReturnConsumedCapacity": "TOTAL",
        }
        if index is not None:
            asked["IndexName"] = index
        if index != "allTrees" or self.is_one_in(50):
            asked["ConsistentRead"] = self.is_one_in(2)
        if self.is_one_in(2):
            asked["Limit"] = self.random.choice([1, 2, 3, 100, 100])
        if self.is_one_in(4) and index != "allTrees":
            names = {"#0": "PK", "#1": "SK", "#2": "n", "#3": "L1"}
            asked |= {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
        if self.is_one_in(10):
            start = self.key()
            start |= {name: self.index_value(name, start) for name in {partition, sort} - {"PK", "SK"}}
            asked["ExclusiveStartKey"] = start
        return "query", asked

    def scan(self) -> Call:
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        asked: dict[str, Any] = {"TableName": self.table, "ConsistentRead": True}
        if self.is_one_in(2):
            asked["FilterExpression"] = self.condition(names, values)
        if names:
            asked["ExpressionAttributeNames"] = names
        if values:
            asked["ExpressionAttributeValues"] = values
        if self.is_one_in(2):
            asked["Limit"] = self.random.choice([1, 5, 1000])
        return "scan", asked


def _key_of(part: Mapping[str, Any]) -> tuple[Any, Any]:
    [asked] = part.values()
    held = asked.get("Item", asked.get("Key"))
    return held["PK"], held["SK"]


def answered(client: Any, name: str, asked: dict[str, Any]) -> Any:
    """Return what is compared of an answer, or of an error."""
    if name == "scan":  # DynamoDB's order is by a hash, so pages differ
        found: dict[str, Any] = {}
        while True:
            try:
                page = client.scan(**asked)
            except Exception as error:  # noqa: BLE001
                return told(error)
            found |= {repr((item["PK"], item["SK"])): item for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return plain(found)
            asked = asked | {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    try:
        answer = dict(getattr(client, name)(**asked))
    except Exception as error:  # noqa: BLE001
        return told(error)
    del answer["ResponseMetadata"]
    if "Responses" in answer:
        [(table, items)] = answer["Responses"].items()
        answer["Responses"] = {table: sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))}
    if "ItemCollectionMetrics" in answer:
        [(table, held)] = answer["ItemCollectionMetrics"].items() or [("", [])]
        answer["ItemCollectionMetrics"] = {table: sorted(held, key=repr)}
    return plain(answer)


def told(error: Exception) -> Any:
    response = response_of(error)
    assert response is not None, error
    reasons = [
        {name: held for name, held in reason.items() if name != "Message"}
        for reason in response.get("CancellationReasons", [])
    ]
    return plain({"code": response["Error"]["Code"], "reasons": reasons})


def as_on_aws(name: str, asked: dict[str, Any], ours: Any, locals_: Any) -> Any:
    """Return DynamoDB Local's answer with what AWS answers otherwise.

    A part of a transaction that cannot be carried out is a reason, ValidationError (API reference,
    TransactWriteItems, "Cancellation reasons"). Two parts of one item are refused before any
    condition is looked at (the same, "Data validation"). Whether AWS looks at a token or at a part
    that can never be carried out first is not told; ours looks at the part.
    DynamoDB Local's units of transactions and batches follow no rule; test_units.py of tools/bench
    holds ours against AWS's. It takes no unit for a Query that finds nothing (developer guide,
    "Capacity unit consumption").
    """
    if name == "transact_write_items" and ours.get("code") == "ValidationException":
        places = [repr(_key_of(part)) for part in asked["TransactItems"]]
        is_twice = len(set(places)) < len(places)
        first = ["IdempotentParameterMismatchException", *["TransactionCanceledException"] * is_twice]
        return ours if locals_.get("code") in first else locals_
    codes = {reason["Code"] for reason in ours.get("reasons", [])}
    refusals = ("ValidationException", "TransactionCanceledException")
    if "ValidationError" in codes and locals_.get("code") in refusals:
        return ours
    if name in ("transact_write_items", "batch_get_item", "batch_write_item"):
        for member in ("ConsumedCapacity", "ItemCollectionMetrics"):
            if member in ours:
                locals_[member] = ours[member]
    elif name == "query" and "ConsumedCapacity" in locals_:
        locals_["ConsumedCapacity"]["CapacityUnits"] = (
            locals_["ConsumedCapacity"]["CapacityUnits"] or ours["ConsumedCapacity"]["CapacityUnits"]
        )
    elif name in ("put_item", "update_item", "delete_item") and "ConsumedCapacity" in locals_:
        # It counts 100 bytes more for a copy in the local index, which AWS counts for storage only:
        # developer guide, "Storage considerations for local secondary indexes".
        units = [one["ConsumedCapacity"]["CapacityUnits"] for one in (locals_, ours) if "code" not in one]
        is_copy = len(units) == 2 and 0 < units[0] - units[1] <= 2
        locals_["ConsumedCapacity"] = (ours if is_copy else locals_)["ConsumedCapacity"]
    return locals_


def plain(value: Any) -> Any:
    """Return a value with its sets in order, and bytes as a text."""
    match value:
        case {"SS": list() as held, **others} | {"NS": list() as held, **others} if not others:
            return {"set": sorted(held)}
        case {"N": str() as number, **others} if not others:  # DynamoDB Local keeps some zeros
            return {"N": checked_number(number)}
        case dict():
            return {name: plain(held) for name, held in value.items()}
        case list():
            return [plain(held) for held in value]
        case bytes():
            return base64.b64encode(value).decode()
    return value


@pytest.fixture
def theirs(dynamodb_local_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty table of DynamoDB Local."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with fresh_store(f"engine-{secrets.token_hex(6)}", endpoint=dynamodb_local_endpoint) as store:
        yield store


def compare(theirs: Store, ours: Engine, call: Call, told_of: str) -> None:
    operation, asked = call
    expected = answered(theirs.client, operation, asked)
    answer = answered(ours, operation, asked)
    assert answer == as_on_aws(operation, asked, answer, expected), f"{told_of}: {operation} {asked}"


def test_the_engine_answers_as_dynamodb_local(theirs: Store) -> None:
    measure = Measure.of("engine")
    ours, calls = Engine.in_memory(name=theirs.name), Calls(measure.seed, theirs.name)
    for number in range(measure.goal(ci=500, gate=40_000)):
        compare(theirs, ours, calls.next(), f"call {number} of seed {measure.seed}")


NUMBER = {"N": "1"}
REFUSED_CONDITIONS = [
    "attribute_not_exists(PK.k)",
    "attribute_not_exists(#PK.k)",
    "G1S.k = :one",
    "n = n",
    "#n = n",
    "#n <> #n",
    "m.k < m.k",
    "n IN (:one, n)",
    "n BETWEEN :one AND n",
]
TAKEN_CONDITIONS = [
    "attribute_exists(m.k)",
    "m.k = n",
    ":one = :one",
    "n BETWEEN m.k AND m.k",
    "n BETWEEN :one AND :one",
]


def given_in(expression: str) -> dict[str, Any]:
    """Return the names and values of an expression."""
    names = {f"#{name}": name for name in ("PK", "n") if f"#{name}" in expression}
    values = {":one": NUMBER} if ":one" in expression else {}
    return ({"ExpressionAttributeNames": names} if names else {}) | (
        {"ExpressionAttributeValues": values} if values else {}
    )


@pytest.mark.parametrize(("expressions", "is_taken"), [(REFUSED_CONDITIONS, False), (TAKEN_CONDITIONS, True)])
def test_a_path_goes_into_no_key_and_no_attribute_is_compared_with_itself(
    theirs: Store, expressions: list[str], is_taken: bool
) -> None:
    ours = Engine.in_memory(name=theirs.name)
    item = {"PK": {"S": "a"}, "SK": {"S": "1"}, "n": NUMBER, "m": {"M": {"k": NUMBER}}}
    put = {"TableName": theirs.name, "Item": item}
    compare(theirs, ours, ("put_item", put), "at first")
    for text in expressions:
        asked = put | {"ConditionExpression": text} | given_in(text)
        compare(theirs, ours, ("put_item", asked), text)
        assert ("code" not in answered(ours, "put_item", asked)) == is_taken, text


def nested(levels: int, inmost: dict[str, Any]) -> dict[str, Any]:
    """Return a value inside so many maps."""
    value = inmost
    for _ in range(levels):
        value = {"M": {"x": value}}
    return value


def test_calls_that_once_differed_are_answered_alike(theirs: Store) -> None:
    """Each was found by a seed of the test above. The calls follow one another in one table."""
    table, place = theirs.name, {"PK": {"S": "a"}, "SK": {"S": "1"}}
    absent, once = {"ConditionExpression": "attribute_not_exists(PK)"}, secrets.token_hex(12)

    def put(**attributes: Any) -> dict[str, Any]:
        return {"TableName": table, "Item": place | attributes}

    def transaction(*parts: dict[str, Any], token: str | None = None) -> Call:
        given = {"TransactItems": list(parts), "ClientRequestToken": token or secrets.token_hex(12)}
        return "transact_write_items", given

    missing = {"TableName": table, "Key": place | {"SK": {"S": "2"}}}
    check = {"ConditionCheck": missing | {"ConditionExpression": "attribute_exists(PK)"}}
    calls: list[Call] = [
        transaction({"Put": put()}, token=once),
        # An index cannot hold the item: that is told before a condition that does not hold.
        ("put_item", put(L1={"N": "1"}) | absent),
        transaction({"Put": put(L1={"N": "1"}) | absent}),
        transaction(check, {"Put": put(L1={"N": "1"})}),
        ("put_item", put(L1={"S": "x"}, big={"B": bytes(390_000)}) | absent),
        transaction(check, {"Put": put(L1={"S": "x"}, big={"B": bytes(390_000)})}),
        # A condition that does not hold is told before an update that cannot be carried out.
        ("put_item", put(text={"S": "x"})),
        (
            "update_item",
            {
                "TableName": table,
                "Key": place,
                "UpdateExpression": "ADD #t :one",
                "ExpressionAttributeNames": {"#t": "text"},
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }
            | absent,
        ),
        # A token belongs to one request.
        transaction({"Put": put()}, token=once),
        transaction({"Put": put(n={"N": "1"})}, token=once),
    ]
    # An item that no key can name is no place to go on from.
    everything = {":p": {"S": "a"}, ":first": {"S": FIRST}, ":last": {"S": LAST}}
    asked = {
        "TableName": table,
        "KeyConditionExpression": "PK = :p AND SK BETWEEN :first AND :last",
        "ExpressionAttributeValues": everything,
        "ReturnConsumedCapacity": "TOTAL",
    }
    calls += [
        ("query", asked | {"ExclusiveStartKey": {"PK": {"S": "a"}, "SK": {"S": ""}}}),
        (
            "query",
            asked
            | {
                "KeyConditionExpression": "G1 = :p AND G1S BETWEEN :first AND :last",
                "IndexName": "allTrees",
                "ExclusiveStartKey": {"PK": {"S": ""}, "SK": {"S": "1"}, "G1": {"S": "a"}, "G1S": {"S": "1"}},
            },
        ),
    ]
    # A bound of a range is a key, so it is not empty, and has at most 1,024 bytes.
    for first, last, partition in (
        ("0", "z" * 1024, "a"),
        ("0", "z" * 1025, "a"),
        ("", "z", "a"),
        ("0", "z", ""),
    ):
        bounds = {":p": {"S": partition}, ":first": {"S": first}, ":last": {"S": last}}
        calls.append(("query", asked | {"ExpressionAttributeValues": bounds}))
    # An empty name, an empty map at the last level, and an update after which nothing new is there.
    inmost: list[dict[str, Any]] = [{"M": {}}, {"L": []}]
    values: list[dict[str, Any]] = [{"M": {"": NUMBER}}, *(nested(30, one) for one in inmost)]
    values += [nested(31, one) for one in [NUMBER, *inmost]]
    calls += [("put_item", put(m=value)) for value in values]
    calls += [("put_item", put(**{"": NUMBER}))]
    calls += [
        ("update_item", {"TableName": table, "Key": place, "ReturnValues": "UPDATED_NEW"} | change)
        for change in (
            {"UpdateExpression": "REMOVE q"},
            {"UpdateExpression": "SET n = if_not_exists(n, n)"},
            {
                "UpdateExpression": "SET n = if_not_exists(PK.k, :one)",
                "ExpressionAttributeValues": {":one": NUMBER},
            },
        )
    ]
    ours = Engine.in_memory(name=table)
    for number, call in enumerate(calls):
        compare(theirs, ours, call, f"case {number}")
