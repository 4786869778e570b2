"""The service: operations by name, on a store in memory or in a folder."""

import _thread
import logging
import os
import sys
import threading
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from forklore_local.in_process.folder import DataError
from forklore_local.in_process.models import Model, nearness_by
from forklore_local.in_process.opened import Opened
from forklore_service.api.responses import Response, response_to
from forklore_service.api.watching import is_news
from forklore_service.domain.jsontext import read_object
from forklore_service.domain.model import Caller
from forklore_service.domain.users import ROLES, is_user_id
from forklore_service.errors import UnauthorizedError

__all__ = ["DataError", "EmbeddedService"]

REQUEST_SECONDS = 29.0
"""As long as a request may take with API Gateway and Lambda."""
DELETED_DAYS = 30
"""For how many days a deleted tree can be restored."""
LOGGER = "forklore"
EVENTS = {
    "bug": "an error of ours: {type} in {frame}",
    "failed": "work in the background failed: {type} in {frame}; a later run tries it again",
}
"""What is said of each event that is logged in this process."""


class EmbeddedService:
    """Runs operations in this process. It may be used by any number of threads.

    Close it at the end, or use it in a `with` statement. One that nobody refers to any more is
    closed in the background.
    """

    def __init__(self, opened: Opened) -> None:
        _tell_failures()
        self._hold(opened)

    def _hold(self, opened: Opened) -> None:
        self._opened: Opened | None = opened
        self._forgotten = weakref.finalize(self, _close_later, opened)
        self._forgotten.atexit = False  # a transaction is never left half done

    @classmethod
    def open(cls, data: Path | None, *, recall: Model | None = None) -> "EmbeddedService":
        """Return the service of a folder, which is made if it is missing. None: nothing is kept.

        recall: what makes vectors of texts, by which a search finds what is meant.
        Any number of services may have one folder open, in any number of processes. Raises
        DataError, whose text is one line.
        """
        return cls(Opened(data, deleted_days=DELETED_DAYS, nearness=nearness_by(recall)))

    @property
    def refusal(self) -> str | None:
        """Why every call from now on is refused; None as long as calls are answered."""
        if self._opened is None:
            return "the service is closed"
        return None if self._opened.folder is not None else self._opened.database.refusal

    def call(
        self,
        operation: str,
        caller: Caller,
        *,
        path: Mapping[str, str],
        query: Mapping[str, str],
        body: str | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> Response:
        """Return the response of an operation.

        path, query, body and those after them: as HTTP has them; the client has checked the length
        of the body. Every error is a response, also a bug, which is logged without content.
        Raises RuntimeError if the service is closed. An exception that a signal raises, such as
        KeyboardInterrupt, leaves each transaction whole.
        """
        # These models take as long as all else here, and who opens a folder may need none of them.
        from forklore_service.api.inputs import operation_named
        from forklore_service.api.operation import NOBODY, Service
        from forklore_service.api.requests import KEPT_AS_TEXT

        opened = self._opened
        if opened is None:
            raise RuntimeError("the service is closed")
        if opened.process != os.getpid() and opened.folder is not None:
            # After fork(): what was opened belongs to the other process.
            nearness = opened.table.nearness
            opened = Opened(
                opened.folder,
                delete_wait_s=opened.delete_wait_s,
                deleted_days=opened.deleted_days,
                nearness=nearness,
            )
            self._forgotten.detach()
            self._hold(opened)
        try:
            asked = operation_named(operation)
            table, queue = opened.table.within(REQUEST_SECONDS), opened.worker.queue
            return asked(
                Service(table, queue, delete_wait_s=opened.delete_wait_s, deleted_days=opened.deleted_days),
                caller=NOBODY if asked.is_public else _checked(caller),
                path=path,
                query=query,
                body={} if body is None else read_object(body, kept=KEPT_AS_TEXT),
                idempotency_key=idempotency_key,
                if_match=if_match,
                if_none_match=if_none_match,
            )
        except Exception as error:  # noqa: BLE001 (a bug is logged and answered)
            return response_to(error, str(uuid.uuid4()))

    is_news = staticmethod(is_news)

    def moment(self) -> int | None:
        """Return a number that is another one after each commit, as Database.moment does."""
        return None if self._opened is None else self._opened.database.moment()

    def close(self) -> None:
        """Close the service. The work that is left is continued when the folder is opened again.

        A second call does nothing.
        """
        opened, self._opened = self._opened, None
        if opened is not None and self._forgotten.detach():
            opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close_later(opened: Opened) -> None:
    """Close in the background: garbage is collected anywhere, also while locks are held.

    To start a `threading.Thread` takes such a lock. So a thread without one starts it.
    """
    closing = threading.Thread(target=opened.close, name="forklore-close", daemon=True)
    _thread.start_new_thread(closing.start, ())


def _checked(caller: Caller) -> Caller:
    """Return the caller. Raises UnauthorizedError for one that no authorizer would let in."""
    is_client = caller.client_id is None or is_user_id(caller.client_id)
    if not (is_user_id(caller.user_id) and is_client and caller.roles <= ROLES):
        raise UnauthorizedError
    return caller


class _OnStderr(logging.Handler):
    """Writes a failure as a line for people, if nothing else handles the record.

    Python itself would write the bare name of the event. The line holds no content.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if _others_handle(record.name, self):
            return
        frames = getattr(record, "frames", None) or ["an unknown place"]
        fields = record.__dict__ | {"frame": frames[-1]}
        sentence = EVENTS.get(record.getMessage(), record.getMessage())
        try:
            sys.stderr.write(f"forklore: {sentence.format_map(fields)}\n")
        except Exception:  # noqa: BLE001 (as every handler does)
            self.handleError(record)


def _tell_failures() -> None:
    """Let failures be told. Calling this again changes nothing."""
    logger = logging.getLogger(LOGGER)
    if not any(isinstance(handler, _OnStderr) for handler in logger.handlers):
        logger.addHandler(_OnStderr(logging.WARNING))


def _others_handle(name: str, own: logging.Handler) -> bool:
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(handler is not own for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
