"""What every way of asking shares: the time that a request has, errors as answers, bugs in the log."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from forklore.api.operation import Service
from forklore.aws.telemetry import log_failure
from forklore.aws.wiring import Consumption, ServiceSettings, open_queue, open_table
from forklore.domain.model import Caller
from forklore.errors import PHRASES, ForkloreError, UnavailableError

ANSWER_SECONDS = 3.0
"""What is kept of a request's time for the answer."""
BODY_CHARACTERS_MAX = 5_500_000
"""More could not be answered: content is at most 5 MB. It is refused before it is read."""
NOBODY = Caller("")
"""The caller of an operation that needs no credentials."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a caller is told. text: JSON, empty without a body. error: what it says, if it is one."""

    status: int
    text: str
    error: ForkloreError | None = None


def answer(run: Callable[[], tuple[int, str]], request_id: str) -> Answered:
    """Return what `run` returns, status and text, or the error that it raises; a bug is logged and 500."""
    try:
        return Answered(*run())
    except ForkloreError as error:
        if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            log_failure("bug", error, xRequestId=request_id)
        return refusal(error, request_id)
    except Exception as bug:  # noqa: BLE001 (whatever it is: a bug, logged and answered)
        log_failure("bug", bug, xRequestId=request_id)
        return refusal(ForkloreError("an error of ours; it is logged"), request_id)


def refusal(error: ForkloreError, request_id: str) -> Answered:
    """Return an error in the one shape that callers see."""
    shown = {
        "code": error.code,
        "error": PHRASES[error.status],
        "requestId": request_id,
        "details": dict(error.details),
    }
    return Answered(error.status, json.dumps(shown, ensure_ascii=False), error)


def service_for(context: Any, usage: Consumption, settings: ServiceSettings) -> Service:
    """Return the service for a request that must be answered within the function's time.

    context: Lambda's. usage: where the request's calls are counted.
    Raises UnavailableError if no time is left.
    """
    seconds = context.get_remaining_time_in_millis() / 1000 - ANSWER_SECONDS
    if seconds <= 0:
        raise UnavailableError("there is no time left for this request")
    return Service(
        open_table().within(seconds, usage=usage),
        open_queue(),
        delete_wait_s=settings.delete_wait_s,
        justification_required=settings.justification_required,
    )
