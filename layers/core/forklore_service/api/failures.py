"""Exceptions as responses, and the log of failures."""

import logging
import traceback
from http import HTTPStatus

from forklore_service.api.responses import Response, error_response
from forklore_service.errors import ForkloreError

_log = logging.getLogger("forklore")


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
