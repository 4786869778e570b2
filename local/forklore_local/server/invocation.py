"""What Lambda does around a handler: import, context, JSON in both directions, payload limits."""

import importlib
import json
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from forklore_local.server.asgi import Response
from forklore_local.server.payload import answered
from forklore_local.server.routing import Function
from forklore_service.aws.http import HttpApi
from forklore_service.aws.http_events import HttpEvent

PAYLOAD_BYTES_MAX = 6_291_556  # Lambda quotas: 6 MB each way; this is the figure in the service's own error

CHARACTER_BYTES_MAX = 6
"""What a character of a text takes in JSON at the most: a control character is escaped."""

Handler = Callable[[Any, Any], Any]


class EventTooLargeError(Exception):
    """The event is over Lambda's payload limit; the handler was not called."""


class HandlerError(Exception):
    """The handler raised an error (see `__cause__`), or its answer is not JSON or is too large."""


class NotAtOnceError(BaseException):
    """A request that was to be answered at once would have to sleep. No part of it catches this."""


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
    sent, size = _through_json(event)
    if size > PAYLOAD_BYTES_MAX:
        raise EventTooLargeError
    try:
        received, size = _through_json(handler(sent, LambdaContext(function)))
    except NotAtOnceError:
        raise
    except BaseException as error:  # also SystemExit, which must not end this process
        raise HandlerError("raised, or returned what JSON cannot hold") from error
    if size > PAYLOAD_BYTES_MAX:
        raise HandlerError(f"answered {size} bytes; the limit is {PAYLOAD_BYTES_MAX}")
    return received


def ask(function: Function, api: HttpApi, request: HttpEvent) -> Response:
    """Return the answer of a function of forklore's own, as it would be through Lambda.

    The request must be within Lambda's limit. Raises HandlerError.
    """
    try:
        answer = api.answer(request, LambdaContext(function))
        response = answered(answer)
    except NotAtOnceError:
        raise
    except BaseException as error:
        raise HandlerError("raised, or returned what cannot be sent") from error
    if len(response.body) * CHARACTER_BYTES_MAX > PAYLOAD_BYTES_MAX:
        _, size = _through_json(answer._asdict())
        if size > PAYLOAD_BYTES_MAX:
            raise HandlerError(f"answered {size} bytes; the limit is {PAYLOAD_BYTES_MAX}")
    return response


_of_thread = threading.local()


def at_once(asking: Callable[[], Response]) -> Response:
    """Return an answer without any sleep. Raises NotAtOnceError, and what `asking` raises."""
    _of_thread.is_hasty = True
    try:
        return asking()
    finally:
        _of_thread.is_hasty = False


def sleep(seconds: float) -> None:
    """Sleep, where the store is asked. Raises NotAtOnceError inside `at_once`."""
    if getattr(_of_thread, "is_hasty", False):
        raise NotAtOnceError
    time.sleep(seconds)


def _through_json(message: Any) -> tuple[Any, int]:
    """Return what JSON text keeps of a message, and how many bytes the text takes.

    One that takes more than PAYLOAD_BYTES_MAX is not read. A body is text, which JSON keeps as it
    is: one that cannot be too large is not written, and counts with the most bytes it may take.
    """
    body = message.get("body") if isinstance(message, dict) else None
    if isinstance(body, str):
        rest = json.dumps({**message, "body": ""}, ensure_ascii=False, allow_nan=False).encode()
        size = len(rest) + len(body) * CHARACTER_BYTES_MAX
        if size <= PAYLOAD_BYTES_MAX:
            return {**json.loads(rest), "body": body}, size
    text = json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    return None if len(text) > PAYLOAD_BYTES_MAX else json.loads(text), len(text)
