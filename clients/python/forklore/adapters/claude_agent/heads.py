"""What is known of the end of a session, so that the next append is one request."""

import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import anyio
from anyio.lowlevel import RunVar
from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionSummaryEntry, fold_session_summary

SESSIONS_MAX = 1_000
DATA_BYTES_MAX = 4_096
"""Of a name's data."""


@dataclass(frozen=True)
class Head:
    """The end of a session.

    last: the last entry's id; None: there is none. summary: the SDK's, of all lines up to `last`;
    None: unknown, or too long to be kept. parent: of a subpath, the session's conversation.
    """

    last: str | None = None
    summary: Mapping[str, Any] | None = None
    parent: str | None = None


def new_batch() -> str:
    """Return a text that no other batch has."""
    return uuid.uuid4().hex


@dataclass
class Session:
    """What one store knows of one transcript.

    head: None: unknown. batch: the next batch's own part of its idempotency keys. It changes when
    the batch is appended, so the same lines are then another batch.
    """

    head: Head | None = None
    batch: str = field(default_factory=new_batch)


class Sessions:
    """The transcripts that were used last, by name. Threads may share it."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Session] = OrderedDict()
        self._holding = Lock()

    def of(self, name: str) -> Session:
        """Return what is known of a transcript."""
        with self._holding:
            session = self._held.setdefault(name, Session())
            self._held.move_to_end(name)
            idle = (one for one in self._held if one != name and not self.is_appended_to(one))
            if len(self._held) > SESSIONS_MAX and (oldest := next(idle, None)) is not None:
                del self._held[oldest]
            return session

    def lock(self, name: str) -> anyio.Lock:
        """Return what is held while a batch is appended to a transcript.

        It is that of the running event loop: no task can wait for one of another loop. So other
        loops are as other processes.
        """
        return self._locks_of_the_loop().setdefault(name, anyio.Lock())

    def is_appended_to(self, name: str) -> bool:
        """Return whether a task of the running event loop appends a batch, or waits to."""
        return name in self._locks_of_the_loop()

    def _locks_of_the_loop(self) -> "WeakValueDictionary[str, anyio.Lock]":
        of_all = _locks.get(None)
        if of_all is None:
            _locks.set(of_all := WeakKeyDictionary())
        return of_all.setdefault(self, WeakValueDictionary())


_locks: RunVar[WeakKeyDictionary[Sessions, WeakValueDictionary[str, anyio.Lock]]] = RunVar("locks")
"""One variable for all, as an event loop keeps what each variable holds for as long as it lives."""


def folded(
    summary: Mapping[str, Any] | None, key: SessionKey, lines: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the SDK's summary of a session after some more lines. None: there were none before."""
    before = None
    if summary is not None:
        before = SessionSummaryEntry(session_id=key["session_id"], mtime=0, data=dict(summary))
    return fold_session_summary(before, key, cast(list[SessionStoreEntry], list(lines)))["data"]


def data_of(session_id: str, summary: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the data of a session's name. A summary that it cannot hold is left out."""
    data = {"sessionId": session_id, "summary": summary}
    try:
        fits = len(json.dumps(data, ensure_ascii=False).encode()) <= DATA_BYTES_MAX
    except UnicodeEncodeError:  # half of a surrogate pair
        fits = False
    return data if fits else {"sessionId": session_id, "summary": None}
