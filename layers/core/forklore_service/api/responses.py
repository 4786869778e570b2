"""What a caller gets back from an operation or for an error: a status and JSON text."""

import json
from typing import NamedTuple

from forklore_service.errors import PHRASES, ForkloreError


class Response(NamedTuple):
    """The answer to a request. text: JSON; empty without a body. error: None for a success."""

    status: int
    text: str
    error: ForkloreError | None = None


def error_response(error: ForkloreError, request_id: str) -> Response:
    """Return the response for an error. Every error has the same shape."""
    body = {
        "code": error.code,
        "error": PHRASES[error.status],
        "requestId": request_id,
        "details": dict(error.details),
    }
    return Response(error.status, json.dumps(body, ensure_ascii=False), error)
