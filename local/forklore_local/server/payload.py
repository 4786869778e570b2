"""HTTP to API Gateway's event, and a handler's answer to HTTP, in payload format 2.0.

`read_request` and `answered` are the same without the event and the payload, for what this process
asks of the service itself. Pure, except that an event has the time.

Source: API Gateway developer guide, "Create AWS Lambda proxy integrations for HTTP APIs".
"""

import base64
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from forklore_local.server.asgi import Response, Scope, header_text
from forklore_local.server.routing import Match
from forklore_service.aws.http import HttpAnswer
from forklore_service.aws.http_events import HttpEvent

API_ID = "1234567890"
"""The HTTP API's id in events. `sam local` has the same one, so `events/` works with both."""
HOP_BY_HOP = frozenset(
    ["connection", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]
)
TEXT_PLAIN = "text/plain;charset=UTF-8"
"""The type of an answer that names none."""
TEXT_TYPE = re.compile(r"text/.*|application/(.*\+)?(json|xml)|application/javascript", re.IGNORECASE)
HEADER_LINE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+:[\t\x20-\x7e\x80-\ud7ff\ue000-\U0010ffff]*")


def build_event(
    scope: Scope, body: bytes, *, match: Match, authorizer: Mapping[str, Any], request_id: str
) -> dict[str, Any]:
    """Return the event that API Gateway makes of a request.

    An empty field is left out, except the query string. As in API Gateway, `rawPath` is
    percent-decoded and `rawQueryString` stays encoded.
    authorizer: the context that the Lambda authorizer returned.
    """
    raw_query = scope["query_string"].decode("latin-1")
    headers, cookies = _headers(scope, body)
    now = time.time()
    http = {
        "method": scope["method"],
        "path": match.path,
        "protocol": f"HTTP/{scope['http_version']}",
        "sourceIp": scope["client"][0],
        "userAgent": headers.get("user-agent", ""),
    }
    context = {
        "accountId": "000000000000",
        "apiId": API_ID,
        "authorizer": {"lambda": authorizer},
        "domainName": re.sub(r":\d+$", "", headers.get("host", "localhost")),
        "domainPrefix": "local",
        "http": http,
        "requestId": request_id,
        "routeKey": match.route.key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }
    optional = {
        "cookies": cookies,
        "queryStringParameters": query_of(scope),
        "pathParameters": match.path_parameters,
    }
    return {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": match.path,
        "rawQueryString": raw_query,
        "headers": headers,
        "requestContext": context,
        **{name: value for name, value in optional.items() if value},
        **_body(body, content_type=headers.get("content-type", "text/plain")),
    }


def read_request(scope: Scope, body: bytes, *, match: Match, authorizer: Mapping[str, Any]) -> HttpEvent:
    """Return what the service reads of the event that `build_event` makes."""
    headers = _joined((name.decode("latin-1"), header_text(value)) for name, value in scope["headers"])
    held = _body(body, content_type=headers.get("content-type", "text/plain"))
    return HttpEvent(
        route_key=match.route.key,
        method=scope["method"],
        path=match.path,
        path_parameters=match.path_parameters,
        query_string=scope["query_string"].decode("latin-1"),
        headers=headers,
        body=held.get("body", ""),
        is_base64=held["isBase64Encoded"],
        authorizer=authorizer,
    )


def answered(answer: HttpAnswer) -> Response:
    """Return what `read_answer` does for the payload of an answer of the service.

    Raises ValueError for a text that is not Unicode.
    """
    lines = {"content-type": TEXT_PLAIN}
    for name, value in answer.headers.items():
        lines[name.lower()] = value
    return Response(answer.statusCode, list(lines.items()), answer.body.encode())


def query_of(scope: Scope) -> dict[str, str]:
    """Return the query parameters as API Gateway decodes them."""
    return _joined(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def read_answer(answer: Any) -> Response:
    """Return the HTTP answer for what a handler returned.

    answer: JSON values. Without a `statusCode` the whole answer is the body of a 200.
    Raises ValueError, with nothing of the answer in its text, if it is no response of payload 2.0.
    """
    if not isinstance(answer, dict) or "statusCode" not in answer:
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return Response(200, [("content-type", "application/json")], text.encode())
    status, body = answer["statusCode"], answer.get("body") or ""
    headers, cookies = answer.get("headers") or {}, answer.get("cookies") or []
    if type(status) is not int or status not in range(200, 600) or not isinstance(body, str):
        raise ValueError("statusCode is not an integer from 200 to 599, or body is not a string")
    if not isinstance(headers, dict) or not isinstance(cookies, list):
        raise ValueError("headers is not an object, or cookies is not an array")
    lines = {"content-type": TEXT_PLAIN} | {k.lower(): _plain(v) for k, v in headers.items()}
    pairs = [(k, v) for k, v in lines.items() if k not in HOP_BY_HOP and k != "content-length"]
    pairs += [("set-cookie", _plain(cookie)) for cookie in cookies]
    if not all(HEADER_LINE.fullmatch(f"{name}:{value}") for name, value in pairs):
        raise ValueError("a header or cookie cannot be sent")
    decoded = base64.b64decode(body, validate=True) if answer.get("isBase64Encoded") else body.encode()
    return Response(status, pairs, decoded)


def _headers(scope: Scope, body: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the event's headers, with those that API Gateway adds, and the cookies apart."""
    pairs = [(name.decode("latin-1").lower(), header_text(value)) for name, value in scope["headers"]]
    cookies = [part.strip() for name, value in pairs if name == "cookie" for part in value.split(";")]
    headers = _joined((name, value) for name, value in pairs if name != "cookie" and name not in HOP_BY_HOP)
    headers["content-length"] = str(len(body))
    headers["x-forwarded-for"] = ", ".join(filter(None, [headers.get("x-forwarded-for"), scope["client"][0]]))
    headers["x-forwarded-port"] = str(scope["server"][1])
    headers["x-forwarded-proto"] = scope["scheme"]
    return headers, [cookie for cookie in cookies if cookie]


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return one value per name. The values of a repeated name are joined with commas, in order."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes, *, content_type: str) -> dict[str, Any]:
    """Return `body` and `isBase64Encoded`.

    Only UTF-8 of the types text/*, JSON, XML and JavaScript is text. A form is not.
    """
    if not body:
        return {"isBase64Encoded": False}
    try:
        if TEXT_TYPE.fullmatch(content_type.partition(";")[0].strip()):
            return {"body": body.decode(), "isBase64Encoded": False}
    except UnicodeDecodeError:
        pass
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def _plain(value: Any) -> str:
    """Return a header's value: a string as it is, a number or boolean as in JSON."""
    if not isinstance(value, str | int | float):
        raise ValueError("a header's value is not a string, number or boolean")
    return value.strip() if isinstance(value, str) else json.dumps(value)
