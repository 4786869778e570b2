"""A queue that keeps what is announced, in place of SQS: messages as they would lie there."""

import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import EndpointConnectionError

from forklore.storage.queue import Queue


@dataclass(frozen=True)
class Message:
    """A tree that was announced, and in how many seconds the message is seen."""

    group_id: str
    delay_s: int


class Mailbox:
    """What was announced and not taken yet. is_down: as when SQS cannot be reached."""

    def __init__(self, *, is_down: bool = False) -> None:
        self.messages: list[Message] = []
        self.batches: list[int] = []
        self._is_down = is_down

    @property
    def queue(self) -> Queue:
        return Queue(self, "https://sqs/jobs")

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        if self._is_down:
            raise EndpointConnectionError(endpoint_url=QueueUrl)
        assert 1 <= len(Entries) <= 10
        assert len({entry["Id"] for entry in Entries}) == len(Entries)
        self.batches.append(len(Entries))
        for entry in Entries:
            body = json.loads(entry["MessageBody"])
            assert list(body) == ["groupId"]
            self.messages.append(Message(body["groupId"], entry["DelaySeconds"]))
        return {}

    def take(self) -> list[Message]:
        """Return the messages, which are gone then."""
        taken, self.messages = self.messages, []
        return taken
