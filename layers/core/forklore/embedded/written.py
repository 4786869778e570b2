"""Items of moto as text, and back. The text is JSON in DynamoDB's own form; bytes are in base64.

Moto holds bytes as they are, or in base64 if an operation other than a transaction put them. It
answers both alike.
"""

import base64
import json
from typing import Any

from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict


def to_text(item: Item) -> str:
    """Return an item as text."""
    return _json(_plain_item(item))


def to_record(old: Item | None, new: Item | None, *, at_s: float) -> str:
    """Return the record of a change, as Lambda gets it from a stream of DynamoDB.

    It has what forklore reads of such a record. None: no item. at_s: when it was written.
    """
    images = {"OldImage": old, "NewImage": new}
    shown = {name: _plain_item(item) for name, item in images.items() if item is not None}
    item = old if new is None else new
    assert item is not None
    assert item.range_key is not None
    keys = {"PK": {"S": item.hash_key.value}, "SK": {"S": item.range_key.value}}
    held = {"Keys": keys, **shown, "ApproximateCreationDateTime": round(at_s, 3)}
    return _json({"dynamodb": held})


def to_item(text: str, *, partition_key: str, sort_key: str) -> Item:
    """Return the item that `to_text` wrote.

    Moto checks an item's size anew for each attribute. Here nothing is checked: the item passed
    when it was written.
    """
    attributes = LimitedSizeDict.__new__(LimitedSizeDict)
    for name, held in json.loads(text).items():
        dict.__setitem__(attributes, name, _held(held))
    item = object.__new__(Item)
    item.hash_key, item.range_key = attributes[partition_key], attributes[sort_key]
    item.attrs = attributes
    return item


def _json(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _plain_item(item: Item) -> dict[str, Any]:
    return {name: {held.type: _plain(held)} for name, held in item.attrs.items()}


def _plain(held: DynamoType) -> Any:
    match held.type:
        case "B":
            return _base64(held.value)
        case "BS":
            return [_base64(one) for one in held.value]
        case "L":
            return [{one.type: _plain(one)} for one in held.value]
        case "M":
            return {name: {one.type: _plain(one)} for name, one in held.value.items()}
        case _:
            return held.value


def _base64(value: bytes | str) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()


def _held(plain: dict[str, Any]) -> DynamoType:
    """Return an attribute's value. Most are strings and numbers, which need no more than this."""
    held: DynamoType = object.__new__(DynamoType)
    [(held.type, value)] = plain.items()
    match held.type:
        case "B":
            value = base64.b64decode(value)
        case "BS":
            value = [base64.b64decode(one) for one in value]
        case "L":
            value = [_held(one) for one in value]
        case "M":
            value = {name: _held(one) for name, one in value.items()}
    held.value = value
    return held
