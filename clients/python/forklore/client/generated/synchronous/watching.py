# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""What is new in a conversation, as it comes."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Self

from forklore.client.calls import Call, RawAnswer
from forklore.client.decoding import result_of
from forklore.client.errors import NoAnswerError
from forklore.client.generated import results
from forklore.client.generated.operations import SHAPES, Operations
from forklore.client.omitted import Omitted
from forklore.client.retrying import RETRIED

PAGE_ENTRIES = 100
IDLE_S, LOST_S = 3.0, 1.0
"""The pause where the service names none, and the shortest one after no answer."""
WAIT_FOR_PART_S = 1
"""How long a request for a part is held. Meanwhile nobody asks for entries."""
NOT_MODIFIED, NOT_FOUND = 304, 404
New = results.ListedEntry | results.AnswerLog
"""An entry, or an answer in progress with those of its parts that are new."""


class Watch:
    """One watch of a conversation. `for one in watch` goes on until its user leaves it.

    It asks again and again, at the pace that the service names. A service that can holds each
    request until something is new. Once there was an answer, a lost connection is no end, nor is a
    service that is started anew, or fails with a status after which a call is sent again.

    resolve: returns the conversation's id. after: the entry to begin behind; OMITTED: the last one
    of now; None: none. channel: None shows users the history, and agents their own context as well.
    """

    def __init__(
        self,
        api: Operations,
        resolve: Callable[[], str],
        *,
        after: str | Omitted | None,
        channel: str | None,
    ) -> None:
        self._api = api
        self._resolve = resolve
        self._cursor = None if isinstance(after, Omitted) else after
        self._knows_place = not isinstance(after, Omitted)
        self._is_answered = False
        self._shown = {"channel": channel}
        self._etag: str | None = None
        self._pause_s = 0.0
        self._news = deque[New]()
        self._written: results.Answering | None = None
        self._log: results.AnswerLog | None = None
        self._entries_due_s = 0.0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> New:
        """Return what is new next.

        Raises the error of a caller who may not see the conversation, or not any more.
        """
        while not self._news:
            self._api.pause(min(self._pause_s, self._api.options.left_s))
            self._look()
        return self._news.popleft()

    def _look(self) -> None:
        """Ask once: for parts of an answer in progress, if there is one, and for entries."""
        pause_s = 0.0  # until the parts of an answer that has just begun
        if self._written is not None:
            self._look_at_answer(self._written.answer_id)
            pause_s = self._pause_s
        if self._written is None or time.monotonic() >= self._entries_due_s:
            self._look_at_entries()
            if self._written is not None:
                self._entries_due_s = time.monotonic() + (IDLE_S if pause_s else 0.0)
                self._pause_s = pause_s

    def _look_at_answer(self, answer_id: str) -> None:
        """Ask for the parts after those that are known, and for the state."""
        known = self._log if self._log is not None and self._log.id == answer_id else None
        place = {"answerId": answer_id, "after": 0 if known is None else known.position}
        answer = self._ask("getAnswer", place, wait_s=min(WAIT_FOR_PART_S, self._api.options.wait_s))
        if answer is None:
            return
        if answer.status == NOT_FOUND:  # it is gone, or all of the conversation, as the entries tell
            self._written = None
            return
        self._log = result_of(answer, results.AnswerLog.of)
        if known is None or self._log.state != known.state or any(one.content for one in self._log.parts):
            self._news.append(self._log)
        if self._log.state in ("finished", "dropped"):
            self._written = None

    def _look_at_entries(self) -> None:
        """Ask for what follows the last known entry; at first, perhaps, which one that is."""
        if self._knows_place:
            place: Mapping[str, Any] = {"limit": PAGE_ENTRIES, "afterCursor": self._cursor}
        else:
            place = {"limit": 1, "tail": True}
        wait_s = 0 if self._written is not None else self._api.options.wait_s
        answer = self._ask("listEntries", {**self._shown, **place}, wait_s=wait_s, etag=self._etag)
        if answer is None or answer.status == NOT_MODIFIED:
            return
        page = result_of(answer, results.EntryPage.of)
        if self._knows_place:
            self._news.extend(page.data)
        # Only the answer without an entry stays the same until there is one.
        self._etag = answer.etag if self._knows_place and not page.data else None
        self._knows_place = True
        # Without one, the one that is known has ended meanwhile, as its log tells next.
        self._written = page.answering or self._written
        if page.data:
            self._cursor = page.data[-1].id
        if page.after_cursor is not None:
            self._cursor, self._pause_s = page.after_cursor, 0.0

    def _ask(
        self, operation: str, given: Mapping[str, Any], *, wait_s: int, etag: str | None = None
    ) -> RawAnswer | None:
        """Return the answer, or None if it is lost; set the pause before the next request."""
        try:
            path = {"conversationId": self._resolve(), "wait": wait_s}
            said = {name: held for name, held in given.items() if held is not None}
            answer = self._api.send(Call.of(SHAPES[operation], {**path, **said}, if_none_match=etag))
        except NoAnswerError:
            if not self._is_answered or not self._api.options.left_s:
                raise
            self._pause_s = LOST_S
            return None
        if self._is_answered and answer.status in RETRIED:
            self._pause_s = max(LOST_S, answer.retry_after_s or 0.0)
            return None
        self._is_answered = True
        self._pause_s = IDLE_S if answer.ask_again_ms is None else answer.ask_again_ms / 1000
        return answer
