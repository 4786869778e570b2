"""HTTP through API Gateway: events to operations, answers and errors to responses."""

import base64
import contextvars
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeGuard
from urllib.parse import parse_qsl

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response, content_types
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from forklore.api import operations
from forklore.api.operation import Operation, RawRequest
from forklore.api.requests import KEPT_AS_TEXT
from forklore.aws.answering import (
    BODY_CHARACTERS_MAX,
    NOBODY,
    Answered,
    answer,
    refusal,
    service_for,
)
from forklore.aws.audit import RequestRecord
from forklore.aws.identity import caller_of
from forklore.aws.telemetry import Stopwatch, log_request
from forklore.aws.wiring import Consumption, ServiceSettings, served_api
from forklore.domain.jsontext import read_object
from forklore.errors import (
    ForkloreError,
    MethodNotAllowedError,
    NotFoundError,
    PayloadTooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
    ValidationError,
)

OPTIONS = "OPTIONS"
JSON_BLANKS = " \t\r\n"
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:=+/-]{1,128}")
_TEXTS, _MEMBERS = ("rawPath", "rawQueryString", "body"), ("headers", "pathParameters")

_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
_INSTEAD = (
    (
        re.compile("/v1/conversations/[^/]+/entries(/.*)?"),
        "entries are append-only: none is changed or deleted; to edit one, fork the conversation at it",
    ),
    (
        re.compile("/v1/conversations/[^/]+/memberships/.*"),
        "no such route; name the member in the query, percent-encoded: …/memberships?userId=",
    ),
)
"""What is told of changes to paths that callers may look for: the path, and what there is instead."""

Event = Mapping[str, Any]


class Resolver(APIGatewayHttpResolver):
    """Powertools' resolver, safe under threads, for routes that API Gateway has matched.

    Powertools keeps the current event on the class, where a second request would replace it, and builds a
    route's middleware in its first request, where a second one would build it again. The local server
    answers many at a time in one process: here each thread's own request is the current one, and the
    middleware is built beforehand.
    """

    _request: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("request")

    @property
    def current_event(self) -> APIGatewayProxyEventV2:  # type: ignore[override]
        return APIGatewayProxyEventV2(self._request.get()["event"])

    @property
    def lambda_context(self) -> Any:  # type: ignore[override]
        return self._request.get()["lambda_context"]

    @property
    def context(self) -> dict[Any, Any]:
        held: dict[Any, Any] = self._request.get({"context": {}})["context"]
        return held

    @context.setter
    def context(self, value: dict[Any, Any]) -> None:
        """Powertools sets an empty one when it is made; ours comes with each request."""

    def resolve(self, event: Event, context: Any) -> dict[str, Any]:
        ServiceSettings.from_environment()  # a wrong one is no request's fault: Lambda's log says what to set
        if not _is_of_http_api(event, served_api()):
            return _refuse_event(context)
        routed = {**event, "rawPath": _pattern(event["routeKey"])}
        token = self._request.set({"event": routed, "lambda_context": context, "context": {}})
        try:
            return super().resolve(routed, context)
        finally:
            self._request.reset(token)


def _is_of_http_api(event: object, api_id: str) -> TypeGuard[Event]:
    """Tell whether this is an event of that HTTP API, payload format 2.0, part by part as it is read here.

    Another one, such as a forged or misdirected invocation, must find no default that it could run on.
    """
    if not isinstance(event, Mapping) or event.get("version") != "2.0":
        return False
    context = event.get("requestContext")
    return (
        isinstance(context, Mapping)
        and context.get("apiId") == api_id
        and isinstance(event.get("routeKey"), str)
        and isinstance(context.get("stage"), str)
        and all(isinstance(event.get(name), str | None) for name in _TEXTS)
        and all(_is_texts(event.get(name)) for name in _MEMBERS)
        and all(isinstance(_part(context, "http").get(name), str) for name in ("method", "path"))
        and isinstance(context.get("authorizer"), Mapping | None)
        and isinstance(_part(context, "authorizer").get("lambda"), Mapping | None)
    )


def _part(context: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = context.get(name)
    return part if isinstance(part, Mapping) else {}


def _is_texts(value: object) -> bool:
    return value is None or (isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()))


def _no_event_of_ours() -> ValidationError:
    return ValidationError("this is no event of the HTTP API")


def _refuse_event(context: Any) -> dict[str, Any]:
    request_id = _request_id({}, context)
    refused = refusal(_no_event_of_ours(), request_id)
    log_request(
        None,
        via="http",
        status=refused.status,
        error=refused.error,
        request_id=request_id,
        watch=Stopwatch(),
        usage=Consumption(),
    )
    return {
        "statusCode": refused.status,
        "headers": {"Content-Type": content_types.APPLICATION_JSON, "X-Request-Id": request_id},
        "body": refused.text,
        "isBase64Encoded": False,
    }


def _pattern(route_key: str) -> str:
    """Return the path that Powertools is to match: the gateway's route, its parameters by name.

    The gateway has matched the request already, and has read the path's parameters and decoded them.
    """
    path = route_key.partition(" ")[2] or "/"
    return path.replace("{", "").replace("}", "")


def resolver_for(served: Iterable[Operation]) -> Resolver:
    """Return a resolver with a route for each operation; anything else is 404 or 405 in our own shape."""
    app = Resolver()

    def route(operation: Operation) -> Callable[..., Response[str]]:
        def respond(**_names: str) -> Response[str]:
            record = RequestRecord(operation)
            return _respond(app, lambda event: _run(app, event, record), record)

        return respond

    for operation in served:
        rule = re.sub(r"\{(\w+)\}", r"<\1>", operation.path)
        app.route(rule, method=operation.method)(route(operation))

    def not_found(_error: Exception) -> Response[str]:
        def refuse(event: Event) -> tuple[int, str]:
            if is_preflight:
                return HTTPStatus.NO_CONTENT, ""
            raise _no_route(event)

        methods = _methods_of(app.current_event.raw_event)
        is_preflight = bool(methods) and app.current_event.http_method == OPTIONS
        response = _respond(app, refuse)
        if is_preflight:
            response.headers["Allow"] = ", ".join(methods)
        return response

    app.not_found(not_found)
    for made in app._static_routes + app._dynamic_routes:
        made._build_middleware_stack([], app)
    return app


def _run(app: Resolver, event: Event, record: RequestRecord) -> tuple[int, str]:
    operation = record.operation
    record.path = path = event.get("pathParameters") or {}
    record.caller = caller = NOBODY if operation.is_public else caller_of(event)
    if not path.keys() >= set(operation.path_names):
        raise _no_event_of_ours()
    headers = app.current_event.headers
    record.query = query = read_query(event.get("rawQueryString") or "")
    raw = RawRequest(
        caller=caller,
        path=path,
        query=query,
        body=read_body(event, headers) if operation.body or _has_body(event) else {},
        idempotency_key=headers.get("idempotency-key"),
        if_match=headers.get("if-match"),
    )
    return operation(service_for(app.lambda_context, record.usage, ServiceSettings.from_environment()), raw)


def _has_body(event: Event) -> bool:
    """Tell whether there is a body, which may say much or nothing. Its absence has no media type."""
    return bool((event.get("body") or "").strip(JSON_BLANKS))


def read_query(raw: str) -> dict[str, str]:
    """Return the query parameters. Raises ValidationError for one that is repeated or no UTF-8."""
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as error:
        raise ValidationError("the query string cannot be read") from error
    query = dict(pairs)
    if len(query) != len(pairs):
        raise ValidationError("a query parameter is repeated")
    return query


def read_body(event: Event, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the members of the JSON object in the body; an absent body is an empty object.

    Raises UnsupportedMediaTypeError for another content type, ValidationError for anything but an object.
    """
    raw = event.get("body") or ""
    if len(raw) > BODY_CHARACTERS_MAX:
        raise PayloadTooLargeError(f"a body is at most {BODY_CHARACTERS_MAX} characters")
    media_type = (headers.get("content-type") or "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaTypeError("the body must be application/json")
    if event.get("isBase64Encoded"):
        try:
            raw = base64.b64decode(raw, validate=True).decode()
        except ValueError as error:
            raise ValidationError("the body is not UTF-8") from error
    return read_object(raw, kept=KEPT_AS_TEXT) if raw.strip(JSON_BLANKS) else {}


def _no_route(event: Event) -> ForkloreError:
    http = event["requestContext"]["http"]
    method, allowed = http["method"], _methods_of(event)
    told = [text for path, text in _INSTEAD if method in _CHANGES and path.fullmatch(http["path"])]
    if not allowed or method in allowed:
        return NotFoundError(*(told or ["no such route"]))
    return MethodNotAllowedError(*(told or [f"{method} is not for this path"]), allow=", ".join(allowed))


def _methods_of(event: Event) -> list[str]:
    """Return the methods of the event's path, sorted; none if there is no such path.

    OPTIONS is one of each: API Gateway may hand a browser's preflight on to the `$default` route, and adds
    the CORS headers to what is answered here.
    """
    path = event["requestContext"]["http"]["path"]
    methods = {operation.method for operation in operations.ROUTES if _rule(operation.path).fullmatch(path)}
    return sorted({*methods, OPTIONS}) if methods else []


def _rule(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))


def _respond(
    app: Resolver, run: Callable[[Event], tuple[int, str]], record: RequestRecord | None = None
) -> Response[str]:
    """Return the answer, or the error in its place, with the request's id."""
    watch = Stopwatch()
    event = app.current_event.raw_event
    request_id = _request_id(app.current_event.headers, app.lambda_context)
    answered = answer(lambda: run(event), request_id)
    if record is not None:
        record.log(answered.status, request_id)
    log_request(
        record.operation if record else None,
        via="http",
        status=answered.status,
        error=answered.error,
        request_id=request_id,
        watch=watch,
        usage=record.usage if record else Consumption(),
        method=app.current_event.http_method,
    )
    headers = {"X-Request-Id": request_id, "Cache-Control": "no-store", **_headers_of(answered)}
    body = answered.text
    return Response(answered.status, content_types.APPLICATION_JSON if body else None, body, headers)


def _headers_of(answered: Answered) -> dict[str, str]:
    match answered.error:
        case UnauthorizedError():
            return {"WWW-Authenticate": "Bearer"}
        case UnavailableError() as error:
            return {"Retry-After": str(error.retry_after_s)}
        case MethodNotAllowedError() as error:
            return {"Allow": str(error.details["allow"])}
        case _:
            return {}


def _request_id(headers: Mapping[str, str], context: Any) -> str:
    """Return the id that the caller sent, or Lambda's own, which is on every line that the service writes."""
    for candidate in (headers.get("x-request-id") or "", str(context.aws_request_id)):
        if _REQUEST_ID.fullmatch(candidate):
            return candidate
    return str(uuid.uuid4())
