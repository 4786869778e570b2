"""The log of an answer that is written piece by piece, and what it says.

A part is written once, at the first position that is free. So the order of the log decides who is
first: a stop, an end and a part of the answer want the same position, and only one of them gets it.
"""

from collections.abc import Iterable
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Answering, EntryRef, Json

SILENT_SECONDS = 30
KEPT_SECONDS = 24 * 3600
"""How long a log is kept after it was begun."""
WRITTEN_SECONDS_MAX = 6 * 3600
PARTS_MAX, SIGNS_MAX = 5_000, 9_000
"""After so many parts a log takes no content, and no part without content either."""
PART_BYTES_MAX = 32 * 1024
"""Of one part's content, as `escaped_size` counts."""
LOG_BYTES_MAX = 5_000_000
"""Of the content of all parts, so that one answer of the service holds a whole log."""
NO_CONTENT = "[]"


class PartKind(StrEnum):
    """What a part says. Nothing follows an END, and only an END follows a STOP."""

    BEGIN = "begin"
    DATA = "data"
    STOP = "stop"
    END = "end"


class AnswerState(StrEnum):
    """The state of an answer. SILENT: open, but nothing was written for SILENT_SECONDS."""

    OPEN = "open"
    SILENT = "silent"
    STOPPED = "stopped"
    FINISHED = "finished"
    DROPPED = "dropped"


class Part(NamedTuple):
    """A part of a log. position: 0 for the beginning.

    conversation_id: where the answer was begun. ttl: the second after which the log is gone.
    size: the bytes of content up to here. nonce: of the request that has begun the answer.
    user_id: who writes the answer; None in a stop and in an end, whoever has written them.
    client_id, agent_id, after: of the beginning. after: the entry that the answer follows.
    content: of data. entry: of an end, what the answer has become, if it has. next_id: of an end,
    the answer that has replaced this one, if one has.
    """

    position: int
    kind: PartKind
    conversation_id: str
    created_at: str
    ttl: int
    size: int = 0
    user_id: str | None = None
    client_id: str | None = None
    agent_id: str | None = None
    after: EntryId | None = None
    content: Json = NO_CONTENT
    entry: EntryRef | None = None
    next_id: str | None = None
    nonce: str | None = None

    @property
    def is_end(self) -> bool:
        return self.kind is PartKind.END

    def is_quiet(self, now_ms: int) -> bool:
        """Tell whether it is so old that nobody seems to write any more, if it is the last."""
        return now_ms - ids.milliseconds(self.created_at) >= SILENT_SECONDS * 1000

    def is_full(self, now_ms: int, *, more_bytes: int) -> bool:
        """Tell whether the log takes no data of so many bytes after this part.

        Without content it is a sign of life. A log that is full takes it, so that nobody takes the
        answer over before it is finished.
        """
        begun_s = self.ttl - KEPT_SECONDS
        return (
            self.position >= (PARTS_MAX if more_bytes else SIGNS_MAX)
            or self.size + more_bytes > LOG_BYTES_MAX
            or now_ms // 1000 - begun_s >= WRITTEN_SECONDS_MAX
        )

    def state(self, now_ms: int) -> AnswerState:
        """Return the state of the answer whose last part this is."""
        match self.kind:
            case PartKind.END:
                return AnswerState.FINISHED if self.entry else AnswerState.DROPPED
            case PartKind.STOP:
                return AnswerState.STOPPED
        return AnswerState.SILENT if self.is_quiet(now_ms) else AnswerState.OPEN

    def with_data(self, content: Json, size: int, *, at: str) -> "Part":
        """Return the part of data that follows. size: of its content."""
        return Part(
            self.position + 1,
            PartKind.DATA,
            self.conversation_id,
            at,
            self.ttl,
            self.size + size,
            self.user_id,
            content=content,
        )

    def stopped(self, *, at: str) -> "Part":
        """Return the stop that follows."""
        return Part(self.position + 1, PartKind.STOP, self.conversation_id, at, self.ttl, self.size)

    def ended(self, *, at: str, entry: EntryRef | None = None, next_id: str | None = None) -> "Part":
        """Return the end that follows.

        entry: what the answer becomes in the same transaction. next_id: the one that replaces it.
        """
        return self.stopped(at=at)._replace(kind=PartKind.END, entry=entry, next_id=next_id)


def unbroken(log: Iterable[Part], *, first: int) -> list[Part]:
    """Return the parts of a log from a position on, up to where a read did not show one yet.

    A part is written after the one before it. So who reads on after the last one misses none.
    """
    return [part for _, part in takewhile(lambda at: at[0] == at[1].position, enumerate(log, first))]


class Standing(NamedTuple):
    """An answer that a conversation has. state: None: its log was not read."""

    answer: Answering
    state: AnswerState | None = None

    @classmethod
    def of(cls, answer: Answering | None, *, now_s: int) -> "Standing | None":
        """Return what HEAD alone says; None if its log is gone, which changes nothing in HEAD."""
        if answer is None or ids.milliseconds(answer.since) // 1000 + KEPT_SECONDS < now_s:
            return None
        return cls(answer)
