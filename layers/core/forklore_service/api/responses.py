"""What a caller gets back from an operation or for an exception, and the log of failures."""

import json
import logging
import traceback
from http import HTTPStatus
from typing import NamedTuple

from forklore_service.errors import PHRASES, ForkloreError

_log = logging.getLogger("forklore")


class Response(NamedTuple):
    """The answer to a request. text: JSON; empty without a body. error: None for a success.

    tag: names what the answer says to this caller; empty if nobody can ask whether it has changed.
    location: the address that a redirect leads to.
    ask_again_ms: after how long a watcher asks again; None for an answer that nobody watches.
    """

    status: int
    text: str
    error: ForkloreError | None = None
    tag: str = ""
    ask_again_ms: int | None = None
    location: str = ""


def error_response(error: ForkloreError, request_id: str) -> Response:
    """Return the response for an error. Every error has the same shape."""
    body = {
        "code": error.code,
        "error": PHRASES[error.status],
        "requestId": request_id,
        "details": dict(error.details),
    }
    return Response(error.status, json.dumps(body, ensure_ascii=False), error)


def response_to(error: Exception, request_id: str) -> Response:
    """Return the response for an exception. A bug is logged and answered with a 500."""
    if isinstance(error, ForkloreError) and error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        return error_response(error, request_id)
    log_failure("bug", error, xRequestId=request_id)
    if isinstance(error, ForkloreError):
        return error_response(error, request_id)
    return error_response(ForkloreError("an error of ours; it is logged"), request_id)


def log_failure(event: str, error: Exception, **fields: str) -> None:
    """Log where something failed, without the exception's message, which may hold content."""
    frames = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    _log.error(event, extra={**fields, "type": type(error).__name__, "frames": frames})
