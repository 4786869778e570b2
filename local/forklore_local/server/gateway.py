"""The ASGI application that stands in for API Gateway's HTTP API: route, event, handler, answer.

The answers of API Gateway itself (404, 413, 500, 503) come from here, in API Gateway's words. Logs
name functions and route keys and show stack frames. They never show a path, a header, a body or the
text of an exception.
"""

import asyncio
import base64
import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from forklore_local.server.answered import ROUTE
from forklore_local.server.asgi import Headers, Receive, Response, Scope, Send, send_response
from forklore_local.server.commits import Commits
from forklore_local.server.invocation import (
    EventTooLargeError,
    HandlerError,
    NotAtOnceError,
    ask,
    at_once,
    invoke,
    load_handler,
)
from forklore_local.server.log import FRAMES, frames
from forklore_local.server.payload import build_event, query_of, read_answer, read_request
from forklore_local.server.routing import BadPathError, Function, Match, Routes
from forklore_service.api.responses import error_response
from forklore_service.api.watching import is_news
from forklore_service.aws.http import HttpApi
from forklore_service.errors import ForkloreError, UnavailableError

HANDLER_THREADS = 32
HEALTH = "GET /v1/health"
READY = "GET /v1/ready"
SHORT = frozenset(
    f"GET /v1/conversations/{{conversationId}}{rest}" for rest in ("", "/entries", "/entries/{entryId}")
)
"""Reads that are answered in the thread of the event loop, as a hop to another one costs as much.

They wait for no writer. One that would sleep goes to a thread after all, and so does one that has
other parameters than SHORT_QUERY or asks for a longer page than SHORT_PAGE. Where the requests of a
user are limited, all do: to count them is to write.
"""
LIMIT = "FORKLORE_USER_REQUESTS_PER_MINUTE"
SHORT_QUERY, SHORT_PAGE = frozenset({"tail", "limit", "afterCursor", "beforeCursor"}), 50
_SHORT_LIMITS = frozenset(map(str, range(SHORT_PAGE + 1)))
NO_ROUTE = "no route"
SMALL_BYTES = 1 << 19
"""No event of a request with such a body is over Lambda's limit."""
REQUEST_BYTES_MAX = 10 * 1024 * 1024  # HTTP API quotas: payload size
ASK_AGAIN = "forklore-ask-again-ms"
"""The header of an answer to who watches: 0 where the next request is held, too."""
GATEWAY_TIMEOUT_SECONDS = 30.0  # HTTP API quotas: maximum integration timeout
_log = logging.getLogger("forklore")


class Gateway:
    """Serves the routes of `functions`. Their handlers are imported here and run in threads.

    A function without routes is not imported, because no request is for it.

    apis: of functions that are asked without an event and a payload, which their answers do not
    show. A request that may be over Lambda's limit goes through them all the same.
    authorize: returns the authorizer's context for a request's headers. authorize_waits: whether it
    may wait for an answer of others; then it is asked in a thread.
    commits: what requests with `wait` are held for; None: they are answered at once, as on Lambda.
    explain: returns a function's answer with what is added on a developer's machine only.
    health: returns what an answer of `checkHealth` also tells. Raises a ForkloreError if the store
    cannot be used. ready: raises one if no request should be sent here now.

    The scope of a request says afterwards which route it took: its ROUTE.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        *,
        authorize: Callable[[Headers], Mapping[str, Any]],
        authorize_waits: bool = False,
        apis: Mapping[str, HttpApi] = MappingProxyType({}),
        commits: Commits | None = None,
        explain: Callable[[Response], Response] = lambda response: response,
        health: Callable[[], Mapping[str, str]] = dict,
        ready: Callable[[], Mapping[str, str]] = dict,
        timeout_seconds: float = GATEWAY_TIMEOUT_SECONDS,
    ) -> None:
        self._routes, self._apis = Routes(functions), apis
        self._handlers = {function.name: load_handler(function) for function in functions if function.routes}
        self._authorize, self._authorize_waits = authorize, authorize_waits
        self._commits = commits
        self._explain = explain
        self._health, self._ready = health, ready
        self._timeout_seconds = timeout_seconds
        self._threads = ThreadPoolExecutor(HANDLER_THREADS, thread_name_prefix="handler")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request. HEAD is answered as GET; the server drops the body."""
        seen = scope
        scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        request_id = base64.b64encode(os.urandom(11)).decode()  # as long as the service's own
        raw_path = scope["raw_path"].decode("latin-1")
        if f"{scope['method']} {raw_path}" == READY:
            seen[ROUTE] = READY
            await send_response(send, await self._readiness())
            return
        match = None
        try:
            match = self._routes.find(method=scope["method"], raw_path=raw_path)
        except BadPathError:
            response = _message(400, "Bad Request")
        else:
            response = _message(404, "Not Found")
        seen[ROUTE] = match.route.key if match else NO_ROUTE
        if match is not None:
            response = await self._answer(scope, receive, match, request_id)
        response.headers.append(("apigw-requestid", request_id))
        await send_response(send, response)

    async def _answer(self, scope: Scope, receive: Receive, match: Match, request_id: str) -> Response:
        body = await _read_body(receive)
        if body is None:  # the client is gone
            return _message(400, "Bad Request")
        try:
            if self._authorize_waits:
                context = await asyncio.to_thread(self._authorize, scope["headers"])
            else:
                context = self._authorize(scope["headers"])
            asking = self._asking(scope, body, match, context, request_id)
            response = self._at_once(match, scope, asking)
            if response is None:
                response = await self._watch(match.function, scope, asking, receive)
            if match.route.key == HEALTH:
                response = await self._with_health(response)
            return self._explain(response)
        except EventTooLargeError:
            return _message(413, "Request Entity Too Large")
        except TimeoutError:
            _log.error("not_in_time", extra={"function": match.function.name, "route": match.route.key})
            if match.function.timeout_seconds >= self._timeout_seconds:
                return _message(503, "Service Unavailable")
        except (HandlerError, ValueError) as error:
            told = {"function": match.function.name, "route": match.route.key, "reason": str(error)}
            _log.error("failed", extra={**told, FRAMES: frames(error.__cause__)})
        return _message(500, "Internal Server Error")  # also for a function that Lambda stopped

    def _asking(
        self, scope: Scope, body: bytes, match: Match, context: Mapping[str, Any], request_id: str
    ) -> Callable[[], Response]:
        """Return what asks the function. Raises EventTooLargeError, HandlerError, ValueError."""
        function = match.function
        api = self._apis.get(function.name)
        if api is not None and len(body) <= SMALL_BYTES:
            return partial(ask, function, api, read_request(scope, body, match=match, authorizer=context))
        event = build_event(scope, body, match=match, authorizer=context, request_id=request_id)
        return lambda: read_answer(invoke(function, self._handlers[function.name], event))

    def _at_once(self, match: Match, scope: Scope, asking: Callable[[], Response]) -> Response | None:
        """Return the answer to a short read of what this process stores; None for all else."""
        if self._commits is None or match.route.key not in SHORT or match.function.name not in self._apis:
            return None
        if os.environ.get(LIMIT, "0") not in {"", "0"}:
            return None
        query = query_of(scope) if scope["query_string"] else {}
        if not query.keys() <= SHORT_QUERY or query.get("limit", "0") not in _SHORT_LIMITS:
            return None
        try:
            return at_once(asking)
        except NotAtOnceError:
            return None

    async def _with_health(self, response: Response) -> Response:
        """Return the answer of `checkHealth` with what `health` tells; 503 if it raises."""
        told, refusal = await self._checked(self._health, response.headers)
        return refusal or replace(response, body=json.dumps({**json.loads(response.body), **told}).encode())

    async def _readiness(self) -> Response:
        """Return the answer of READY, which this server has and no deployment."""
        headers = [("content-type", "application/json"), ("x-request-id", str(uuid.uuid4()))]
        _, refusal = await self._checked(self._ready, headers)
        return refusal or Response(200, headers, b'{"status":"ready"}')

    async def _checked(
        self, check: Callable[[], Mapping[str, str]], headers: list[tuple[str, str]]
    ) -> tuple[Mapping[str, str], Response | None]:
        """Return what a check tells, and a 503 with these headers if it raises."""
        try:
            return await asyncio.to_thread(check), None
        except ForkloreError as error:
            why: dict[str, Any] = {name: error.details[name] for name in ("reason",) if name in error.details}
            unusable = UnavailableError(str(error), **why)
            refused = error_response(unusable, dict(headers)["x-request-id"])
            headers = [*headers, ("retry-after", str(unusable.retry_after_s))]
            return {}, Response(refused.status, headers, refused.text.encode())

    async def _watch(
        self, function: Function, scope: Scope, asking: Callable[[], Response], receive: Receive
    ) -> Response:
        """Return the answer to a request. One with `wait` is held until its answer is news.

        It is held here, not in a handler: after each commit the function is asked again. So it sees
        each time who asks, and what they may see now.
        """
        commits, query = self._commits, query_of(scope) if scope["query_string"] else {}
        wait, after = query.get("wait", "0"), query.get("after")
        if commits is None or wait == "0":
            return await self._in_time(function, asking)
        started, gone = time.monotonic(), asyncio.ensure_future(receive())
        try:
            while True:
                seen = await asyncio.to_thread(commits.moment)
                response = await self._in_time(function, asking)
                if is_news(response.status, response.body.decode(), after):
                    break
                left_s = started + int(wait) - time.monotonic()
                if not await commits.after(seen, left_s, gone):
                    break
        finally:
            gone.cancel()
        headers = [(name, "0" if name == ASK_AGAIN else value) for name, value in response.headers]
        return Response(response.status, headers, response.body)

    async def _in_time(self, function: Function, asking: Callable[[], Response]) -> Response:
        """Return the answer, from a thread. Raises what `asking` does, and TimeoutError."""
        call = asyncio.get_running_loop().run_in_executor(self._threads, asking)
        return await asyncio.wait_for(call, min(function.timeout_seconds, self._timeout_seconds))


async def _read_body(receive: Receive) -> bytes | None:
    """Return the request's body, or None if the client has left.

    Reading stops after REQUEST_BYTES_MAX. The part that was read is too large for Lambda, so the
    answer is 413 in any case.
    """
    body, more = bytearray(), True
    while more and len(body) <= REQUEST_BYTES_MAX:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


def _message(status: int, text: str) -> Response:
    return Response(status, [("content-type", "application/json")], f'{{"message":"{text}"}}'.encode())
