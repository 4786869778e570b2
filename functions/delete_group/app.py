"""Delete fork trees and rewrite their owners. Each message is worked on as long as time allows."""

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from forklore.aws import jobs
from forklore.aws.wiring import ServiceSettings


def handler(event: dict[str, Any], context: Any) -> Any:
    """Return which messages failed. SQS delivers only these again.

    Raises RuntimeError for a wrong setting. Then SQS delivers all messages again.
    """
    settings = ServiceSettings.from_environment()

    def do_message(record: SQSRecord) -> None:
        jobs.do_message(record.body, context, settings)

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event, do_message, processor, context)
