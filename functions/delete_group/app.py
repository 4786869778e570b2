"""Delete fork trees and rewrite their owners, a message at a time; each is as long a step as time allows."""

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from forklore.aws import jobs
from forklore.aws.wiring import ServiceSettings


def handler(event: dict[str, Any], context: Any) -> Any:
    """Return which messages failed; they come again, the others do not."""

    settings = ServiceSettings.from_environment()  # a wrong one fails all messages at once: they come again

    def do_message(record: SQSRecord) -> None:
        jobs.do_message(record.body, context, settings)

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, do_message, processor, context)
