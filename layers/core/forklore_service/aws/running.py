"""What HTTP and direct invocation share: an operation is run, within time and the user's limit."""

from typing import Any

from forklore_service.api.operation import Operation, RawRequest, Service
from forklore_service.aws.limiting import limiter
from forklore_service.aws.wiring import Consumption, ServiceSettings, open_queue, open_table
from forklore_service.errors import UnavailableError

ANSWER_SECONDS = 3.0
"""The part of the function's time that is kept for sending the answer."""


def run(
    operation: Operation, raw: RawRequest, context: Any, usage: Consumption, settings: ServiceSettings
) -> tuple[int, str]:
    """Return the status and the text of the operation's answer.

    context: Lambda's. usage: counts the request's DynamoDB calls.
    Raises a ForkloreError, such as TooManyRequestsError.
    """
    service = service_for(context, usage, settings)
    per_minute = settings.user_requests_per_minute if operation.is_limited else 0
    with limiter().admitted(service.table, raw.caller.user_id, per_minute):
        return operation(service, raw)


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
