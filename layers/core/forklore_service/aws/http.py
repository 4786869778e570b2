"""HTTP through API Gateway: the routes of a function, and the way from an event to a response."""

import re
import uuid
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from forklore_service.api import operations
from forklore_service.api.operation import Operation
from forklore_service.api.responses import Response, error_response, response_to
from forklore_service.aws import running
from forklore_service.aws.audit import RequestRecord
from forklore_service.aws.http_events import HttpEvent, not_an_http_event, read_body, read_event, read_query
from forklore_service.aws.identity import caller_of
from forklore_service.aws.telemetry import Stopwatch, log_request, of_dynamodb, writes_lines
from forklore_service.aws.wiring import UNREAD, Consumption, ServiceSettings, served_api
from forklore_service.errors import (
    ForkloreError,
    MethodNotAllowedError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    ValidationError,
)

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:=+/-]{1,128}")
COST = "forklore-cost"
"""The header by which a request asks what it costs, and the one of the answer that says it."""
OPTIONS = "OPTIONS"
_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
_HINTS = (
    (
        re.compile("/v1/conversations/[^/]+/entries(/[^/]*)?"),
        "entries are append-only: none is changed or deleted; to edit one, fork the conversation at it",
    ),
    (
        re.compile("/v1/conversations/[^/]+/memberships/.*"),
        "no such route; name the member in the query, percent-encoded: …/memberships?userId=",
    ),
)
"""Paths that callers may try to change, each with a message that says what to do instead."""
UNSEEN = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
"""Headers of what is read by a link, whose address is a secret."""
_JSON = {"Content-Type": "application/json"}


class HttpAnswer(NamedTuple):
    """What the caller gets, as API Gateway expects it of a function: payload format 2.0."""

    statusCode: int  # noqa: N815
    body: str
    headers: Mapping[str, str]
    isBase64Encoded: bool = False  # noqa: N815
    cookies: tuple[str, ...] = ()


class HttpApi:
    """The operations that one function serves, by route key: `GET /v1/health`.

    API Gateway has matched the request and says which route it takes. Its other requests go to the
    `$default` route. The object is never changed, so threads can share it.
    """

    def __init__(self, served: Iterable[Operation]) -> None:
        self._routes = {f"{one.method} {one.path}": one for one in served}
        paths = {one.path for one in self._routes.values()}
        self._closer = {path: [other for other in paths if is_closer(other, path)] for path in paths}

    def handle(self, event: object, context: Any) -> dict[str, Any]:
        """Return the response to an event. context: Lambda's.

        Raises RuntimeError for a wrong setting. Lambda logs its message, which says what to set.
        """
        try:
            request = read_event(event, served_api())
        except ValidationError as error:
            return _refuse_event(error, context)._asdict()
        return self.answer(request, context)._asdict()

    def answer(self, request: HttpEvent, context: Any) -> HttpAnswer:
        """Return the answer to a request, of which a gateway may have made an event.

        Raises as `handle` does.
        """
        settings, watch = ServiceSettings.from_environment(), Stopwatch()
        operation = self._routes.get(request.route_key)
        # `PATCH /v1/conversations/search` names no conversation, though API Gateway finds that
        # route: a path without that parameter fits, which has no operation of this method.
        if operation is None or any(fits(other, request.path) for other in self._closer[operation.path]):
            return _refuse_route(request, context, watch)
        is_read = writes_lines() or COST in request.headers
        record = RequestRecord(operation, usage=Consumption() if is_read else UNREAD)
        request_id = _request_id(request.headers, context)
        try:
            response = _run(request, context, record, settings)
        except Exception as error:  # noqa: BLE001 (a bug is logged and answered)
            response = response_to(error, request_id)
        record.log(response.status, request_id, settings)
        _log(request, response, request_id, context, watch, record)
        more = _cost(record.usage) if COST in request.headers else {}
        return _http_response(response, request_id, more | (UNSEEN if operation.reads_link else {}))


def _run(request: HttpEvent, context: Any, record: RequestRecord, settings: ServiceSettings) -> Response:
    operation = record.operation
    record.path = path = request.path_parameters
    is_public = operation.is_public
    record.caller = caller = (
        operation.without_credentials(path) if is_public else caller_of(request.authorizer)
    )
    if not path.keys() >= set(operation.path_names):
        raise not_an_http_event()
    record.query = query = read_query(request.query_string)
    record.body = body = read_body(request) if operation.body or request.has_body else {}
    with running.admitted(operation, caller, context, record.usage, settings) as service:
        return operation(
            service,
            caller=caller,
            path=path,
            query=query,
            body=body,
            idempotency_key=request.headers.get("idempotency-key"),
            if_match=request.headers.get("if-match"),
            if_none_match=request.headers.get("if-none-match"),
        )


def _refuse_event(error: ValidationError, context: Any) -> HttpAnswer:
    """Return the response to an event that is not of the HTTP API."""
    watch = Stopwatch()
    request_id = _request_id({}, context)
    response = error_response(error, request_id)
    _log(None, response, request_id, context, watch)
    return _http_response(response, request_id)


def _refuse_route(request: HttpEvent, context: Any, watch: Stopwatch) -> HttpAnswer:
    """Return the response to a request that no operation of this function serves."""
    request_id = _request_id(request.headers, context)
    headers = {}
    methods = _methods_of(request.path)
    if methods and request.method == OPTIONS:
        response, headers = Response(204, ""), {"Allow": ", ".join(methods)}
    else:
        response = error_response(_unrouted(request, methods), request_id)
    _log(request, response, request_id, context, watch)
    return _http_response(response, request_id, headers)


def _log(
    request: HttpEvent | None,
    response: Response,
    request_id: str,
    context: Any,
    watch: Stopwatch,
    record: RequestRecord | None = None,
) -> None:
    log_request(
        record.operation if record else None,
        via="http",
        status=response.status,
        error=response.error,
        request_id=request_id,
        lambda_id=str(context.aws_request_id),
        watch=watch,
        usage=record.usage if record else Consumption(),
        method=request.method if request else None,
    )


def _cost(usage: Consumption) -> dict[str, str]:
    """Return the header that says what the request has used of DynamoDB."""
    return {"Forklore-Cost": ", ".join(f"{name}={used:g}" for name, used in of_dynamodb(usage).items())}


def _request_id(headers: Mapping[str, str], context: Any) -> str:
    """Return the id that the caller sent, else Lambda's own request id."""
    for candidate in (headers.get("x-request-id") or "", str(context.aws_request_id)):
        if _REQUEST_ID.fullmatch(candidate):
            return candidate
    return str(uuid.uuid4())


def _http_response(
    response: Response, request_id: str, headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """Return the response with the headers of every response. headers: further ones."""
    every = {
        "X-Request-Id": request_id,
        "Cache-Control": "no-store",
        **_headers_of(response),
        **(headers or {}),
        **(_JSON if response.text else {}),
    }
    return HttpAnswer(response.status, response.text, every)


def _headers_of(response: Response) -> dict[str, str]:
    """Return the headers that a watcher or the error needs."""
    match response.error:
        case None if response.tag:
            led = {"Location": response.location} if response.location else {}
            return {"ETag": f'"{response.tag}"', "Forklore-Ask-Again-Ms": str(response.ask_again_ms), **led}
        case UnauthorizedError():
            return {"WWW-Authenticate": "Bearer"}
        case (UnavailableError() | TooManyRequestsError()) as error:
            return {"Retry-After": str(error.retry_after_s)}
        case MethodNotAllowedError() as error:
            return {"Allow": str(error.details["allow"])}
        case _:
            return {}


# A request that matches no route of the function: 404, 405, or a browser's preflight


def _methods_of(path: str) -> list[str]:
    """Return the methods of a path, sorted; empty if no route has the path.

    If several paths of operations fit, the closest one counts: `…/search` and not `…/{name}`.
    OPTIONS belongs to every path. API Gateway may send a browser's preflight to the `$default`
    route, and then adds the CORS headers to the response.
    """
    paths = {operation.path for operation in operations.ROUTES if fits(operation.path, path)}
    closest = {one for one in paths if not any(is_closer(other, one) for other in paths)}
    methods = {operation.method for operation in operations.ROUTES if operation.path in closest}
    return sorted({*methods, OPTIONS}) if methods else []


def _unrouted(event: HttpEvent, allowed: list[str]) -> ForkloreError:
    """Return the error for a request that is not a preflight. allowed: the methods of its path."""
    method = event.method
    hints = [hint for path, hint in _HINTS if method in _CHANGES and path.fullmatch(event.path)]
    if not allowed or method in allowed:
        return NotFoundError(*(hints or ["no such route"]))
    return MethodNotAllowedError(*(hints or [f"{method} is not for this path"]), allow=", ".join(allowed))


def is_closer(one: str, other: str) -> bool:
    """Tell whether each path that fits `one` fits `other`, too, but not the other way round.

    >>> is_closer("/v1/conversations/search", "/v1/conversations/{conversationId}")
    True
    """
    return one != other and fits(other, one)


def fits(pattern: str, path: str) -> bool:
    """Tell whether `path` fits an operation's path. Each name in braces is one segment."""
    return _pattern(pattern).fullmatch(path) is not None


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
