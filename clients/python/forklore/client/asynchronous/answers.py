"""An answer that is written piece by piece, for asyncio and trio."""

import time
import uuid
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from forklore.client.beside import AsyncBeside
from forklore.client.errors import (
    ApiError,
    ConflictError,
    InputError,
    NoAnswerError,
    UnexpectedAnswerError,
)
from forklore.client.files import FileGiven
from forklore.client.generated import results
from forklore.client.generated.arguments import TurnArguments
from forklore.client.generated.operations import AsyncOperations
from forklore.client.memory import Base
from forklore.client.messages import Said
from forklore.client.pieces import Piece, Pieces

if TYPE_CHECKING:
    from forklore.client.asynchronous.conversation import AsyncConversation

PART_S, SIGN_S = 0.5, 10.0
"""How often what is new is sent; after how long without anything a sign that somebody writes."""
SENDING_S = 5.0
"""How long the sending of one part may take before it is begun anew."""
FULL, OVER = "answer_full", "answer_over"
"""The service's reasons to take no more parts. A full answer can be finished all the same."""
UNKNOWN = (NoAnswerError, UnexpectedAnswerError)
"""After these the service may have done what it was asked for."""
PASSING = frozenset({401, 429})
"""The statuses after which the service may take the same call."""


class TurnOptions(TurnArguments, total=False):
    """What `turn` takes beside the role and the text."""

    files: Sequence[FileGiven]
    context: Sequence[Any] | None
    content_type: str
    based_on: Base
    key: str | None
    usage: Mapping[str, Any] | None
    if_last: results.Entry | str | None
    idempotency_key: str | None


class AsyncAnswer:
    """An answer that others can read while it is written: `async with chat.answer() as answer`.

    It becomes a turn of the conversation at the end of the block, or by `finish`; if nothing was
    written, it is dropped. An error that leaves the block drops it, too, also if that is of a
    `finish`: what was written can be read for a day, there is no entry, and the next answer may
    begin at once.

    chat: the conversation. after: the id of the entry that it follows; None: the last one.
    take_over: as of `beginAnswer`.
    """

    __slots__ = (
        *("_after", "_agent_id", "_api", "_begun", "_beside", "_chat", "_fork_id", "_is_closed", "_is_ended"),
        *("_is_full", "_is_left", "_part", "_pieces", "_position", "_refusal", "_sending", "_sent_at"),
        *("_take_over", "entry"),
    )

    def __init__(
        self,
        api: AsyncOperations,
        chat: "AsyncConversation",
        *,
        after: str | None,
        agent_id: str | None,
        take_over: bool | None,
    ) -> None:
        self._api, self._sending = api, api.within(SENDING_S)
        self._chat, self._after, self._agent_id, self._take_over = chat, after, agent_id, take_over
        self._fork_id = str(uuid.uuid4())
        self._begun: results.AnswerStatus | None = None
        self._is_closed = self._is_ended = self._is_left = False
        self._pieces = Pieces()
        self._beside = AsyncBeside(self._send)
        self._part: list[Piece] | None = None
        self._position, self._sent_at = 0, 0.0
        self._is_full = False
        self._refusal: ApiError | None = None
        self.entry: results.AppendedEntry | None = None
        """The entry that it has become."""

    async def __aenter__(self) -> Self:
        """Begin it. Raises ConflictError with `answer_in_progress` if another one is written."""
        of, answer_id = await self._chat.resolve(), str(uuid.uuid4())
        try:
            self._begun = await self._api.begin_answer(
                of,
                id=answer_id,
                after_entry_id=self._after,
                agent_id=self._agent_id,
                take_over=self._take_over,
            )
        except BaseException as error:
            if not isinstance(error, ApiError) or isinstance(error, UNKNOWN):
                await self._beside.to_the_end(partial(self._free, of, answer_id))
            raise
        self._sent_at = time.monotonic()
        await self._beside.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None and not self._is_closed:
                await (self.drop() if self._pieces.is_empty else self.finish())
        finally:
            await self._beside.to_the_end(self._leave)

    @property
    def id(self) -> str:
        """The answer's id. Raises InputError before it is begun."""
        return self._status.id

    @property
    def text(self) -> str:
        """All texts that were written, whether they were sent or not."""
        return self._pieces.text()

    @property
    def _status(self) -> results.AnswerStatus:
        if self._begun is None:
            raise InputError("an answer begins with its block: `with chat.answer() as answer`")
        return self._begun

    def write(self, said: Said) -> Awaitable[None]:
        """Add a text, or parts as of `say`. This does not wait for the service, which may be away.

        Raises the error with which the service takes no more: ConflictError with `answer_stopped`
        if somebody has stopped the answer, with `answer_over` if it was ended elsewhere.
        """
        if self._begun is None or self._is_closed:
            raise InputError("an answer is written inside of its block, and before it is finished")
        if self._refusal is not None and self._refusal.reason != FULL:
            raise self._refusal
        self._pieces.add(said)
        return self._beside.turn()

    async def finish(
        self, said: Said | None = None, *, fork: bool = False, **more: Unpack[TurnOptions]
    ) -> results.AppendedEntry:
        """End the answer, and append it as a turn in the same step; return the entry.

        If another answer has replaced it, or an error has left the block, the turn is appended all
        the same.
        said: what the entry says, if that is not what was written. fork: append to a new fork,
        which shows the conversation up to the entry that the answer follows. more: other arguments
        of `turn`.
        Raises ConflictError with `answer_over` if somebody else has finished or dropped it.
        """
        begun = self._status
        await self._close()
        born = {
            "forked_at_conversation_id": begun.conversation_id,
            "forked_at_entry_id": begun.after_entry_id,
            "forked_at_position": "after",
        }
        into = type(self._chat)(self._api, self._fork_id, born=born) if fork else self._chat
        text = self._pieces.said() if said is None else said
        more["answer_id"] = begun.id
        more.setdefault("agent_id", self._agent_id)
        try:
            self.entry = await into.turn("ai", text, **more)
        except ConflictError as error:
            is_replaced = "nextAnswerId" in error.details
            is_dropped = self._is_left and "entryId" not in error.details
            if error.reason != OVER or not (is_replaced or is_dropped):
                raise
            more["answer_id"] = None
            self.entry = await into.turn("ai", text, **more)
        self._is_ended = True
        return self.entry

    async def drop(self) -> None:
        """End the answer without an entry. Another one may begin at once."""
        begun = self._status
        await self._close()
        await self._api.delete_answer(begun.conversation_id, begun.id)
        self._is_ended = True

    async def _close(self) -> None:
        self._is_closed = True
        self._pieces.end()
        await self._beside.end()

    async def _leave(self) -> None:
        """Send the rest of an answer that is not ended, and drop it, if the service is there."""
        await self._close()
        if self._is_ended:
            return
        while self._has_unsent and await self._send_part():
            pass
        if self._refusal is not None or not self._has_unsent:
            self._is_left = True
            await self._free(self._status.conversation_id, self._status.id)

    async def _free(self, conversation_id: str, answer_id: str) -> None:
        """Drop an answer, if the service is there, so that another one may begin."""
        with suppress(Exception):
            await self._sending.delete_answer(conversation_id, answer_id)

    @property
    def _has_unsent(self) -> bool:
        return not self._is_full and (bool(self._part) or self._pieces.has_unsent)

    async def _send(self) -> None:
        """Send part after part until the end, or until no more is taken.

        A log that is full gets signs that somebody writes.
        """
        while self._refusal is None and not await self._beside.is_over(PART_S):
            is_quiet = time.monotonic() - self._sent_at >= SIGN_S
            if self._has_unsent or is_quiet:
                await self._send_part()

    async def _send_part(self) -> bool:
        """Send the next part, and return whether it has arrived. If not, it stays the next one.

        So what the service has got already is the same when it is sent again.
        """
        if self._part is None:
            self._part = [] if self._is_full else self._pieces.next_part()
        of = self._status
        try:
            sent = await self._sending.append_to_answer(
                of.conversation_id, of.id, after=self._position, content=self._part
            )
        except Exception as error:  # noqa: BLE001 (`finish` raises it if it lasts)
            if isinstance(error, ApiError) and _is_refusal(error):
                if error.reason == FULL and self._part:
                    self._is_full, self._part = True, None
                else:
                    self._refusal = error
            return False
        self._position, self._part, self._sent_at = sent.position, None, time.monotonic()
        return True


def _is_refusal(error: ApiError) -> bool:
    """Tell whether the service itself takes no more, now and later."""
    status = error.status or 0
    return bool(error.code) and 400 <= status < 500 and status not in PASSING
