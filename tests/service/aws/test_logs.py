"""The log has one line per request and one per bug. No line holds what a caller sent."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel

from forklore_local.server.invocation import LambdaContext
from forklore_service.api import answer_models
from forklore_service.api.conversation_requests import CreateConversation
from forklore_service.api.entry_requests import EntryFields
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.api.requests import Described
from forklore_service.aws.http import HttpApi
from forklore_service.aws.wiring import open_table
from forklore_service.domain.jsontext import JsonText
from forklore_service.errors import BrokenAncestryError, ForkloreError
from tests.service.api.samples import good_values, schemas_of, words_of
from tests.service.aws.world import (
    CONVERSATIONS,
    ROOT,
    Ask,
    append,
    conversations,
    create,
)
from tests.support.lines import Lines
from tools.harness.gateway import Answer, Gateway

CANARY = "canary-7f3a"
"""The tests send this text wherever a caller can send text. No log may hold it."""
USER = f"user {CANARY}"
NAMES_ANOTHER = {"userId", "mergedFromConversationId", "mergedUpToEntryId"}
"""Texts of an entry that must name something that exists."""


def texts_of(model: type[BaseModel]) -> dict[str, str]:
    """Return a value with a canary for each free text that a body takes."""
    values = {name: good_values(name, some) for name, some in schemas_of(model).items() if not words_of(some)}
    texts = {name for name, some in values.items() if some and isinstance(some[0], str)}
    return {name: f"{name} {CANARY}" for name in texts - NAMES_ANOTHER}


CONTENT: Mapping[str, Any] = {
    **texts_of(EntryFields),
    "contentType": f"history/{CANARY}",
    "content": [{"role": "USER", "text": f"said {CANARY}", CANARY: CANARY}],
}
CHANGED: Mapping[str, Any] = {
    **texts_of(Described),
    "tags": {CANARY: CANARY},
    "metadata": {CANARY: CANARY},
}
DESCRIBED: Mapping[str, Any] = {**CHANGED, "agentId": CANARY}
HEADERS = [("X-Secret", CANARY), ("Cookie", f"session={CANARY}")]


@dataclass(frozen=True)
class Logged:
    """Everything logged and printed since the test began."""

    _log: pytest.LogCaptureFixture
    _streams: pytest.CaptureFixture[str]

    @property
    def records(self) -> list[logging.LogRecord]:
        return self._log.records

    @property
    def text(self) -> str:
        """All of it as one text: messages, arguments, tracebacks and printed output."""
        forms = logging.Formatter("%(name)s %(message)s %(pathname)s %(exc_text)s %(stack_info)s")
        return "\n".join(
            [*(f"{forms.format(one)} {one.__dict__}" for one in self.records), *self._streams.readouterr()]
        )


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    """Records what is logged and printed. forklore's own log is recorded down to DEBUG."""
    with caplog.at_level(logging.DEBUG, logger="forklore"):
        yield Logged(caplog, capfd)


def as_canary(ask: Ask) -> Ask:
    """Return the request with a canary as its user and in its own Idempotency-Key."""
    once = [("Idempotency-Key", f"key {CANARY} {ask.path} {str(ask.body)[:99]}")]
    return replace(ask, headers=[*HEADERS, *once, *ask.headers], user=USER)


@pytest.mark.parametrize(
    "leak",
    [
        lambda log: log.debug("with %s", CANARY),
        lambda log: log.info("a field", extra={"title": CANARY}),
        lambda log: log.error("a traceback", exc_info=ValueError(CANARY)),
        lambda _log: sys.stdout.write(CANARY),
        lambda _log: os.write(2, CANARY.encode()),
    ],
    ids=["an argument", "a field", "a traceback", "standard output", "standard error"],
)
def test_these_tests_would_notice_it(logged: Logged, leak: Callable[[logging.Logger], None]) -> None:
    leak(logging.getLogger("forklore.edge"))

    assert CANARY in logged.text


def failing_with(bug: Exception) -> Callable[[CheckedRequest], NoReturn]:
    """Return a use case that raises `bug` from another exception. Both hold content."""

    def fail(_call: CheckedRequest) -> NoReturn:
        bug.add_note(f"content {CANARY}")
        raise bug from KeyError(f"content {CANARY}")

    return fail


BUGS = [
    ValueError(f"could not read {CANARY}"),
    KeyError(CANARY),
    RuntimeError(JsonText(CANARY, CANARY)),
    UnicodeEncodeError("utf-8", f"{CANARY}\ud800", 0, 1, CANARY),
    RecursionError(f"{CANARY}\n{CANARY}"),
    AssertionError(CANARY),
    BrokenAncestryError(f"{CANARY} has no parent"),
]


@pytest.mark.failure("leaking-log")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
def test_a_bug_is_500_and_one_json_line_that_says_where_in_the_code_it_is(
    gateway: Gateway, logged: Logged, lines: Lines, bug: Exception
) -> None:
    failing = Operation(
        "fail",
        "POST",
        CONVERSATIONS,
        failing_with(bug),
        "Health",
        body=CreateConversation,
    )
    function, event = gateway.event(
        "POST",
        CONVERSATIONS,
        body=json.dumps(DESCRIBED).encode(),
        headers=[("Authorization", f"Bearer {USER}"), ("X-Request-Id", "of-the-bug"), *HEADERS],
    )
    answer = HttpApi([failing]).handle(event, LambdaContext(function))
    error = answer_models.Error.model_validate_json(answer["body"], strict=True)
    line, request = lines.all

    assert (answer["statusCode"], error.code, error.request_id) == (500, "internal_error", "of-the-bug")
    assert line.keys() == {"timestamp", "level", "logger", "message", "xRequestId", "type", "frames"}
    assert (line["message"], line["level"]) == ("bug", "ERROR")
    assert (line["xRequestId"], line["type"]) == ("of-the-bug", type(bug).__name__)
    assert line["frames"][-1].endswith(" fail")
    assert (request["message"], request["operation"], request["status"]) == ("request", "fail", "500")
    assert not any("\n" in text for text in lines.texts)
    assert CANARY not in logged.text
    assert CANARY not in answer["body"] or isinstance(bug, ForkloreError)


@pytest.mark.parametrize("ask", [create(DESCRIBED), append(CONTENT), conversations(f"query={CANARY}")])
def test_a_missing_table_is_logged_as_a_bug_without_content(
    gateway: Gateway, logged: Logged, lines: Lines, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.setenv("FORKLORE_TABLE", "gone")
    open_table.cache_clear()
    try:
        answer = _send(gateway, as_canary(ask))
    finally:
        open_table.cache_clear()
    [bug] = lines.named("bug")

    assert answer.status == 500
    assert bug["xRequestId"] == answer.json["requestId"]
    assert CANARY not in logged.text
    assert ROOT not in logged.text


def _send(gateway: Gateway, ask: Ask) -> Answer:
    return gateway.send(
        ask.method, ask.path, query=ask.query, body=ask.body, headers=ask.headers, user=ask.user
    )


@pytest.mark.parametrize(
    ("setting", "user"), [("plain", "ann \\u202e"), ("", "28e29f8e"), ("hashed", "28e29f8e")]
)
def test_the_line_of_a_change_names_its_user_as_the_deployment_wants(
    gateway: Gateway, lines: Lines, monkeypatch: pytest.MonkeyPatch, setting: str, user: str
) -> None:
    monkeypatch.setenv("FORKLORE_LOG_USERS", setting)

    gateway.send("POST", "/v1/conversations", body={}, user="ann \u202e")

    [line] = lines.named("change")
    assert line["user"].startswith(user)
