"""Direct invocation: an operation, a caller and its input to a status and a body (docs/api.md).

Who may invoke the function is decided by IAM; whom the request speaks for is a part of it. What the operation
is given is read and checked by the very code that reads and checks the HTTP API's requests.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from forklore.api.answers import to_json
from forklore.api.operation import Operation, RawRequest
from forklore.api.operations import ALL
from forklore.api.requests import KEPT_AS_TEXT
from forklore.aws.answering import BODY_CHARACTERS_MAX, NOBODY, Answered, answer, refusal, service_for
from forklore.aws.audit import RequestRecord
from forklore.aws.identity import caller_named
from forklore.aws.telemetry import Stopwatch, log_request
from forklore.aws.wiring import Consumption, ServiceSettings
from forklore.domain.jsontext import JsonText, check_value, read_object, text_of
from forklore.domain.model import Caller
from forklore.errors import ForbiddenError, PayloadTooLargeError, ValidationError

MEMBERS = frozenset({"operation", "caller", "input", "async", "bodyJson"})
"""What a request may hold."""
ENVELOPE = frozenset(
    "version id detail-type source account time region resources detail replay-name".split()  # noqa: SIM905
)
"""What EventBridge puts around a request (EventBridge user guide, "AWS service event structure")."""
KEY, MATCH, SPELLED = "idempotencyKey", "ifMatch", "contentJson"
INTEGER_DIGITS_MAX = 40
_log = logging.getLogger("forklore")


class AgainError(Exception):
    """An asynchronous request that is to be sent again; the text holds nothing of it."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request whose own members are right. caller, input: not yet checked.

    delivery_id: names an asynchronous request, however often it is delivered.
    """

    operation: Operation
    caller: object
    input: object
    as_text: bool
    delivery_id: str | None


def handle(event: object, context: Any) -> dict[str, Any]:
    """Return {"status", "body"}, or with `"bodyJson": true` {"status", "bodyJson"}; null without a body.

    Raises AgainError where an asynchronous request got a 500 or 503, so that Lambda sends it again.
    """
    watch, usage = Stopwatch(), Consumption()
    settings = (
        ServiceSettings.from_environment()
    )  # a wrong one is no request's fault: Lambda's log says what to set
    request_id = str(context.aws_request_id)
    request: _Request | None = None
    try:
        request = _read(event, request_id)
    except ValidationError as error:
        answered = refusal(error, request_id)
    else:
        record = RequestRecord(request.operation, usage=usage)
        answered = answer(lambda: _run(request, context, record, settings), request_id)
        record.log(answered.status, request_id)
    log_request(
        request.operation if request else None,
        via="direct",
        status=answered.status,
        error=answered.error,
        request_id=request_id,
        watch=watch,
        usage=usage,
    )
    if _is_asynchronous(event):
        _settle(answered, request.operation.name if request else None, request_id)
    return _shown(answered, as_text=request is not None and request.as_text)


def _is_of_bus(event: object) -> bool:
    return isinstance(event, Mapping) and "detail-type" in event


def _is_asynchronous(event: object) -> bool:
    return isinstance(event, Mapping) and (_is_of_bus(event) or event.get("async") is True)


def _delivery_id(event: object, request_id: str) -> str | None:
    """Return what names an asynchronous request over all its deliveries; None if somebody waits for it.

    EventBridge may send an event twice, with one id; Lambda keeps its request id when it tries again.
    """
    if not _is_asynchronous(event):
        return None
    event_id = event.get("id") if isinstance(event, Mapping) and _is_of_bus(event) else None
    return f"event {event_id}" if isinstance(event_id, str) and event_id else f"request {request_id}"


def _read(event: object, request_id: str) -> _Request:
    """Return the request that `event` is, or that an event of EventBridge holds. Raises ValidationError."""
    delivery_id = _delivery_id(event, request_id)
    if not isinstance(event, Mapping):
        raise ValidationError("a request is an object")
    if _is_of_bus(event):
        if not set(event) <= ENVELOPE or not isinstance(event.get("source"), str):
            raise ValidationError("this is no event of EventBridge")
        event = event.get("detail")
        if not isinstance(event, Mapping):
            raise ValidationError("a request is an object", field="detail")
    if not set(event) <= MEMBERS:
        raise ValidationError(f"a request holds nothing but {', '.join(sorted(MEMBERS))}")
    for name in ("async", "bodyJson"):
        if not isinstance(event.get(name, False), bool):
            raise ValidationError("must be true or false", field=name)
    for operation in ALL:
        if operation.name == event.get("operation"):
            as_text = event.get("bodyJson", False)
            return _Request(operation, event.get("caller"), event.get("input"), as_text, delivery_id)
    raise ValidationError("there is no such operation", field="operation")


def _run(
    request: _Request, context: Any, record: RequestRecord, settings: ServiceSettings
) -> tuple[int, str]:
    """Return the answer's status and text. Raises a ForkloreError for what the caller is told instead."""
    operation = request.operation
    if isinstance(request.input, Mapping):
        record.path = record.query = request.input
    record.caller = caller = NOBODY if operation.is_public else caller_named(request.caller)
    if caller.roles and not settings.direct_roles:
        raise ForbiddenError("this deployment lets no direct invocation name roles")
    return operation(service_for(context, record.usage, settings), _asked(request, caller))


def _asked(request: _Request, caller: Caller) -> RawRequest:
    """Return the request that `input` makes: the path's names, the query's, and all others for the body.

    An operation without a body has them in its query, where they are unknown.

    Raises ValidationError, PayloadTooLargeError.
    """
    operation, given = request.operation, request.input
    if not isinstance(given, Mapping | None):
        raise ValidationError("must be an object", field="input")
    fields = dict(given or {})
    key = _taken(fields, KEY) if operation.takes_idempotency_key else None
    match = _taken(fields, MATCH) if operation.takes_if_match else None
    text = to_json(_spelled(fields))
    if len(text) > BODY_CHARACTERS_MAX:
        raise PayloadTooLargeError(f"an input is at most {BODY_CHARACTERS_MAX} characters of JSON")
    body = read_object(text, kept=KEPT_AS_TEXT)
    path = {name: _named(body.pop(name, None), name) for name in operation.path_names}
    known = operation.query_names
    query = {name: body.pop(name) for name in list(body) if operation.body is None or name in known}
    return RawRequest(
        caller=caller,
        path=path,
        query={name: held for name, held in query.items() if held is not None or name not in known},
        body=body,
        idempotency_key=key,
        if_match=match if match is None or match.startswith('"') else f'"{match}"',
        delivery_id=request.delivery_id,
    )


def _taken(fields: dict[str, Any], name: str) -> str | None:
    value = fields.pop(name, None)
    if not isinstance(value, str | None):
        raise ValidationError("must be text", field=name)
    return value


def _named(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValidationError("must be text", field=name)
    return value


def _spelled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input's members as JSON text, with `contentJson` as the `content` that it spells."""
    spelled: dict[str, Any] = _with_content(fields)
    entries = fields.get("entries")
    if isinstance(entries, list):
        spelled["entries"] = [_with_content(e) if isinstance(e, Mapping) else text_of(e) for e in entries]
    return spelled


def _with_content(fields: Mapping[str, Any]) -> dict[str, JsonText]:
    texts = {name: text_of(held) for name, held in fields.items() if name != SPELLED}
    content = fields.get(SPELLED)
    if content is None:
        return texts
    if not isinstance(content, str):
        raise ValidationError("must be text", field=SPELLED)
    if fields.get("content") is not None:
        raise ValidationError("content and contentJson exclude each other", field=SPELLED)
    # Read alone first: what is no JSON by itself could end its place in the object and begin another member.
    return {**texts, "content": check_value(content)}


def _settle(answered: Answered, operation: str | None, request_id: str) -> None:
    """Log what nobody is told. Raises AgainError for what Lambda is to send again."""
    if answered.error is None:
        return
    status, code = answered.status, answered.error.code
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise AgainError(f"{operation}: {status} {code}, request {request_id}")
    fields = {"xRequestId": request_id, "operation": operation, "status": str(status), "code": code}
    _log.warning("refused", extra=fields)


def _shown(answered: Answered, *, as_text: bool) -> dict[str, Any]:
    """Return what the function answers; text where a number of the body is beyond a double."""
    if not answered.text or as_text:
        return {"status": answered.status, "bodyJson" if as_text else "body": answered.text or None}
    try:
        body = json.loads(answered.text, parse_float=_double, parse_int=_integer)
    except OverflowError:
        return {"status": answered.status, "bodyJson": answered.text}
    return {"status": answered.status, "body": body}


def _double(digits: str) -> float:
    """Return the nearest double. Raises OverflowError where there is none."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise OverflowError
    return number


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else _double(digits)
