"""The handlers of the functions.

This module says which operations each HTTP function serves, and what the other functions run.

`functions/NAME/app.py` takes its handler from here, and so does the local server. A handler is made
when its name is imported, so each function loads only the modules that it needs.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forklore_service.api.operation import Operation
    from forklore_service.aws.http import HttpApi

Handler = Callable[[Any, Any], Any]


def operations_of(function: str) -> "tuple[Operation, ...]":
    """Return the operations that an HTTP function serves.

    Raises LookupError if there is no HTTP function of this name.
    """
    match function:
        case "conversations":
            from forklore_service.api.operations import conversations, search

            return (*conversations.OPERATIONS, *search.OPERATIONS)
        case "entries":
            from forklore_service.api.operations import (
                answer_logs,
                attachments,
                copying,
                entries,
                linked,
                names,
            )

            return (
                *entries.OPERATIONS,
                *answer_logs.OPERATIONS,
                *copying.OPERATIONS,
                *linked.OPERATIONS,
                *names.OPERATIONS,
                *attachments.OPERATIONS,
                *attachments.CONTENT_ROUTES,
            )
        case "sharing":
            from forklore_service.api.operations import notes, sharing

            return (*sharing.OPERATIONS, *sharing.BY_PATH, *notes.OPERATIONS)
        case "admin":
            from forklore_service.api.operations import admin

            return admin.OPERATIONS
    raise LookupError(f"no HTTP function {function!r}")


def http_api(function: str) -> "HttpApi":
    """Return what an HTTP function serves. Raises LookupError as `operations_of` does."""
    from forklore_service.aws.http import HttpApi

    return HttpApi(operations_of(function))


def __getattr__(name: str) -> Handler:
    """Return the handler of the function `name`."""
    match name:
        case "conversations" | "entries" | "sharing" | "admin":
            return http_api(name).handle
        case "agent":
            from forklore_service.api import operations
            from forklore_service.aws.direct import handle

            assert operations.ALL  # loaded before the first request
            return handle
        case "delete_group":
            return _delete_group()
        case "sweep":
            return _sweep()
        case "publish":
            from forklore_service.aws.stream import publish

            return publish
        case "embed":
            from forklore_service.aws.embedding import embed

            return embed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _delete_group() -> Handler:
    """Return the handler of the queue's messages."""
    from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

    from forklore_service.aws import jobs
    from forklore_service.aws.wiring import ServiceSettings

    def handle(event: dict[str, Any], context: Any) -> Any:
        """Return which messages failed. Those come again, the others do not."""
        # A wrong setting fails all messages at once, so that all of them come again.
        settings = ServiceSettings.from_environment()

        def do_message(record: SQSRecord) -> None:
            jobs.do_message(record.body, context, settings)

        processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
        return process_partial_response(event, do_message, processor, context)

    return handle


def _sweep() -> Handler:
    from forklore_service.aws import jobs

    def handle(_event: Any, context: Any) -> None:
        jobs.sweep(context)

    return handle
