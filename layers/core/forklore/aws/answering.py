"""What HTTP and direct invocation share: the service for a request, with the request's time."""

from typing import Any

from forklore.api.operation import Service
from forklore.aws.wiring import Consumption, ServiceSettings, open_queue, open_table
from forklore.errors import UnavailableError

ANSWER_SECONDS = 3.0
"""The part of the function's time that is kept for sending the answer."""


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
