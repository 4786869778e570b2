"""Direct invocations: wrong ones, content that is kept exactly, and asynchronous ones."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forklore_service.aws.direct import AgainError
from forklore_service.aws.wiring import open_table
from forklore_service.domain import jsontext
from forklore_service.limits import DEPTH_MAX
from tests.service.aws.direct import Direct
from tests.service.aws.world import CONVERSATIONS, FRESH, ROOT, SAID, World, conversation_id
from tests.support.lines import Lines
from tools.harness.gateway import Gateway, stored, table_in_memory

ANN = {"userId": "ann"}
BUS = {
    "version": "0",
    "id": "1",
    "detail-type": "a request",
    "source": "ours",
    "account": "000000000000",
    "time": "2026-01-01T00:00:00Z",
    "region": "us-east-1",
    "resources": [],
}
DEEP = 900
"""So deep that Lambda's runtime still reads it, but recursion in forklore's code would fail."""


@pytest.fixture(scope="module")
def open_direct() -> Iterator[Direct]:
    """Invokes the function, for requests that may change the table."""
    with table_in_memory() as template:
        World(Gateway(template))
        yield Direct(template)


@pytest.fixture
def direct(open_direct: Direct) -> Iterator[Direct]:
    """Invokes the function, for refused requests. Fails if the table has changed afterwards."""
    before = stored()
    yield open_direct
    assert stored() == before, "a refused request has changed the table"


def request(operation: str = "getConversation", /, **members: Any) -> dict[str, Any]:
    return {"operation": operation, "caller": ANN, "input": {"conversationId": ROOT}, **members}


def append(text: str, member: str = "content", *, more: str = "") -> str:
    """Return an append as JSON text. text: the JSON of the field `member`."""
    given = f'{{"conversationId":"{ROOT}","contentType":"x","{member}":{text}{more}}}'
    return f'{{"operation":"appendEntry","caller":{{"userId":"ann"}},"input":{given}}}'


def spelled(text: str) -> str:
    """Return an append whose contentJson is `text`."""
    return append(json.dumps(text), "contentJson")


def arrays(levels: int) -> str:
    return "[" * levels + "]" * levels


GATEWAY_EVENT = {
    "version": "2.0",
    "routeKey": f"GET {CONVERSATIONS}",
    "rawPath": CONVERSATIONS,
    "requestContext": {
        "http": {"method": "GET", "path": CONVERSATIONS},
        "authorizer": {"lambda": {"userId": "ann", "roles": ["admin"]}},
    },
}

NO_REQUESTS: dict[str, Any] = {
    "null": None,
    "a list": [],
    "a text": '"appendEntry"',
    "a number": 5,
    "nothing": {},
    "a gateway event": GATEWAY_EVENT,
    "a gateway event with an operation": {**GATEWAY_EVENT, **request()},
    "a gateway event's request context": request(requestContext=GATEWAY_EVENT["requestContext"]),
    "a queue's event": {"Records": [{"body": json.dumps(request())}]},
    "headers": request(headers={}),
    "a user beside the caller": request(userId="ann"),
    "no operation": {"caller": ANN, "input": {}},
    "an unknown operation": request("dropTable"),
    "an operation in another case": request("GetConversation"),
    "a null operation": request(operation=None),
    "a list of operations": request(operation=["getConversation"]),
    "async as text": request(**{"async": "true"}),
    "async null": request(**{"async": None}),
    "bodyJson 1": request(bodyJson=1),
    "an EventBridge event with empty detail": {**BUS, "detail": {}},
    "an EventBridge event without detail": BUS,
    "an EventBridge event with text as detail": {**BUS, "detail": json.dumps(request())},
    "an EventBridge event inside another": {**BUS, "detail": {**BUS, "detail": request()}},
    "an EventBridge event with an unknown field": {**BUS, "detail": request(), "caller": ANN},
    "an EventBridge event that is also a gateway event": {**BUS, **GATEWAY_EVENT, "detail": request()},
    "an EventBridge event without a source": {"detail-type": "x", "detail": request()},
    "a schedule": {**BUS, "detail": {}},
}


@pytest.mark.parametrize("event", NO_REQUESTS.values(), ids=list(NO_REQUESTS))
def test_an_event_that_is_not_a_request_is_400(direct: Direct, event: Any) -> None:
    answer = direct.send(event)

    assert (answer["status"], answer["body"]["code"]) == (400, "validation_error")
    assert set(answer["body"]) == {"code", "error", "requestId", "details"}


NOBODY: dict[str, Any] = {
    "null": None,
    "text": "ann",
    "a list": ["ann"],
    "empty": {},
    "no user": {"clientId": "planner"},
    "null user": {"userId": None},
    "empty user": {"userId": ""},
    "a number": {"userId": 5},
    "a control character": {"userId": "ann\u0000"},
    "a lone surrogate": {"userId": "\ud800"},
    "a long user": {"userId": "a" * 256},
    "an empty client": {"userId": "ann", "clientId": ""},
    "a client of a number": {"userId": "ann", "clientId": 5},
    "an unknown member": {"userId": "ann", "user_id": "bob"},
    "an attempt to bypass membership": {"userId": "ann", "seesAll": True},
    "roles as text": {"userId": "ann", "roles": "admin"},
    "roles as an object": {"userId": "ann", "roles": {"admin": True}},
    "a role of a list": {"userId": "ann", "roles": [["admin"]]},
    "an unheard-of role": {"userId": "ann", "roles": ["root"]},
}


@pytest.mark.parametrize("allowed", ["", "allowed"])
@pytest.mark.parametrize("caller", NOBODY.values(), ids=list(NOBODY))
def test_a_request_without_a_valid_caller_is_401_with_one_body(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, caller: Any, allowed: str
) -> None:
    monkeypatch.setenv("FORKLORE_DIRECT_ROLES", allowed)
    answer = direct.send(request(caller=caller, input={"unknown": 1}))
    none = {name: held for name, held in request(input={"unknown": 1}).items() if name != "caller"}

    assert (answer["status"], answer["body"]["code"]) == (401, "unauthorized")
    assert answer["body"]["details"] == direct.send(none)["body"]["details"]


@pytest.mark.parametrize("roles", [["admin"], ["auditor"], ["indexer", "auditor"]])
def test_naming_roles_is_403_unless_the_deployment_allows_it(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, roles: list[str]
) -> None:
    asked = request(caller={**ANN, "clientId": "planner", "roles": roles})

    assert direct.send(request(caller={**ANN, "roles": []}))["status"] == 200
    for value in ("", "refused"):
        monkeypatch.setenv("FORKLORE_DIRECT_ROLES", value)
        assert (direct.send(asked)["status"], direct.send(asked)["body"]["code"]) == (403, "forbidden")
    monkeypatch.setenv("FORKLORE_DIRECT_ROLES", "allowed")
    assert direct.send(asked)["status"] == 200
    assert direct.send(asked, alias="planner")["body"]["code"] == "forbidden"
    monkeypatch.setenv("FORKLORE_DIRECT_USERS", "planner=*")
    assert direct.send(asked)["body"]["code"] == "forbidden"
    monkeypatch.setenv("FORKLORE_DIRECT_ROLES", "yes")
    with pytest.raises(RuntimeError, match="set FORKLORE_DIRECT_ROLES"):
        direct.send(asked)


USERS = "planner=ann,planner=team-*,ops=*"


@pytest.mark.parametrize(
    ("user", "client", "speaks"),
    [
        ("ann", "planner", True),
        ("ann", "ops", True),
        ("team-7", "planner", True),
        ("bob", "planner", False),
        ("annette", "planner", False),
        ("ann", "coder", False),
        ("ann", None, False),
        ("ann", "*", False),
    ],
)
def test_a_client_speaks_only_for_the_users_that_the_deployment_lists(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, user: str, client: str | None, speaks: bool
) -> None:
    monkeypatch.setenv("FORKLORE_DIRECT_USERS", USERS)

    answer = direct.send({"operation": "listNames", "caller": {"userId": user, "clientId": client}})
    assert (answer["status"], answer["body"].get("code")) == ((200, None) if speaks else (403, "forbidden"))
    assert direct.send({"operation": "checkHealth"})["status"] == 200


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("wrong", ["planner", "=ann", "planner=", "planner=ann,ops"])
def test_a_list_of_users_that_says_not_whose_they_are_is_refused(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("FORKLORE_DIRECT_USERS", wrong)

    with pytest.raises(RuntimeError, match="set FORKLORE_DIRECT_USERS"):
        direct.send(request())


@pytest.mark.parametrize(
    ("alias", "client", "status"),
    [
        ("planner", "planner", 200),
        ("planner", "coder", 403),
        ("planner", None, 403),
        ("$LATEST", None, 200),
        ("7", "7", 403),
    ],
)
def test_an_alias_of_the_function_is_for_the_client_of_its_name(
    direct: Direct, alias: str, client: str | None, status: int
) -> None:
    asked = request(caller={**ANN, "clientId": client})

    assert direct.send(asked, alias=alias)["status"] == status


BAD_INPUTS: dict[str, Any] = {
    "input is text": request(input="x"),
    "input is a list": request(input=[]),
    "no path": request(input={}),
    "a null path": request(input={"conversationId": None}),
    "a path of a number": request(input={"conversationId": 5}),
    "a path of a list": request(input={"conversationId": [ROOT]}),
    "a path with a lone surrogate": request(input={"conversationId": "\ud800"}),
    "an unknown field": request(input={"conversationId": ROOT, "x": 1}),
    "an unknown null field": request(input={"conversationId": ROOT, "x": None}),
    "a name that is a lone surrogate": request(input={"conversationId": ROOT, "\ud800": 1}),
    "a key where none is taken": request(input={"conversationId": ROOT, "idempotencyKey": "k"}),
    "a match where none is taken": request(input={"conversationId": ROOT, "ifMatch": FRESH}),
    "contentJson where none is taken": request(input={"conversationId": ROOT, "contentJson": "[]"}),
    "a limit of true": request("listForks", input={"conversationId": ROOT, "limit": True}),
    "a limit of a list": request("listForks", input={"conversationId": ROOT, "limit": [1]}),
    "a limit of NaN": append("[]").replace("appendEntry", "listForks").replace('"content":[]', '"limit":NaN'),
    "a limit of 1.5": request("listForks", input={"conversationId": ROOT, "limit": 1.5}),
    "a limit of 0": request("listForks", input={"conversationId": ROOT, "limit": "0"}),
    "a tail of 1": request("listEntries", input={"conversationId": ROOT, "tail": 1}),
    "a tail that is not a boolean": request("listEntries", input={"conversationId": ROOT, "tail": "yes"}),
    "a mode of an object": request("listConversations", input={"mode": {}}),
    "a cursor of a number": request("listConversations", input={"afterCursor": 5}),
    "a key of a number": append("[]", more=',"idempotencyKey":5'),
    "an empty key": append("[]", more=',"idempotencyKey":""'),
    "a key with a lone surrogate": append("[]", more=r',"idempotencyKey":"\ud800"'),
    "a match of a list": append("[]", more=',"ifMatch":[]'),
    "an empty match": append("[]", more=',"ifMatch":""'),
    "half a quote": append("[]", more=f',"ifMatch":"\\"{FRESH}"'),
    "NaN": append("[NaN]"),
    "Infinity": append("[-Infinity]"),
    "beyond a double": append("[1e400]"),
    "a lone surrogate": append(r'["\ud800"]'),
    "a name with a lone surrogate": append(r'[{"\udc00":1}]'),
    "one level too deep": append(arrays(DEPTH_MAX)),
    "far too deep": append(arrays(DEEP)),
    "a deep unknown field": append("[]", more=f',"x":{arrays(DEEP)}'),
    "a deep cursor": request(
        "listForks", input={"conversationId": ROOT, "afterCursor": json.loads(arrays(900))}
    ),
    "content of null": append("null"),
    "content of text": append('"[]"'),
    "content and contentJson": append("[]", more=',"contentJson":"[]"'),
    "contentJson of null": append("null", "contentJson"),
    "contentJson of an array": append("[]", "contentJson"),
    "content and contentJson in an entry": append(
        "[]", "userId", more=',"entries":[{"contentType":"x","content":[],"contentJson":"[]"}]'
    ),
    "an entry that is not an object": append(
        "null", "userId", more=',"entries":[5,null,{"contentType":"x","contentJson":"[]"}]'
    ),
    "content and contentJson in a context": append(
        "[]", more=',"context":{"contentType":"x","content":[],"contentJson":"[]"}'
    ),
    "a context of text": append("[]", more=',"context":"x"'),
    "a context of a list": append("[]", more=',"context":[{"contentType":"x","contentJson":"[]"}]'),
    "entries of text": append("null", "userId", more=',"entries":"x"'),
    "entries inside an entry": append(
        "null", "userId", more=',"entries":[{"entries":[{"contentJson":"[]"}]}]'
    ),
}


@pytest.mark.parametrize("event", BAD_INPUTS.values(), ids=list(BAD_INPUTS))
def test_bad_input_is_400(direct: Direct, event: Any) -> None:
    answer = direct.send(event)

    assert (answer["status"], answer["body"]["code"]) == (400, "validation_error"), answer


BROKEN_OUT = [
    *("", "[", "[] []", '[],"userId":"bob"', '[],"content":[1]', '[]},"caller":{"userId":"bob"', "[NaN]"),
    *("{}", "null", '"[]"', '[{"a":1,"a":2}]', r'["\ud800"]', '["\ud800"]', "\ufeff[]", "[]\u0000"),
    *(arrays(DEPTH_MAX), arrays(DEEP)),
]


@pytest.mark.parametrize("text", BROKEN_OUT, ids=lambda text: ascii(text)[:40])
def test_content_json_that_is_not_exactly_one_json_array_is_400(direct: Direct, text: str) -> None:
    alone = direct.send(spelled(text))
    batch = append(
        "null", "userId", more=f',"entries":[{{"contentType":"x","contentJson":{json.dumps(text)}}}]'
    )

    assert (alone["status"], alone["body"]["code"]) == (400, "validation_error"), alone
    assert direct.send(batch)["status"] == 400


NUMBERS = [
    "1.0",
    "-0",
    "-0.0",
    "1E+2",
    "9007199254740993",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890.123456789",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_content_json_keeps_numbers_and_spelling(open_direct: Direct, number: str) -> None:
    text = f'[ {number},{{"é\\u00e9" : [{number}]}} ]'
    one = json.loads(spelled(text))
    batch = {**one, "input": {"conversationId": ROOT, "entries": [{"contentType": "x", "contentJson": text}]}}

    present = {"contentType": "x", "contentJson": text}
    new = {"conversationId": conversation_id(200 + NUMBERS.index(number))}
    turn = {
        **one,
        "caller": {"userId": "ann", "clientId": "planner"},
        "input": {**new, "contentType": "x", "content": [], "context": present},
    }

    for event in (one, batch, turn):
        answer = open_direct.send({**event, "bodyJson": True})
        assert answer["status"] == 201
        assert f'"content":{text}' in answer["bodyJson"]


def test_numbers_in_content_become_the_doubles_that_lambdas_runtime_reads(open_direct: Direct) -> None:
    answer = open_direct.send(append("[1.50,9007199254740993,-0.0,1e2]"))

    assert answer["status"] == 201
    assert answer["body"]["content"] == [1.5, 9007199254740993, -0.0, 100.0]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5_000], ids=lambda number: number[:8])
def test_an_answer_with_a_number_beyond_a_double_comes_as_text(
    open_direct: Direct, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """It was stored before numbers were bounded."""
    monkeypatch.setattr(jsontext, "_decoder_for", lambda _text: jsontext._STORED)
    answer = open_direct.send(spelled(f"[{number}]"))

    assert (answer["status"], set(answer)) == (201, {"status", "bodyJson"})
    assert f'"content":[{number}]' in answer["bodyJson"]


def test_the_deepest_content_is_the_same_as_by_http(open_direct: Direct) -> None:
    text = arrays(DEPTH_MAX - 1)

    assert open_direct.send(append(text))["status"] == 201
    assert open_direct.send(spelled(text))["status"] == 201


def test_an_input_that_is_too_large_is_413(direct: Direct) -> None:
    answer = direct.send(append(json.dumps(["x" * 5_600_000])))

    assert (answer["status"], answer["body"]["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("match", ["{}", '"{}"'])
def test_a_match_may_be_quoted_or_bare(open_direct: Direct, match: str) -> None:
    last = open_direct.ask("appendEntry", {"conversationId": ROOT, **SAID})["body"]["id"]
    given = {"conversationId": ROOT, **SAID, "ifMatch": match.format(last)}

    assert open_direct.ask("appendEntry", given)["status"] == 201
    assert open_direct.ask("appendEntry", given)["status"] == 409


def test_health_needs_no_caller(direct: Direct) -> None:
    assert direct.send({"operation": "checkHealth"}) == {"status": 200, "body": {"status": "ok"}}


def test_the_request_id_is_lambdas_own(direct: Direct) -> None:
    refused = [direct.send(request(input={}))["body"]["requestId"] for _ in range(2)]

    assert len(set(refused)) == 2


# Asynchronous requests


@pytest.mark.parametrize("event", [request(**{"async": True}), {**BUS, "detail": request()}])
def test_an_asynchronous_request_that_succeeds_is_answered(direct: Direct, lines: Lines, event: Any) -> None:
    assert direct.send(event)["status"] == 200
    assert [line["message"] for line in lines.all] == ["request"]


@pytest.mark.parametrize(
    ("status", "code", "name", "given"),
    [
        (404, "not_found", "getConversation", {"conversationId": FRESH}),
        (400, "validation_error", "getConversation", {"conversationId": ROOT, "canary": "canary"}),
        (400, "validation_error", None, {}),
    ],
)
@pytest.mark.parametrize("by_bus", [True, False])
def test_an_asynchronous_request_that_is_refused_is_answered_and_writes_one_warning(
    direct: Direct,
    lines: Lines,
    status: int,
    code: str,
    name: str | None,
    given: Any,
    by_bus: bool,
) -> None:
    detail = request(name or "canary", input=given)
    answer = direct.send({**BUS, "detail": detail} if by_bus else {**detail, "async": True})
    [line] = lines.named("refused")

    assert (answer["status"], answer["body"]["code"]) == (status, code)
    expected = {
        "level": "WARNING",
        "logger": "forklore",
        "message": "refused",
        "xRequestId": answer["body"]["requestId"],
        "operation": name,
        "status": str(status),
        "code": code,
    }
    assert line | {"timestamp": ""} == {"timestamp": ""} | {k: v for k, v in expected.items() if v}


def test_a_synchronous_request_that_is_refused_writes_no_warning(direct: Direct, lines: Lines) -> None:
    assert direct.send(request(input={}))["status"] == 400
    assert [line["message"] for line in lines.all] == ["request"]


@pytest.mark.parametrize("event", [request(**{"async": True}), {**BUS, "detail": request()}])
@pytest.mark.parametrize("status", [500, 503])
def test_an_asynchronous_request_that_fails_raises_so_that_lambda_sends_it_again(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, event: Any, status: int
) -> None:
    fail(monkeypatch, status)

    with pytest.raises(AgainError) as raised:
        direct.send(event)
    chain = [raised.value, raised.value.__cause__, raised.value.__context__]
    assert str(raised.value).startswith(f"getConversation: {status} ")
    assert chain[1:] == [None, None]
    assert ROOT not in str(raised.value)


@pytest.mark.parametrize("status", [500, 503])
def test_a_synchronous_request_that_fails_is_answered(
    direct: Direct, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    fail(monkeypatch, status)

    assert direct.send(request())["status"] == status


def fail(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Make every request of this test fail: with 500, or with 503 because no time is left."""
    if status == 503:
        monkeypatch.setattr(
            "forklore_local.server.invocation.LambdaContext.get_remaining_time_in_millis", lambda _: 2
        )
    else:
        monkeypatch.setattr(
            type(open_table()),
            "within",
            lambda _self, _seconds, **_more: (_ for _ in ()).throw(KeyError(ROOT)),
        )
