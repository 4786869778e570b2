"""What HTTP and direct invocation share: the service for one request, within time and limit."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from forklore_service.api.operation import Operation, Service
from forklore_service.aws.limiting import limiter
from forklore_service.aws.wiring import Consumption, ServiceSettings, open_queue, open_table
from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError
from forklore_service.limits import LINK_REQUESTS_PER_MINUTE

ANSWER_SECONDS = 3.0
"""The part of the function's time that is kept for sending the answer."""


@contextmanager
def admitted(
    operation: Operation, caller: Caller, context: Any, usage: Consumption, settings: ServiceSettings
) -> Iterator[Service]:
    """Yield the service for one request, within the function's time and the user's limit.

    context: Lambda's. usage: counts the request's DynamoDB calls.
    Raises UnavailableError if no time is left, TooManyRequestsError.
    """
    service = service_for(context, usage, settings)
    most = settings.user_requests_per_minute
    if operation.reads_link:
        most = most or LINK_REQUESTS_PER_MINUTE
    is_limited = most and operation.is_limited
    with limiter().admitted(service.table, caller.user_id, most) if is_limited else nullcontext():
        yield service


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
        deleted_days=settings.deleted_days,
        retention_days=settings.retention_days,
        justification_required=settings.justification_required,
        attachment_bytes_max=settings.attachment_bytes_max,
        user_attachment_bytes_max=settings.user_attachment_bytes_max,
    )
