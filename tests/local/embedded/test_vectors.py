"""The index of vectors beside brute force, and what it refuses as AWS does."""

import math
import random
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from forklore_local.embedded.engine import Engine
from forklore_local.embedded.vectors import TOP_MAX
from forklore_service.storage import schema
from forklore_service.storage.connection import CallRefused
from tests.local.conftest import Kept
from tests.local.embedded.items import TABLE, key, put

SHELVES, TREES, CONVERSATIONS, MODELS = ["s", "t"], ["1", "2", "3"], ["c", "d"], ["m", "n"]
ZEROS = [0] * schema.DIMENSIONS


def listed(numbers: Sequence[int]) -> dict[str, Any]:
    return {"L": [{"N": str(number)} for number in numbers]}


def search(client: Any, vector: Sequence[int], top: int = TOP_MAX, **wanted: str) -> list[tuple[float, str]]:
    answer = client.search_vectors(**asked(vector, top, **wanted))
    return [(one["Score"], one["Item"]["SK"]["S"]) for one in answer["SearchResults"]]


def asked(vector: Sequence[int], top: int = TOP_MAX, **wanted: str) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "IndexName": schema.BY_MEANING,
        "SearchVector": listed(vector)["L"],
        "TopK": top,
        "SearchConditionExpression": " AND ".join(f"#{name} = :{name}" for name in wanted),
        "ExpressionAttributeNames": {f"#{name}": name for name in wanted},
        "ExpressionAttributeValues": {f":{name}": {"S": text} for name, text in wanted.items()},
    }


def far(one: Sequence[int], other: Sequence[int]) -> float:
    products = sum(a * b for a, b in zip(one, other, strict=True))
    return 1 - products / (math.hypot(*one) * math.hypot(*other) or 1)


@pytest.mark.parametrize("has_numpy", [True, False])
def test_a_search_finds_what_brute_force_finds(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, has_numpy: bool
) -> None:
    """Vectors come, change, and go, by this engine and by another one of the same folder."""
    monkeypatch.setattr("forklore_local.embedded.vectors.AT_ONCE", 7)
    monkeypatch.setattr("forklore_local.embedded.vectors.BLOCK_MAX", 25)
    if not has_numpy:
        monkeypatch.setitem(sys.modules, "numpy", None)
    made = random.Random(1)
    there: dict[str, tuple[list[int], dict[str, str]]] = {}
    clients = [Engine(kept.database) for _ in range(2)]
    for step in range(150):
        client, sort = made.choice(clients), str(made.randrange(60))
        vector = made.choices([0, 0, 0, 0, 1, -3, 127, -127], k=schema.DIMENSIONS)
        held = {"shelf": made.choice(SHELVES), "g": made.choice(TREES), "c": made.choice(CONVERSATIONS)}
        held["m"] = made.choice(MODELS)
        if made.random() < 0.2:
            del held[made.choice(list(held))]
        attributes: dict[str, Any] = {name: {"S": text} for name, text in held.items()}
        if made.random() < 0.2:
            client.delete_item(TableName=TABLE, Key=key("a", sort))
            there.pop(sort, None)
        elif made.random() < 0.1:
            put(client, "a", sort, **attributes)
            there.pop(sort, None)
        else:
            put(client, "a", sort, V=listed(ZEROS if made.random() < 0.1 else vector), **attributes)
            there[sort] = (ZEROS, held)
            item = client.get_item(TableName=TABLE, Key=key("a", sort))["Item"]
            there[sort] = ([int(one["N"]) for one in item["V"]["L"]], held)
        if step % 3 == 0:
            wanted = {"shelf": made.choice(SHELVES)}
            for name, texts in {"g": TREES, "c": CONVERSATIONS, "m": MODELS}.items():
                if made.random() < 0.4:
                    wanted[name] = made.choice(texts)
            top = made.choice([1, 3, TOP_MAX])
            found = search(made.choice(clients), vector, top, **wanted)
            fit = {
                sort: far(vector, one)
                for sort, (one, held) in there.items()
                if wanted.items() <= held.items()
            }
            assert [one for one, _ in found] == pytest.approx(sorted(fit.values())[:top])
            assert len({sort for _, sort in found}) == len(found)
            assert all(one == pytest.approx(fit[sort]) for one, sort in found)


def test_a_hit_has_what_the_index_holds_and_no_more() -> None:
    client = Engine.in_memory()
    put(client, "a", "b", V=listed([1, *ZEROS[1:]]), shelf={"S": "s"}, g={"S": "t"}, v={"B": b"x"})
    answer = client.search_vectors(**asked([2, *ZEROS[1:]], shelf="s"), ReturnConsumedCapacity="TOTAL")

    assert answer["SearchResults"] == [
        {"Item": key("a", "b") | {"shelf": {"S": "s"}, "g": {"S": "t"}}, "Score": 0}
    ]
    assert answer["ConsumedCapacity"]["VectorSearchRequestBytes"] > 0


@pytest.mark.parametrize(
    "spoilt",
    [
        {"TopK": 0},
        {"TopK": TOP_MAX + 1},
        {"IndexName": "byConversation"},
        {"SearchVector": listed(ZEROS[1:])["L"]},
        {"SearchVector": [{"S": "1"}] * schema.DIMENSIONS},
        *(
            {"SearchConditionExpression": text}
            for text in (
                *(
                    "#g = :g",
                    "#shelf = :shelf OR #g = :g",
                    "#shelf = :shelf AND #g < :g",
                    "#shelf IN (:shelf, :g)",
                ),
                *(
                    "#shelf = :shelf",
                    "#shelf = :shelf AND #g = :g AND #g = :g",
                    "",
                    "PK = :g AND #shelf = :shelf",
                ),
                "#shelf = :shelf AND #g BETWEEN :g AND :g",
            )
        ),
        {"ExpressionAttributeValues": {":shelf": {"S": "s"}, ":g": {"N": "1"}}},
    ],
)
def test_what_aws_refuses_to_search_is_refused(spoilt: dict[str, Any]) -> None:
    client = Engine.in_memory()
    assert client.search_vectors(**asked(ZEROS, shelf="s", g="t"))["SearchResults"] == []
    with pytest.raises(CallRefused, match="ValidationException"):
        client.search_vectors(**{**asked(ZEROS, shelf="s", g="t"), **spoilt})


@pytest.mark.parametrize(
    "vector", [listed(ZEROS[1:]), listed([]), {"B": bytes(256)}, {"NULL": True}, listed([128, *ZEROS[1:]])]
)
def test_an_item_that_the_index_cannot_hold_is_refused(vector: dict[str, Any]) -> None:
    client = Engine.in_memory()
    with pytest.raises(CallRefused, match="ValidationException"):
        put(client, "a", "b", V=vector, shelf={"S": "s"})
    with pytest.raises(CallRefused, match="ValidationException"):
        put(client, "a", "b", V=listed(ZEROS), shelf={"N": "1"})


def test_a_folder_of_an_earlier_version_gets_the_index(kept: Kept) -> None:
    with kept.database.reading() as connection:
        connection.executescript("DROP TRIGGER vector_gone; DROP TABLE vector")
    later = kept.again()
    put(later.client, "a", "b", V=listed([1, *ZEROS[1:]]), shelf={"S": "s"})

    assert search(later.client, [1, *ZEROS[1:]], shelf="s") == [(0, "b")]
    later.database.close()
