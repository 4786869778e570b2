"""No log line contains a canary, although every part of every request holds one."""

import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from forklore_service.api import operations
from forklore_service.api.operation import Operation
from tests.service.aws.direct import Direct
from tests.service.aws.story import Ask, tell
from tests.service.aws.test_both_ways import by_http, directly
from tests.service.reliability.figures import Measure
from tests.support.lines import Lines, faults, reading_lines
from tools.catalogue import NAMES, PHOTO, STORY, Step, conversation_id
from tools.harness.gateway import AGENTS, Gateway, table_in_memory
from tools.harness.sample_events import sample_event

CANARY = "canary-9c41"
NASTY = f'{CANARY}\n\r\x1b[31m\x00\x85\u2028\u202e{{"level":"ERROR"}}'
"""A canary with characters that could start a new line or change a terminal's colours."""
AUDITED = ("who", "clientId", "userId", "justification", "conversationId")
"""The fields of an audit line that are copied from the request, on purpose."""
CHANGED = ("tree", "clientId")
"""Those of the line of a change. Its user is a hash."""
FIXED = frozenset({"role", "channel", "accessLevel", "position", "mode", "ancestry", "epoch", "ifMatch"})
"""Fields whose valid values are fixed words of the API, or an id."""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OF_A_LINK = re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])")
"""The secret of a link, by its length."""


TABLE = "forklore"
"""The name of the harness's table."""
WITHOUT_A_TREE = {
    *("deleteName", "adminDeleteName", "adminEraseUser"),
    *("uploadAttachment", "adminRemoveAttachment", "pinConversation", "unpinConversation"),
}
"""The operations whose changes are about no tree."""


def hashed(user_id: str) -> str:
    """Return what the line of a change says of a user."""
    return hmac.new(TABLE.encode(), user_id.encode(), hashlib.sha256).hexdigest()[:32]


def leaks(lines: Lines) -> list[str]:
    """Return the lines that leak a canary, a key or an id, or that do not print as one line."""
    found = []
    for text in lines.texts:
        line = json.loads(text)
        if line["message"] == "audit":
            assert line["logger"] == "forklore.audit"
            for name in AUDITED:
                line.pop(name, None)
        if line["message"] == "change":
            for name in CHANGED:
                line.pop(name, None)
        line.pop("xRequestId", None)
        line.pop("requestId", None)
        rest = json.dumps(line, ensure_ascii=False)
        secrets = [CANARY, *AGENTS.values()]
        if (
            any(secret in rest for secret in secrets)
            or OF_A_LINK.search(rest)
            or UUID.search(rest)
            or not text.isprintable()
        ):
            found.append(text)
    return found


@pytest.mark.parametrize(
    ("message", "extra", "is_leak"),
    [
        ("request", {"status": "200"}, False),
        ("request", {"xRequestId": conversation_id(1)}, False),
        ("request", {"route": conversation_id(1)}, True),
        ("request", {"who": CANARY}, True),
        ("request", {"path": "/v1/links/AAAAAAAAQACAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAA/entries"}, True),
        ("request", {"key": "key-of-planner"}, True),
        ("request", {CANARY: 1}, True),
        (f"said {CANARY}", {}, True),
        ("request", {"text": "\u2028"}, True),
        ("audit", {"who": CANARY, "justification": CANARY}, False),
        ("audit", {"what": CANARY}, True),
        ("change", {"tree": conversation_id(1), "clientId": CANARY}, False),
        ("change", {"user": CANARY}, True),
    ],
)
def test_these_tests_would_notice_it(
    lines: Lines, message: str, extra: Mapping[str, Any], is_leak: bool
) -> None:
    logging.getLogger("forklore.audit").warning(message, extra=extra)

    assert len(leaks(lines)) == is_leak


AS_THEY_ARE = {("contentType", "history")} | {(name, PHOTO[name]) for name in PHOTO if name != "name"}
"""Values that nothing can be added to."""


def sown(value: Any, name: str = "") -> Any:
    """Return a value with a canary in every text and in every name that the caller may choose."""
    match value:
        case dict():
            inner = name in ("tags", "metadata")
            return {
                (f"{key} {CANARY}" if inner else key): sown(held, "" if inner else key)
                for key, held in value.items()
            }
        case list():
            return [sown(held, name) for held in value]
        case str() if (
            name in FIXED
            or UUID.fullmatch(value)
            or OF_A_LINK.fullmatch(value)
            or (name, value) in AS_THEY_ARE
        ):
            return value
        case str():
            return f"{value} {CANARY}"
        case _:
            return value


def sowing(ask: Ask) -> Ask:
    """Return a function that sends each step with canaries, also in the names of users."""
    return lambda step: ask(Step(step.operation, sown(step.given), f"{step.user} {CANARY}", step.agent))


def directly_by(direct: Direct) -> Ask:
    """Return a function that sends a step directly, with the roles of its user without canary."""

    def ask(step: Step) -> tuple[int, Any]:
        roles = Step(step.operation, user=step.user.removesuffix(f" {CANARY}")).roles
        caller = {"userId": step.user, "clientId": step.agent and f"{step.agent} {CANARY}", "roles": roles}
        answer = direct.send({"operation": step.operation, "caller": caller, "input": step.given})
        return answer["status"], answer["body"]

    return ask


@pytest.fixture(scope="module")
def told() -> dict[str, tuple[list[tuple[Step, int, Any]], Lines]]:
    """The answers and the log lines of the story, plain and with canaries, by both transports."""
    found = {}
    for name in ("http", "direct", "sown http", "sown direct"):
        with table_in_memory() as template, reading_lines() as lines, pytest.MonkeyPatch.context() as patched:
            patched.setenv("FORKLORE_DIRECT_ROLES", "allowed")
            gateway, direct = (
                Gateway(template, FORKLORE_ADMINS="adam*", FORKLORE_AUDITORS="aude*"),
                Direct(template),
            )
            asks = {
                "http": by_http(gateway),
                "direct": directly(direct),
                "sown http": sowing(by_http(gateway)),
                "sown direct": sowing(directly_by(direct)),
            }
            found[name] = tell(asks[name]), lines
    return found


@pytest.mark.parametrize("way", ["http", "direct", "sown http", "sown direct"])
def test_each_request_of_every_operation_writes_one_line_that_cloudwatch_takes(told: Any, way: str) -> None:
    answers, lines = told[way]
    found = lines.named("request")
    now_ms = time.time_ns() // 1_000_000

    assert len(found) == len(STORY)
    assert [(one["operation"], one["status"]) for one in found] == [
        (step.operation, str(status)) for step, status, _ in answers
    ]
    assert [faults(one, now_ms=now_ms) for one in found] == [[]] * len(STORY)
    assert {one["via"] for one in found} == {way.rsplit(maxsplit=1)[-1]}
    assert {one["message"] for one in lines.all} == {"request", "change", "audit"}


KNOWN_AGAIN = {"syncContext", "appendToAnswer", "stopAnswer", "deleteAnswer", "addNote"}
"""What changes nothing when it is asked a second time; of notes a pin."""
OF_WHAT_IS_LIVE = {"restoreConversation", "adminRestoreConversation"}
"""What changes nothing in the story, where nothing is in a trash."""


@pytest.mark.failure("untraced-change")
@pytest.mark.parametrize("way", ["http", "direct"])
def test_what_changes_something_leaves_one_line_that_says_whose_change_it_was(told: Any, way: str) -> None:
    """What is refused, replayed or already so leaves none."""
    answers, lines = told[way]
    writes = {one.name for one in operations.ALL if not one.is_read}
    expected: list[tuple[Any, ...]] = []
    done: list[tuple[Any, ...]] = []
    for step, status, _ in answers:
        asked = (step.operation, step.given, step.user, step.agent)
        is_replay = asked in done and ("idempotencyKey" in step.given or step.operation in KNOWN_AGAIN)
        is_empty_merge = (step.operation, status) == ("mergeConversation", 200)
        is_no_change = is_replay or is_empty_merge or step.operation in OF_WHAT_IS_LIVE
        if step.operation in writes and status < 400 and not is_no_change:
            expected.append((step.operation, status, hashed(step.user), step.agent))
        done.append(asked)

    found = lines.named("change")
    assert [(one["operation"], one["status"], one["user"], one.get("clientId")) for one in found] == expected
    assert {one["operation"] for one in found if "tree" not in one} == WITHOUT_A_TREE
    made = [one["tree"] for one in found if one["operation"] == "createConversation"]
    assert made[0] == NAMES["root"]


@pytest.mark.failure("leaking-log")
@pytest.mark.parametrize("way", ["sown http", "sown direct"])
def test_no_canary_of_a_good_or_a_bad_request_of_any_operation_is_logged(
    told: Any, way: str, measure: Measure
) -> None:
    """The canaries are in content, titles, tags, keys, user ids and all other parts of requests."""
    answers, lines = told[way]
    measure.count(requests=len(answers), lines=len(lines.texts))

    good = {step.operation for step, status, _ in answers if status < 400}
    assert good == {operation.name for operation in operations.ALL}
    assert CANARY in json.dumps([body for _, _, body in answers])
    assert leaks(lines) == []
    assert any(CANARY in line["who"] for line in lines.named("audit"))


def test_no_id_and_no_key_of_a_plain_request_is_logged(told: Any) -> None:
    for way in ("http", "direct"):
        assert leaks(told[way][1]) == []


# Canaries where they are invalid


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with table_in_memory() as template:
        yield Gateway(template, FORKLORE_AUDITORS="aude")


def members(operation: Operation) -> list[str]:
    """Return the names of an operation's parameters and fields, and a few of other operations."""
    models = [operation.query, *([operation.body] if operation.body else [])]
    schemas = [model.model_json_schema() for model in models]
    every = [part for schema in schemas for part in (schema, *schema.get("$defs", {}).values())]
    names = {name for schema in every for name in schema.get("properties", {})}
    return sorted(
        {*operation.path_names, *names, "entries", "idempotencyKey", "ifMatch", "contentJson", CANARY}
    )


@pytest.mark.failure("leaking-log")
@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_no_canary_in_any_field_of_a_direct_invocation_is_logged(
    gateway: Gateway,
    lines: Lines,
    operation: Operation,
    monkeypatch: pytest.MonkeyPatch,
    measure: Measure,
) -> None:
    monkeypatch.setenv("FORKLORE_DIRECT_ROLES", "allowed")
    direct = Direct(gateway.template)
    path = dict.fromkeys(operation.path_names, conversation_id(8))
    user, roles = ("aude", ["auditor"]) if operation.role else ("ann", [])
    for name in members(operation):
        for junk in (NASTY, [NASTY], {NASTY: NASTY}, f"{CANARY}\ud800"):
            given = {"contentType": "x", "content": [], **path, name: junk}
            event = {"operation": operation.name, "caller": {"userId": user, "roles": roles}, "input": given}
            assert direct.send({**event, "async": True})["status"] != 500, (name, junk)

    assert leaks(lines) == []
    assert len(lines.named("request")) == 4 * len(members(operation))
    measure.count(requests=4 * len(members(operation)))


@pytest.mark.parametrize(
    "event",
    [
        json.dumps(NASTY),
        [NASTY],
        {NASTY: NASTY},
        {"operation": NASTY},
        {"operation": "checkHealth", NASTY: NASTY},
        {"operation": "listConversations", "caller": NASTY},
        {"operation": "listConversations", "caller": {"userId": NASTY}},
        {"operation": "listConversations", "caller": {"userId": "ann", "clientId": NASTY}},
        {"operation": "listConversations", "caller": {"userId": "ann", "roles": [NASTY]}},
        {"operation": "adminListConversations", "caller": {"userId": NASTY, "roles": ["auditor"]}},
        {"operation": "listConversations", "caller": {"userId": "ann"}, "input": NASTY},
        {"detail-type": NASTY, "source": NASTY, "detail": {"operation": NASTY}},
        {"detail-type": NASTY, "source": NASTY, NASTY: NASTY},
        {"detail-type": NASTY, "source": "a", "detail": NASTY},
    ],
)
def test_no_canary_in_the_frame_of_a_direct_invocation_is_logged(
    gateway: Gateway, lines: Lines, event: Any
) -> None:
    Direct(gateway.template).send(event)

    assert len(lines.named("request")) == 1
    assert leaks(lines) == []


@pytest.mark.failure("leaking-log")
@pytest.mark.parametrize("operation", operations.ROUTES, ids=lambda operation: operation.name)
def test_no_canary_in_any_part_of_an_http_request_is_logged(
    gateway: Gateway, lines: Lines, operation: Operation, measure: Measure
) -> None:
    """The canaries are in paths, queries, bodies and headers, tokens and API keys included."""
    path = operation.path.replace("{", "").replace("}", "").replace("conversationId", conversation_id(8))
    wild = re.sub(r"\{\w+\}", CANARY, operation.path)
    asks: list[dict[str, Any]] = [
        *({"query": f"{name}={CANARY}%0a%1b%e2%80%a8"} for name in members(operation)),
        *({"body": {name: NASTY}} for name in members(operation)),
        {"body": CANARY.encode()},
        {"body": f'{{"title":"{CANARY}","title":"{CANARY}\\ud800"}}'},
        {"query": f"{CANARY}=%ff"},
        {"headers": [("If-Match", CANARY)]},
        {"headers": [("Idempotency-Key", f"{CANARY} \t{CANARY}")]},
        {"headers": [("Idempotency-Key", f"key {CANARY}")]},
        {"headers": [("Content-Type", f"text/{CANARY}")], "body": b"{}"},
        {"headers": [("Cookie", CANARY), (f"X-{CANARY}", CANARY), ("User-Agent", CANARY)]},
        {"headers": [("X-Request-Id", f"{CANARY} {CANARY}")]},
        {"headers": [("X-API-Key", CANARY)]},
        {"user": None, "headers": [("Authorization", f"Basic {CANARY}")]},
        {"user": None, "headers": [("Authorization", f"Bearer {CANARY}\x01")]},
    ]
    for at in (path, wild):
        for ask in asks:
            assert gateway.send(operation.method, at, **ask).status != 500, ask

    assert leaks(lines) == []
    assert len(lines.named("request")) == 2 * len(asks)
    measure.count(requests=2 * len(asks))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        (CANARY.upper(), "/v1/conversations"),
        ("GET", f"/{CANARY}"),
        ("GET", f"/v1/{CANARY}%0a"),
        (CANARY, "/"),
    ],
)
def test_no_canary_of_a_request_without_a_route_is_logged(
    gateway: Gateway, lines: Lines, method: str, path: str
) -> None:
    assert gateway.send(method, path, query=CANARY, body=CANARY).status in (404, 405)
    assert leaks(lines) == []
    assert CANARY.upper() not in "".join(lines.texts)


@pytest.mark.parametrize(
    "event", [{CANARY: CANARY}, {"version": CANARY}, {"version": "2.0", "routeKey": NASTY}]
)
def test_no_canary_of_another_event_is_logged(gateway: Gateway, lines: Lines, event: Any) -> None:
    function, _ = gateway.event("GET", "/v1/conversations")
    gateway.raw(function, event)

    assert len(lines.named("request")) == 1
    assert leaks(lines) == []


@pytest.mark.parametrize(
    "body", [NASTY, json.dumps({"groupId": NASTY}), json.dumps({NASTY: NASTY}), json.dumps([NASTY])]
)
def test_no_canary_of_a_message_is_logged(gateway: Gateway, lines: Lines, body: str) -> None:
    [worker] = [one for one in gateway.template.functions if one.polls]
    [record] = sample_event("deleteGroup")["Records"]
    record |= {"body": body, "messageAttributes": {CANARY: CANARY}}

    answer = gateway.raw(worker, {"Records": [record]})

    assert len(answer["batchItemFailures"]) == 1
    assert [line["message"] for line in lines.all] == ["failed", "job"]
    assert leaks(lines) == []
