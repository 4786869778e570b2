"""What this process knows about conversations: facts that never change, and hints.

The cache does not decide access or existence. A write checks each hint that it uses. A hint that is
out of date costs one more request, but never causes a wrong answer.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.model import Conversation, Head, Tip
from forklore_service.domain.names import NameRef

CONVERSATIONS_MAX = 10_000
TURNS = 256
"""How many locks the conversations share."""
TURN_SECONDS = 1.0
"""How long a thread waits for its turn. Then it writes without one.

A write without a turn may be refused. Then it is tried again.
"""


class CachedConversation(NamedTuple):
    """What is known about a conversation. The first four fields never change.

    All other fields are hints. epochs: the latest epoch seen of each client.
    """

    group_id: str
    client_id: str | None
    created_at: str
    tree_created_at: str
    owner: str
    tip: Tip
    titled: bool
    epochs: tuple[tuple[str, Epoch], ...] = ()

    @classmethod
    def of(
        cls,
        conversation: Conversation,
        head: Head,
        epochs: tuple[tuple[str, Epoch], ...] = (),
        *,
        tree_created_at: str,
    ) -> "CachedConversation":
        return cls(
            group_id=conversation.group_id,
            client_id=conversation.client_id,
            created_at=conversation.created_at,
            tree_created_at=tree_created_at,
            owner=head.owner,
            tip=head.tip,
            titled=not head.untitled,
            epochs=epochs,
        )

    @property
    def used_at(self) -> str:
        """When the conversation was created or last appended to."""
        return max(self.created_at, ids.created_at(self.tip.last))

    def epoch_of(self, client_id: str) -> Epoch | None:
        return dict(self.epochs).get(client_id)

    def with_epoch(self, client_id: str, epoch: Epoch) -> "CachedConversation":
        return self._replace(epochs=tuple((dict(self.epochs) | {client_id: epoch}).items()))


class ConversationCache:
    """A bounded, thread-safe cache by conversation id. It drops the least recently used first."""

    def __init__(self, conversations_max: int = CONVERSATIONS_MAX) -> None:
        self._max = conversations_max
        self._cached: OrderedDict[str, CachedConversation] = OrderedDict()
        self._names: OrderedDict[NameRef, str] = OrderedDict()
        self._full: set[str] = set()
        self._lock = threading.Lock()
        self._turns = [threading.RLock() for _ in range(TURNS)]

    @contextmanager
    def turn(self, conversation_id: str, *, seconds: float = TURN_SECONDS) -> Iterator[None]:
        """Let the threads of this process write to a conversation one after another.

        So each thread knows what the thread before it wrote. Processes do not wait for each other:
        the condition on HEAD orders their writes. seconds: how long a thread may wait for its turn.
        """
        turn = self._turns[hash(conversation_id) % TURNS]
        is_ours = turn.acquire(timeout=max(0.0, min(seconds, TURN_SECONDS)))
        try:
            yield
        finally:
            if is_ours:
                turn.release()

    def get(self, conversation_id: str) -> CachedConversation | None:
        with self._lock:
            cached = self._cached.get(conversation_id)
            if cached is not None:
                self._cached.move_to_end(conversation_id)
            return cached

    def put(self, conversation_id: str, cached: CachedConversation) -> None:
        with self._lock:
            self._cached[conversation_id] = cached
            self._cached.move_to_end(conversation_id)
            if len(self._cached) > self._max:
                self._cached.popitem(last=False)

    def forget(self, conversation_id: str) -> None:
        with self._lock:
            self._cached.pop(conversation_id, None)

    def named(self, ref: NameRef) -> str | None:
        """Return the conversation that a name has pointed to. It may point elsewhere now."""
        with self._lock:
            return self._names.get(ref)

    def put_name(self, ref: NameRef, conversation_id: str) -> None:
        with self._lock:
            self._names[ref] = conversation_id
            self._names.move_to_end(ref)
            if len(self._names) > self._max:
                self._names.popitem(last=False)

    def forget_name(self, ref: NameRef) -> None:
        with self._lock:
            self._names.pop(ref, None)

    def mark_full(self, group_id: str) -> None:
        """Remember that a tree is near the largest size of an item collection."""
        with self._lock:
            self._full.add(group_id)

    def is_full(self, group_id: str) -> bool:
        with self._lock:
            return group_id in self._full
