"""What was written to a table: by looking at it before and after, or as its stream tells it."""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import boto3
import pytest

from forklore_service.domain import ids
from forklore_service.events.around import Around
from forklore_service.events.changes import Change
from forklore_service.events.event import Content, Event
from forklore_service.events.from_changes import events_of
from forklore_service.storage import items
from forklore_service.storage.clock import system_ms
from forklore_service.storage.table import Table
from tests.support.tables import Store

Record = dict[str, Any]


def told(event: Event) -> dict[str, Any]:
    """Return an event's type and detail as one object, without the ids that only its hash makes."""
    detail = json.loads(event.detail)
    assert detail.pop("eventId") == event.event_id
    return {"type": str(event.detail_type), **detail}


class Recorded:
    """Looks at a table around each write."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def changes(self, write: Callable[[], object]) -> list[Change]:
        """Return what a write has changed, item by item, in the order of the keys."""
        before = self._store.contents()
        write()
        after, at = self._store.contents(), ids.timestamp(system_ms())
        return [
            Change(key, before.get(key), after.get(key), at)
            for key in sorted({*before, *after})
            if before.get(key) != after.get(key)
        ]

    def events(self, write: Callable[[], object], *, content: Content = Content.NONE) -> list[Event]:
        """Return the events of a write.

        Each change is also told alone, without the others of its batch. It must tell the same.
        """
        changes = self.changes(write)
        together = events_in(changes, self._store.process(), content=content)
        alone = [
            event for one in changes for event in events_in([one], self._store.process(), content=content)
        ]
        assert together == alone
        return together

    def told(self, write: Callable[[], object], *, content: Content = Content.NONE) -> list[dict[str, Any]]:
        return [told(event) for event in self.events(write, content=content)]


def events_in(changes: Sequence[Change], table: Table, *, content: Content = Content.NONE) -> list[Event]:
    """Return the events of a batch of changes."""
    around = Around(table, changes)
    return [event for change in changes for event in events_of(change, around, content=content)]


@pytest.fixture
def recorded(store: Store) -> Recorded:
    return Recorded(store)


def record_of(change: Change, number: int = 0) -> Record:
    """Return the record of a change as Lambda gets it. number: its place in the stream."""
    images = {"OldImage": change.old, "NewImage": change.new}
    held = {
        "ApproximateCreationDateTime": datetime.fromisoformat(change.at).timestamp(),
        "Keys": items.key_of(change.key),
        "SequenceNumber": f"{number:021}",
        **{name: image for name, image in images.items() if image is not None},
    }
    is_new, is_gone = change.old is None, change.new is None
    name = "INSERT" if is_new else "REMOVE" if is_gone else "MODIFY"
    record: Record = json.loads(json.dumps({"eventName": name, "dynamodb": held}, default=_base64))
    return record


def _base64(value: object) -> str:
    assert isinstance(value, bytes), type(value)
    return base64.b64encode(value).decode()


class Stream:
    """The stream of a table on a DynamoDB Local, from now on."""

    def __init__(self, store: Store) -> None:
        self.client = boto3.Session(region_name="us-east-1").client(
            "dynamodbstreams", endpoint_url=store.endpoint
        )
        specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        answer = store.client.update_table(TableName=store.name, StreamSpecification=specification)
        self.arn = answer["TableDescription"]["LatestStreamArn"]
        self._iterators: dict[str, str] = {}

    @property
    def shards(self) -> list[str]:
        """The ids of the shards, the oldest first."""
        shards = self.client.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        return [shard["ShardId"] for shard in shards]

    def read(self) -> list[Record]:
        """Return the records since the last call, shard by shard."""
        found: list[Record] = []
        for shard_id in self.shards:
            found += self._read_shard(shard_id)
        return found

    def _read_shard(self, shard_id: str) -> list[Record]:
        found: list[Record] = []
        if shard_id not in self._iterators:
            self._iterators[shard_id] = self.client.get_shard_iterator(
                StreamArn=self.arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
        while iterator := self._iterators[shard_id]:
            answer = self.client.get_records(ShardIterator=iterator)
            self._iterators[shard_id] = answer.get("NextShardIterator", "")
            if not answer["Records"]:
                break
            found += answer["Records"]
        return found
