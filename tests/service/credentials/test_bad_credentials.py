"""Bad credentials, from the authorizer to a function and its answer."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from forklore_service.aws.wiring import open_table
from forklore_service.storage.connection import Connection
from functions.authorizer.app import handler
from tests.service.aws.world import CONVERSATIONS
from tests.service.credentials.issuer import USER, Issuer
from tests.service.credentials.vectors import BAD, GOOD, Headers, Vector, bearer
from tests.service.reliability.figures import Measure
from tools.harness.gateway import Answer, Gateway, table_in_memory

COUNT_MIN = 60
"""The number that the check `bad-credentials` of docs/reliability.md promises."""
ALICE: dict[str, Any] = {"userId": USER, "roles": []}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with table_in_memory() as template:
        yield Gateway(template)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the functions to DynamoDB. A store that another test has left open is swept."""
    asked: list[str] = []
    call = Connection.call

    def note(self: Connection, operation: str, *rest: Any, **parameters: Any) -> Any:
        if self.client is open_table().connection.client:
            asked.append(operation)
        return call(self, operation, *rest, **parameters)

    monkeypatch.setattr(Connection, "call", note)
    return asked


def asked_by(headers: Headers) -> dict[str, Any]:
    """Return the event that API Gateway sends to the authorizer."""
    return {"version": "2.0", "type": "REQUEST", "routeKey": f"GET {CONVERSATIONS}", "headers": headers}


def sent(
    gateway: Gateway, headers: Headers, *, method: str = "GET", query: str = "", body: Any = None
) -> Answer:
    """Send a request with these headers through the authorizer; return the answer."""
    answered = json.loads(json.dumps(handler(asked_by(headers), None)))
    assert answered.keys() == {"isAuthorized", "context"}
    assert answered["isAuthorized"] is True
    text = b"" if body is None else json.dumps(body).encode()
    typed = [("Content-Type", "application/json")] if text else []
    function, event = gateway.event(method, CONVERSATIONS, query=query, body=text, headers=typed)
    event["headers"] = {**event["headers"], **headers}
    event["headers"] = {name: held for name, held in event["headers"].items() if isinstance(held, str)}
    event["requestContext"]["authorizer"] = {"lambda": answered["context"]}
    return gateway.handle(function, event)


def texts_of(headers: Headers) -> set[str]:
    """Return the parts of headers that no log may hold: tokens and their parts, keys."""
    values = [held for held in headers.values() if isinstance(held, str)]
    parts = {
        part for value in values for part in (value, *value.replace(",", " ").split(), *value.split("."))
    }
    return {part for part in parts if len(part) > len("Bearer") + 2}


def test_there_are_enough_of_them(measure: Measure) -> None:
    assert len(BAD) >= COUNT_MIN
    measure.count(vectors=len(BAD))


@pytest.mark.failure("bad-api-key")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(("vector", "differs"), GOOD.values(), ids=list(GOOD))
def test_good_credentials_reach_the_use_case(
    gateway: Gateway,
    calls: list[str],
    issuer: Issuer,
    vector: Vector,
    differs: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Without this, the other tests of this file would prove nothing. No token or key is logged."""
    headers = vector(issuer)
    with caplog.at_level(logging.INFO):
        assert handler(asked_by(headers), None) == {"isAuthorized": True, "context": {**ALICE, **differs}}
        assert sent(gateway, headers).status == 200
    logged = "\n".join([caplog.text, *(str(one.__dict__) for one in caplog.records), *capfd.readouterr()])

    assert calls
    assert "listConversations" in logged
    assert [text for text in texts_of(headers) if text in logged] == []


@pytest.mark.failure("bad-token", "bad-api-key")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("vector", BAD.values(), ids=list(BAD))
def test_bad_credentials_are_401_with_one_body_and_reach_nothing(
    gateway: Gateway,
    calls: list[str],
    issuer: Issuer,
    vector: Vector,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The authorizer lets every request pass. The function answers 401 with its body."""
    headers = vector(issuer)
    with caplog.at_level(logging.DEBUG):
        answer = sent(gateway, headers)
    logged = "\n".join([caplog.text, *(str(one.__dict__) for one in caplog.records), *capfd.readouterr()])

    assert answer.status == 401
    assert {**answer.json, "requestId": ""} == {
        "code": "unauthorized",
        "error": "Unauthorized",
        "requestId": "",
        "details": {"message": "valid credentials are required"},
    }
    assert answer.headers["www-authenticate"] == "Bearer"
    assert calls == []
    assert not [text for text in texts_of(headers) if text in logged]


OTHER_HEADERS = [
    "x-user-id",
    "x-client-id",
    "x-forwarded-user",
    "x-amzn-oidc-identity",
    "x-amzn-oidc-data",
    "x-roles",
    "cookie",
]


@pytest.mark.failure("claimed-identity")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("name", OTHER_HEADERS)
def test_identity_in_another_header_is_ignored(gateway: Gateway, issuer: Issuer, name: str) -> None:
    headers = {**bearer(issuer.token()), name: "root"}

    assert handler(asked_by(headers), None)["context"] == ALICE
    made = sent(gateway, headers, method="POST", body={})
    assert (made.status, made.json["ownerUserId"]) == (201, USER)


@pytest.mark.failure("claimed-identity")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("member", ["userId", "ownerUserId", "clientId", "roles", "caller"])
def test_identity_in_a_body_or_a_query_is_400(gateway: Gateway, issuer: Issuer, member: str) -> None:
    headers = bearer(issuer.token())

    assert sent(gateway, headers, method="POST", body={member: "root"}).status == 400
    assert sent(gateway, headers, query=f"{member}=root").status == 400


@pytest.mark.failure("bad-api-key")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("name", ["authorization", "access_token", "x-api-key"])
def test_credentials_in_the_url_are_not_accepted(
    gateway: Gateway, calls: list[str], issuer: Issuer, name: str
) -> None:
    query = f"{name}={issuer.token()}"

    assert sent(gateway, {}, query=query).status == 401
    assert sent(gateway, bearer(issuer.token()), query=query).status == 400
    assert calls == []


@pytest.mark.failure("bad-token")
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    "event",
    [None, [], "x", {}, {"headers": None}, {"headers": []}, {"headers": "Bearer x"}, {"headers": {5: "x"}}],
    ids=ascii,
)
def test_an_event_without_headers_has_no_user(event: Any) -> None:
    assert handler(event, None) == {"isAuthorized": True, "context": {}}
