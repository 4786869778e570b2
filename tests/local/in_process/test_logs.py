"""What is logged in a user's program: no content, and lines that people can read."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.test_service import ask
from tests.local.in_process.writer import entry

CANARY = "canary-in-the-log"


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Log at DEBUG, with the root logger."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


@pytest.mark.failure("leaking-log")
def test_nothing_that_callers_wrote_is_logged_at_any_level(
    everything_logged: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caller = Caller("ann", CANARY)
    with EmbeddedService.open(tmp_path) as service:
        chat = ask(service, "createConversation", caller, title=CANARY, metadata={"a": CANARY})[1]["id"]
        given = {"conversationId": chat, **entry(CANARY)}
        assert ask(service, "appendEntry", caller, idempotencyKey=CANARY, **given)[0] == 201
        assert CANARY in str(ask(service, "listEntries", caller, conversationId=chat))
        ask(service, "updateConversation", caller, conversationId=chat, title=f"{CANARY} 2")
        ask(service, "deleteConversation", caller, conversationId=chat)

    assert CANARY not in everything_logged.text
    assert not [record for record in everything_logged.records if CANARY in str(record.__dict__)]
