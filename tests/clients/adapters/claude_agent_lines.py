"""Lines of transcripts, as Claude Code writes them, and clients that count or die."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from claude_agent_sdk import SessionKey, SessionStoreEntry

from forklore import AsyncForklore
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.client.calls import Call, RawAnswer
from forklore.client.transports import AsyncTransport
from tests.clients.adapters.services import Service

PROJECT = "-home-ann-trip"


def new_key(subpath: str | None = None) -> SessionKey:
    """Return the key of a new session."""
    key = SessionKey(project_key=PROJECT, session_id=str(uuid.uuid4()))
    return key if subpath is None else SessionKey(**key, subpath=subpath)


def said(kind: str, content: Any, after: SessionStoreEntry | None = None, **more: Any) -> SessionStoreEntry:
    """Return a line in which a user or the assistant says something."""
    role = "assistant" if kind == "assistant" else "user"
    line: dict[str, Any] = {
        "type": kind,
        "uuid": str(uuid.uuid4()),
        "parentUuid": after["uuid"] if after else None,
        "timestamp": "2026-03-01T09:15:00.000Z",
        "message": {"role": role, "content": content},
        **more,
    }
    return line  # type: ignore[return-value]


def turn(number: int, after: SessionStoreEntry | None = None) -> list[SessionStoreEntry]:
    """Return a question and its answer."""
    question = said("user", f"question {number}", after)
    return [question, said("assistant", [{"type": "text", "text": f"answer {number}"}], question)]


def other(kind: str, **fields: Any) -> SessionStoreEntry:
    """Return a line that nobody says."""
    return {"type": kind, **fields}  # type: ignore[typeddict-item]


class KilledError(BaseException):
    """The process ends here."""


class Watched:
    """A transport that counts. It dies at the request after `lives`, before it or behind it."""

    def __init__(self, inner: AsyncTransport, lives: int | None = None, *, is_sent: bool = False) -> None:
        self.operations: list[str] = []
        self._inner = inner
        self._lives = lives
        self._is_sent = is_sent

    async def send(self, call: Call, timeout_s: float) -> RawAnswer:
        self.operations.append(call.shape.name)
        is_last = self._lives is not None and len(self.operations) > self._lives
        if is_last and not self._is_sent:
            raise KilledError
        answer = await self._inner.send(call, timeout_s)
        if is_last:
            raise KilledError
        return answer

    def located(self, url: str) -> str:
        return self._inner.located(url)

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def store_of(
    service: Service, user: str, *, lives: int | None = None, is_sent: bool = False
) -> AsyncIterator[tuple[ForkloreSessionStore, list[str]]]:
    """Yield a store with a client of its own, and the operations that it has called."""
    async with service.async_client(user) as client:
        watched = Watched(client._transport, lives, is_sent=is_sent)
        yield ForkloreSessionStore(AsyncForklore._over(watched, None)), watched.operations
