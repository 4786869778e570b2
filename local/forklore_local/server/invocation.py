"""What Lambda does around a handler: import, context, JSON in both directions, payload limits."""

import importlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from forklore_local.server.routing import Function

PAYLOAD_BYTES_MAX = 6_291_556  # Lambda quotas: 6 MB each way; this is the figure in the service's own error

Handler = Callable[[Any, Any], Any]


class EventTooLargeError(Exception):
    """The event is over Lambda's payload limit; the handler was not called."""


class HandlerError(Exception):
    """The handler raised an error (see `__cause__`), or its answer is not JSON or is too large."""


class LambdaContext:
    """The second argument of a handler; the function's timeout counts from when this is made.

    Source: Lambda developer guide, "Using the Lambda context object to retrieve Python function
    information".
    """

    function_version = "$LATEST"
    log_stream_name = "local"
    identity = None
    client_context = None

    def __init__(self, function: Function) -> None:
        self.aws_request_id = str(uuid.uuid4())
        self.function_name = function.name
        self.invoked_function_arn = f"arn:aws:lambda:us-east-1:000000000000:function:{function.name}"
        self.log_group_name = f"/aws/lambda/{function.name}"
        self.memory_limit_in_mb = str(function.memory_mb)  # Lambda's is a string too
        self._deadline = time.monotonic() + function.timeout_seconds

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function's timeout, never below 0."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def load_handler(function: Function) -> Handler:
    """Return the function's handler, importing its module. Raises ImportError or AttributeError."""
    handler: Handler = getattr(importlib.import_module(function.module), function.attribute)
    return handler


def invoke(function: Function, handler: Handler, event: dict[str, Any]) -> Any:
    """Return the handler's answer as JSON values. The event and the answer pass through JSON text.

    Raises EventTooLargeError, HandlerError.
    """
    sent = json.dumps(event, ensure_ascii=False).encode()
    if len(sent) > PAYLOAD_BYTES_MAX:
        raise EventTooLargeError
    try:
        answer = handler(json.loads(sent), LambdaContext(function))
        received = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except BaseException as error:  # also SystemExit, which must not end this process
        raise HandlerError("raised, or returned what JSON cannot hold") from error
    if len(received) > PAYLOAD_BYTES_MAX:
        raise HandlerError(f"answered {len(received)} bytes; the limit is {PAYLOAD_BYTES_MAX}")
    return json.loads(received)
