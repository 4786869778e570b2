"""Events and answers in the form of API Gateway.

Source: API Gateway developer guide, "Create AWS Lambda proxy integrations for HTTP APIs".
`test_a_request_becomes_the_event_of_the_guide` follows its example of payload 2.0 field by field.
"""

import base64
import re
import time
from typing import Any

import pytest

from forklore_local.server.payload import build_event, read_answer
from forklore_local.server.routing import Function, Match, Route, decoded

NOBODY: dict[str, Any] = {"userId": None, "clientId": None, "roles": []}


def event(
    *,
    path: str = "/my/path",
    query: str = "",
    headers: list[tuple[str, str]] | None = None,
    body: bytes = b"",
    route: Route = Route("ANY", ""),  # noqa: B008
    parameters: dict[str, str] | None = None,
) -> dict[str, Any]:
    function = Function("F", "module", "handler", 1, 128, (route,))
    scope = {
        "type": "http",
        "method": "POST",
        "http_version": "1.1",
        "scheme": "http",
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers or []],
        "client": ("127.0.0.9", 5000),
        "server": ("127.0.0.1", 8080),
    }
    match = Match(function, route, decoded(path), parameters or {})
    return build_event(scope, body, match=match, authorizer=NOBODY, request_id="id")


def test_a_request_becomes_the_event_of_the_guide() -> None:
    before = int(time.time() * 1000)
    made = event(
        query="parameter1=value1&parameter1=value2&parameter2=value",
        headers=[
            ("Host", "localhost:8080"),
            ("User-Agent", "agent"),
            ("Header1", "value1"),
            ("Header2", "value1"),
            ("header2", "value2"),
            ("Cookie", "cookie1; cookie2"),
        ],
        body=b"Hello from Lambda",
        route=Route("POST", "/my/{parameter1}"),
        parameters={"parameter1": "path"},
    )

    context = made["requestContext"]
    assert before <= context.pop("timeEpoch") <= int(time.time() * 1000)
    assert re.fullmatch(r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000", context.pop("time"))
    assert made == {
        "version": "2.0",
        "routeKey": "POST /my/{parameter1}",
        "rawPath": "/my/path",
        "rawQueryString": "parameter1=value1&parameter1=value2&parameter2=value",
        "cookies": ["cookie1", "cookie2"],
        "headers": {
            "host": "localhost:8080",
            "user-agent": "agent",
            "header1": "value1",
            "header2": "value1,value2",
            "content-length": "17",
            "x-forwarded-for": "127.0.0.9",
            "x-forwarded-port": "8080",
            "x-forwarded-proto": "http",
        },
        "queryStringParameters": {"parameter1": "value1,value2", "parameter2": "value"},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "1234567890",
            "authorizer": {"lambda": NOBODY},
            "domainName": "localhost",
            "domainPrefix": "local",
            "http": {
                "method": "POST",
                "path": "/my/path",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.9",
                "userAgent": "agent",
            },
            "requestId": "id",
            "routeKey": "POST /my/{parameter1}",
            "stage": "$default",
        },
        "body": "Hello from Lambda",
        "pathParameters": {"parameter1": "path"},
        "isBase64Encoded": False,
    }


def test_absent_parts_of_a_request_are_absent_from_the_event() -> None:
    made = event()

    assert {"body", "cookies", "pathParameters", "queryStringParameters"}.isdisjoint(made)
    assert (made["routeKey"], made["rawQueryString"], made["isBase64Encoded"]) == ("$default", "", False)


def test_the_raw_query_string_is_kept_and_the_parameters_are_decoded() -> None:
    made = event(query="a=1+2&a=%C3%A9&b=&c&%26=%2B")

    assert made["rawQueryString"] == "a=1+2&a=%C3%A9&b=&c&%26=%2B"
    assert made["queryStringParameters"] == {"a": "1 2,é", "b": "", "c": "", "&": "+"}


@pytest.mark.failure("unusual-user-id")
def test_the_raw_path_is_decoded_and_ends_at_a_question_mark() -> None:
    made = event(path="/a%20b/c%2Fd%252Fe/%2525%3Ff=g")

    assert made["rawPath"] == made["requestContext"]["http"]["path"] == "/a b/c/d/e/%"
    assert made["rawQueryString"] == ""


def test_the_callers_address_is_added_to_those_forwarded_for() -> None:
    made = event(headers=[("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https")])

    assert made["headers"]["x-forwarded-for"] == "10.0.0.1, 127.0.0.9"
    assert made["headers"]["x-forwarded-proto"] == "http"


def test_cookies_are_removed_from_the_headers_and_connection_headers_are_dropped() -> None:
    made = event(
        headers=[
            ("Cookie", "a=1;b=2; "),
            ("Cookie", "c=3"),
            ("Connection", "close"),
            ("Expect", "100-continue"),
        ]
    )

    assert made["cookies"] == ["a=1", "b=2", "c=3"]
    assert {"cookie", "connection", "expect"}.isdisjoint(made["headers"])


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("application/json", '{"a":"é"}'.encode(), '{"a":"é"}'),
        ("application/json; charset=utf-8", b"{}", "{}"),
        ("application/merge-patch+json", b"{}", "{}"),
        ("TEXT/plain", b"hello", "hello"),
        (None, b"hello", "hello"),
        ("application/json", b"\xff\xfe{\x00", None),
        ("application/x-www-form-urlencoded", b"a=1", None),
        ("application/octet-stream", b"hello", None),
    ],
)
def test_a_body_that_is_not_text_is_in_base64(
    content_type: str | None, body: bytes, text: str | None
) -> None:
    made = event(headers=[("Content-Type", content_type)] if content_type else [], body=body)

    assert made["isBase64Encoded"] == (text is None)
    assert made["body"] == (base64.b64encode(body).decode() if text is None else text)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        ({"message": "é"}, '{"message": "é"}'),
        ("Hello from Lambda!", "Hello from Lambda!"),
        ([1, 2], "[1, 2]"),
        (None, "null"),
    ],
)
def test_an_answer_without_a_status_is_the_body_of_a_200(answer: Any, body: str) -> None:
    response = read_answer(answer)

    assert (response.status, response.body.decode()) == (200, body)
    assert response.headers == [("content-type", "application/json")]


def test_an_answer_is_read_with_its_headers_and_cookies() -> None:
    answer = {
        "statusCode": 201,
        "headers": {"Content-Type": "application/json", "X-Count": 3, "X-Yes": True, "Content-Length": "99"},
        "cookies": ["a=1; Path=/", "b=2"],
        "body": "{}",
        "isBase64Encoded": False,
    }

    response = read_answer(answer)

    assert (response.status, response.body) == (201, b"{}")
    assert response.headers == [
        ("content-type", "application/json"),
        ("x-count", "3"),
        ("x-yes", "true"),
        ("set-cookie", "a=1; Path=/"),
        ("set-cookie", "b=2"),
    ]


def test_an_answer_in_base64_is_decoded_and_one_without_a_type_is_plain_text() -> None:
    response = read_answer({"statusCode": 200, "body": "/wA=", "isBase64Encoded": True})

    assert response.body == b"\xff\x00"
    assert response.headers == [("content-type", "text/plain;charset=UTF-8")]


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": None},
        {"statusCode": "200"},
        {"statusCode": True},
        {"statusCode": 200.0},
        {"statusCode": 100},
        {"statusCode": 600},
        {"statusCode": 200, "body": {"a": 1}},
        {"statusCode": 200, "body": "not base64!", "isBase64Encoded": True},
        {"statusCode": 200, "headers": ["a"]},
        {"statusCode": 200, "headers": {"a": None}},
        {"statusCode": 200, "headers": {"a": ["b"]}},
        {"statusCode": 200, "headers": {"a b": "c"}},
        {"statusCode": 200, "headers": {"a": "b\r\nset-cookie: c"}},
        {"statusCode": 200, "cookies": "a=1"},
        {"statusCode": 200, "cookies": ["a=1\nb"]},
    ],
)
def test_an_answer_that_is_not_a_response_is_refused(answer: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_answer(answer)
