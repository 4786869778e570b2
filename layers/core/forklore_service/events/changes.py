"""A change: one item of the table before and after a write, as a stream of the table tells it."""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.keys import Key
from forklore_service.storage.connection import Item


class Change(NamedTuple):
    """One item before and after a write, in DynamoDB's typed form. None: no item.

    at: when it was written, as RFC 3339 text. sequence: the record's number in its stream, by which
    a failure is reported; empty if there is no stream.
    """

    key: Key
    old: Item | None
    new: Item | None
    at: str
    sequence: str = ""


def change_of(record: Mapping[str, Any]) -> Change:
    """Return the change in a record of the table's stream, in the form that Lambda gets it.

    Records of the DynamoDB Streams API have the same form, with bytes in place of base64, and with
    a datetime. Raises LookupError, TypeError or ValueError if it has another form.
    """
    held = record["dynamodb"]
    written_at = held["ApproximateCreationDateTime"]
    seconds = written_at if isinstance(written_at, int | float) else written_at.timestamp()
    key = held["Keys"]
    if not held.get("OldImage") and not held.get("NewImage"):
        raise ValueError("the record has no image of its item")
    return Change(
        Key(key["PK"]["S"], key["SK"]["S"]),
        old=_image(held.get("OldImage")),
        new=_image(held.get("NewImage")),
        at=ids.timestamp(round(seconds * 1000)),
        sequence=held.get("SequenceNumber", ""),
    )


def _image(held: Mapping[str, Any] | None) -> Item | None:
    return {name: _typed(value) for name, value in held.items()} if held else None


def _typed(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a typed value. Lambda gets binary values in base64."""
    [(letter, inner)] = value.items()
    if letter == "B" and isinstance(inner, str):
        return {letter: base64.b64decode(inner, validate=True)}
    if letter == "M":
        return {letter: {name: _typed(one) for name, one in inner.items()}}
    return {letter: inner}
