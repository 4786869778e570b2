"""The service: operations by name, on a store in memory or in a folder."""

import _thread
import threading
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from forklore.api.failures import response_to
from forklore.api.inputs import operation_named, raw_request
from forklore.api.operation import NOBODY, Operation, Service
from forklore.api.responses import Response
from forklore.domain.model import Caller
from forklore.domain.users import ROLES, is_user_id
from forklore.embedded.folder import DataError
from forklore.embedded.opened import Opened, open_in_memory, share
from forklore.embedded.told import tell
from forklore.embedded.whole import whole
from forklore.errors import UnauthorizedError, UnavailableError

__all__ = ["DataError", "EmbeddedService"]

REQUEST_SECONDS = 29.0
"""As long as a request may take with API Gateway and Lambda."""


class EmbeddedService:
    """Runs operations in this process. It may be used by any number of threads.

    Close it at the end, or use it in a `with` statement. One that nobody refers to any more is
    closed in the background.
    """

    def __init__(self, opened: Opened) -> None:
        tell()
        self._opened: Opened | None = opened
        self._forgotten = weakref.finalize(self, _leave_later, opened)
        self._forgotten.atexit = False  # what is kept is ended there anyway

    @classmethod
    def open(cls, data: Path | None) -> "EmbeddedService":
        """Return the service of a folder, which is made if it is missing. None: nothing is kept.

        Services of one folder in this process share what is stored. Another process cannot open the
        folder until the last of them is closed. Raises DataError, whose text is one line.
        """
        # After an exception of a signal nobody refers to the service, so it is closed.
        return whole(lambda: cls(open_in_memory() if data is None else share(data)))

    @property
    def refusal(self) -> str | None:
        """Why every call from now on is refused; None as long as calls are answered."""
        return "the service is closed" if self._opened is None else self._opened.store.refusal

    def call(self, operation: str, given: Mapping[str, object] | None, caller: Caller) -> Response:
        """Return the response of an operation.

        given: the input, as a direct invocation has it. Every error is a response, also a bug,
        which is logged without content. Raises RuntimeError if the service is closed. An exception
        that a signal raises, such as KeyboardInterrupt, leaves the operation to end whole.
        """
        opened = self._opened
        if opened is None:
            raise RuntimeError("the service is closed")
        return whole(lambda: _answer(opened, operation, given, caller))

    def close(self) -> None:
        """Close the service. The last one of a folder ends the worker and frees the folder.

        The work that is left is continued when the folder is opened again. A second call does
        nothing.
        """
        if self._opened is not None:
            whole(self._leave)

    def _leave(self) -> None:
        """Leave the store. It is left once, however many threads close the service."""
        opened, self._opened = self._opened, None
        if self._forgotten.detach() and opened is not None:
            opened.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _leave_later(opened: Opened) -> None:
    """Leave in the background: garbage is collected anywhere, also while locks are held.

    To start a `threading.Thread` takes such a lock. So a thread without one starts it.
    """
    leaving = threading.Thread(target=opened.leave, name="forklore-leave", daemon=True)
    _thread.start_new_thread(leaving.start, ())


def _answer(opened: Opened, operation: str, given: Mapping[str, object] | None, caller: Caller) -> Response:
    try:
        return Response(*_run(opened, operation_named(operation), given, caller))
    except Exception as error:  # noqa: BLE001 (a bug is logged and answered)
        return response_to(error, str(uuid.uuid4()))


def _run(
    opened: Opened, operation: Operation, given: Mapping[str, object] | None, caller: Caller
) -> tuple[int, str]:
    """Return the status and the text of an operation's answer. Raises a ForkloreError."""
    caller = NOBODY if operation.is_public else _checked(caller)
    if opened.store.refusal is not None:  # otherwise each call would be tried again and again
        raise UnavailableError(opened.store.refusal)
    with opened.underway.request():
        service = Service(opened.table.within(REQUEST_SECONDS), opened.worker.queue, delete_wait_s=0)
        return operation(service, raw_request(operation, given, caller=caller))


def _checked(caller: Caller) -> Caller:
    """Return the caller. Raises UnauthorizedError for one that no authorizer would let in."""
    is_client = caller.client_id is None or is_user_id(caller.client_id)
    if not (is_user_id(caller.user_id) and is_client and caller.roles <= ROLES):
        raise UnauthorizedError
    return caller
