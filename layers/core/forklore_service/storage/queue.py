"""The queue that tells the worker what to do. It is no guarantee: the sweep finds lost work."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forklore_service.domain.model import JobKind

BATCH_MESSAGES_MAX = 10
"""SQS's own limit for SendMessageBatch."""
DELAY_SECONDS_MAX = 900
"""SQS's own limit for DelaySeconds."""
ANNOUNCE_SECONDS = 1.5
"""No batch is sent after so many seconds: a request must answer."""


class Queue:
    """Where trees with work to do are announced.

    client None: it is made when there is something to announce. url None: nothing is sent.
    """

    def __init__(self, client: Any, url: str | None) -> None:
        self._client = client
        self._url = url

    def announce(
        self,
        group_ids: Iterable[str],
        *,
        kind: str | None = None,
        lease: str | None = None,
        delay_s: int = 0,
        within_s: float = ANNOUNCE_SECONDS,
    ) -> None:
        """Send a message for each tree, visible after `delay_s` seconds. A failure is not reported.

        kind: of the work; None: a deletion. lease: that the sender has held and hands on.
        within_s: how long new batches are sent.
        """
        more = {name: value for name, value in (("kind", kind), ("lease", lease)) if value is not None}
        self._send([{"groupId": group_id, **more} for group_id in group_ids], delay_s, within_s)

    def announce_prunes(
        self,
        branches: Iterable[tuple[str, str]],
        *,
        lease: str | None = None,
        delay_s: int = 0,
        within_s: float = ANNOUNCE_SECONDS,
    ) -> None:
        """Send a message for each removed branch, as `announce` does for a tree.

        branches: the tree and the conversation of each.
        """
        more = {"kind": JobKind.PRUNE, **({"lease": lease} if lease is not None else {})}
        messages = [
            {"groupId": group_id, "conversationId": conversation_id, **more}
            for group_id, conversation_id in branches
        ]
        self._send(messages, delay_s, within_s)

    def _send(self, messages: Sequence[Mapping[str, str]], delay_s: int, within_s: float) -> None:
        left = list(messages)
        if self._url is None or not left:
            return
        give_up_at = time.monotonic() + within_s
        delay_s = min(max(delay_s, 0), DELAY_SECONDS_MAX)
        while left and time.monotonic() < give_up_at:
            now, left = left[:BATCH_MESSAGES_MAX], left[BATCH_MESSAGES_MAX:]
            entries = [
                {
                    "Id": str(at),
                    "MessageBody": json.dumps(message),
                    "DelaySeconds": delay_s,
                }
                for at, message in enumerate(now)
            ]
            try:
                if self._client is None:
                    from forklore_service.storage.clients import make_queue_client

                    self._client = make_queue_client()
                self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            except Exception as error:
                from botocore.exceptions import BotoCoreError, ClientError

                if not isinstance(error, (BotoCoreError, ClientError)):
                    raise
                return
