"""What HTTP and direct invocation share: the time for a request, and exceptions as responses."""

from http import HTTPStatus
from typing import Any

from forklore.api.operation import Service
from forklore.api.responses import Response, error_response
from forklore.aws.telemetry import log_failure
from forklore.aws.wiring import Consumption, ServiceSettings, open_queue, open_table
from forklore.errors import ForkloreError, UnavailableError

ANSWER_SECONDS = 3.0
"""The part of the function's time that is kept for sending the answer."""


def response_to(error: Exception, request_id: str) -> Response:
    """Return the response for an exception. A bug is logged and answered with a 500."""
    if isinstance(error, ForkloreError) and error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        return error_response(error, request_id)
    log_failure("bug", error, xRequestId=request_id)
    if isinstance(error, ForkloreError):
        return error_response(error, request_id)
    return error_response(ForkloreError("an error of ours; it is logged"), request_id)


def service_for(context: Any, usage: Consumption, settings: ServiceSettings) -> Service:
    """Return the service for one request, which must be answered within the function's time.

    context: Lambda's. usage: counts the request's DynamoDB calls.
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
