"""Direct invocation: an operation's name, a caller and an input (docs/api.md).

IAM decides who may invoke the function. The request itself names its caller. The input is read and
checked by the same code as the HTTP API's requests.
"""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from forklore_service.api.inputs import operation_named, read_input
from forklore_service.api.operation import NOBODY, Operation
from forklore_service.api.responses import Response, error_response, response_to
from forklore_service.aws import running
from forklore_service.aws.audit import RequestRecord
from forklore_service.aws.identity import caller_named
from forklore_service.aws.telemetry import Stopwatch, log_request
from forklore_service.aws.wiring import Consumption, ServiceSettings
from forklore_service.domain.model import Caller
from forklore_service.domain.users import read_pattern
from forklore_service.errors import ForbiddenError, ValidationError

FIELDS = frozenset({"operation", "caller", "input", "async", "bodyJson"})
"""The fields of a request."""
ENVELOPE = frozenset(
    "version id detail-type source account time region resources detail replay-name".split()  # noqa: SIM905
)
"""The fields of an EventBridge event (EventBridge user guide, "AWS service event structure")."""
AGAIN = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
"""The statuses after which an asynchronous request is worth another attempt."""
INTEGER_DIGITS_MAX = 40
ALIAS_AT = 7
"""The place of an alias in the ARN of a function."""
_log = logging.getLogger("forklore")


class AgainError(Exception):
    """Makes Lambda retry an asynchronous request. The text holds nothing of the request."""


class _Request(NamedTuple):
    """A request with valid fields. caller, input: not yet checked. as_text: answer with `bodyJson`.

    delivery_id: names an asynchronous request and is the same for each delivery.
    """

    operation: Operation
    caller: object
    input: object
    as_text: bool
    delivery_id: str | None


def handle(event: object, context: Any) -> dict[str, Any]:
    """Return {"status", "body"}, or {"status", "bodyJson"} for a request with `"bodyJson": true`.

    Without a body it is null. Beside it is "askAgainMs" where the input has `wait`.
    Raises AgainError if an asynchronous request got a 429, 500 or 503, so that Lambda retries it.
    Raises RuntimeError for a wrong setting.
    """
    watch, usage = Stopwatch(), Consumption()
    settings = ServiceSettings.from_environment()
    request_id = str(context.aws_request_id)
    request: _Request | None = None
    try:
        request = _read(event, request_id)
    except ValidationError as error:
        response = error_response(error, request_id)
    else:
        record = RequestRecord(request.operation, usage=usage)
        try:
            response = _run(request, context, record, settings)
        except Exception as error:  # noqa: BLE001 (a bug is logged and answered)
            response = response_to(error, request_id)
        record.log(response.status, request_id, settings)
    log_request(
        request.operation if request else None,
        via="direct",
        status=response.status,
        error=response.error,
        request_id=request_id,
        lambda_id=request_id,
        watch=watch,
        usage=usage,
    )
    if _is_asynchronous(event):
        _settle(response, request.operation.name if request else None, request_id)
    result = _result(response, as_text=request is not None and request.as_text)
    return {**result, "askAgainMs": response.ask_again_ms} if _waits(request, response) else result


def _is_of_bus(event: object) -> bool:
    return isinstance(event, Mapping) and "detail-type" in event


def _is_asynchronous(event: object) -> bool:
    return isinstance(event, Mapping) and (_is_of_bus(event) or event.get("async") is True)


def _delivery_id(event: object, request_id: str) -> str | None:
    """Return the id of an asynchronous request, the same for each delivery; else None.

    EventBridge may deliver an event twice, with one id. Lambda's retry has the same request id.
    """
    if not _is_asynchronous(event):
        return None
    event_id = event.get("id") if isinstance(event, Mapping) and _is_of_bus(event) else None
    return f"event {event_id}" if isinstance(event_id, str) and event_id else f"request {request_id}"


def _read(event: object, request_id: str) -> _Request:
    """Return the request in `event`, or in the EventBridge event."""
    delivery_id = _delivery_id(event, request_id)
    if not isinstance(event, Mapping):
        raise ValidationError("a request is an object")
    if _is_of_bus(event):
        if not set(event) <= ENVELOPE or not isinstance(event.get("source"), str):
            raise ValidationError("this is no event of EventBridge")
        event = event.get("detail")
        if not isinstance(event, Mapping):
            raise ValidationError("a request is an object", field="detail")
    if not set(event) <= FIELDS:
        raise ValidationError(f"a request holds nothing but {', '.join(sorted(FIELDS))}")
    for name in ("async", "bodyJson"):
        if not isinstance(event.get(name, False), bool):
            raise ValidationError("must be true or false", field=name)
    operation = operation_named(event.get("operation"))
    as_text = event.get("bodyJson", False)
    return _Request(operation, event.get("caller"), event.get("input"), as_text, delivery_id)


def _run(request: _Request, context: Any, record: RequestRecord, settings: ServiceSettings) -> Response:
    operation = request.operation
    if isinstance(request.input, Mapping):
        record.path = record.query = request.input
    record.caller = caller = NOBODY if operation.is_public else caller_named(request.caller)
    if not operation.is_public:
        arn = getattr(context, "invoked_function_arn", "")  # a program's own test may have none
        _require_client(caller, arn, settings)
    given = read_input(operation, request.input)
    if operation.is_public:
        record.caller = caller = operation.without_credentials(given["path"])
    with running.admitted(operation, caller, context, record.usage, settings) as service:
        return operation(service, caller=caller, delivery_id=request.delivery_id, **given)


def _waits(request: _Request | None, response: Response) -> bool:
    """Tell whether a watcher asks, who has no header that says when to ask again."""
    given = request.input if request is not None else None
    return isinstance(given, Mapping) and "wait" in given and response.ask_again_ms is not None


def _require_client(caller: Caller, arn: str, settings: ServiceSettings) -> None:
    """Raise ForbiddenError if the caller's client may not send this request, or not for this user.

    arn: what was invoked. An alias of the function stands for the client of its name, because IAM
    can let a role invoke one alias and nothing else. A version stands for nobody. Where a client is
    limited, nobody has roles: they would lift the limit.
    """
    users = settings.direct_users
    client, alias = caller.client_id, "".join(arn.split(":")[ALIAS_AT:]).removeprefix("$LATEST")
    if caller.roles and (alias or users or not settings.direct_roles):
        raise ForbiddenError("this deployment lets no such direct invocation name roles")
    if alias and (alias != client or alias.isdecimal()):
        raise ForbiddenError("this alias of the function is for the client of its name alone")
    patterns = [pattern for of, pattern in users if of == client]
    if users and not any(read_pattern(one).fullmatch(caller.user_id) for one in patterns):
        raise ForbiddenError("this deployment does not let this client speak for this user")


def _settle(response: Response, operation: str | None, request_id: str) -> None:
    """Log the error of an asynchronous request, which has no caller to see it.

    Raises AgainError for a 429, 500 or 503. To send the request again helps with no other status.
    """
    if response.error is None:
        return
    status, code = response.status, response.error.code
    if status in AGAIN:
        raise AgainError(f"{operation}: {status} {code}, request {request_id}")
    fields = {"xRequestId": request_id, "operation": operation, "status": str(status), "code": code}
    _log.warning("refused", extra=fields)


def _result(response: Response, *, as_text: bool) -> dict[str, Any]:
    """Return the function's result. A body with a number beyond a double's range stays text."""
    if not response.text or as_text:
        return {"status": response.status, "bodyJson" if as_text else "body": response.text or None}
    try:
        body = json.loads(response.text, parse_float=_double, parse_int=_integer)
    except OverflowError:
        return {"status": response.status, "bodyJson": response.text}
    return {"status": response.status, "body": body}


def _double(digits: str) -> float:
    """Return the nearest double. Raises OverflowError if there is none."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise OverflowError
    return number


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else _double(digits)
