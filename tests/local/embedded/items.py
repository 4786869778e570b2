"""Short ways to put and read items of a table."""

from typing import Any

TABLE = "forklore"


def key(partition: str, sort: str) -> dict[str, Any]:
    return {"PK": {"S": partition}, "SK": {"S": sort}}


def put(client: Any, partition: str, sort: str, **attributes: Any) -> None:
    client.put_item(TableName=TABLE, Item=key(partition, sort) | attributes)


def everything(client: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.scan(TableName=TABLE)["Items"]
    return sorted(found, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
