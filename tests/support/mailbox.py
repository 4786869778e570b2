"""A queue in memory, in place of SQS. It keeps the messages as SQS would."""

import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import EndpointConnectionError

from forklore_service.domain.model import JobKind
from forklore_service.domain.tree import WAIT_SECONDS
from forklore_service.storage.queue import Queue
from forklore_service.storage.table import Table
from forklore_service.usecases.background import worker
from forklore_service.usecases.background.worker import Outcome


@dataclass(frozen=True)
class Message:
    """A message: the tree, the delay in seconds, the kind of the job, the lease, and the branch."""

    group_id: str
    delay_s: int
    kind: str = JobKind.DELETION
    lease: str | None = None
    conversation_id: str | None = None

    def work(self, table: Table, queue: Queue, *, wait_s: int = 0, lease_s: int = 0) -> Outcome:
        """Let a worker take the message. lease_s: 0, so that a killed one holds up nobody."""
        message = worker.JobMessage(self.group_id, JobKind(self.kind), self.lease, self.conversation_id)
        return worker.work(table, queue, message, lease_s=lease_s, wait_s=wait_s)


class Mailbox:
    """The messages that nobody has taken yet. is_down: sending fails, as if SQS is unreachable."""

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
            branch = body.pop("conversationId", None)
            self.messages.append(
                Message(body.pop("groupId"), entry["DelaySeconds"], conversation_id=branch, **body)
            )
        return {}

    def take(self) -> list[Message]:
        """Return the messages, and remove them."""
        taken, self.messages = self.messages, []
        return taken


def run_deletion(table: Table, queue: Queue, group_id: str, *, wait_s: int = WAIT_SECONDS) -> bool:
    """Let a worker without a lease go on with the deletion of a tree. Return whether it is done."""
    return worker.go_on(table, queue, worker.JobMessage(group_id), wait_s=wait_s)


def run_prune(table: Table, queue: Queue, group_id: str, branch: str, *, wait_s: int = WAIT_SECONDS) -> bool:
    """Do the same with the pruning of a removed branch."""
    message = worker.JobMessage(group_id, JobKind.PRUNE, conversation_id=branch)
    return worker.go_on(table, queue, message, wait_s=wait_s)
