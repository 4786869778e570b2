"""What is logged in a user's program: no content, and lines that people can read."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

from forklore.domain.model import Caller
from forklore.embedded.service import EmbeddedService
from tests.embedded.test_service import ask
from tests.embedded.writer import entry
from tests.support.processes import PROJECT

CANARY = "canary-in-the-log"


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Log at DEBUG, with the root logger and with each one of botocore's and moto's."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(("botocore", "moto"))]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    with caplog.at_level(logging.DEBUG):
        yield caplog
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


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


def test_what_botocore_logs_of_other_clients_is_left(everything_logged: pytest.LogCaptureFixture) -> None:
    theirs = boto3.client(
        "dynamodb",
        endpoint_url="http://127.0.0.1:9",
        region_name="us-east-1",
        aws_access_key_id="theirs",
        aws_secret_access_key="theirs",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=1),
    )
    with EmbeddedService.open(None) as service:
        ask(service, "createConversation")
        with pytest.raises(EndpointConnectionError):
            theirs.get_item(TableName="theirs", Key={"id": {"S": "their own"}})

    assert "their own" in everything_logged.text


FAILING = """
import sys
from pathlib import Path
from forklore.domain.model import Caller
from forklore.embedded.service import EmbeddedService
with EmbeddedService.open(Path(sys.argv[1])) as service:
    file = service._opened.store._journal._file
    pages = file.execute("PRAGMA page_count").fetchone()[0]
    file.execute(f"PRAGMA max_page_count = {pages}")
    while service.refusal is None:
        service.call("createConversation", {"metadata": {"note": "canary" * 200}}, Caller("ann"))
"""


def said_by(program: str, folder: Path) -> str:
    """Return what a program writes to stderr."""
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=PROJECT / "layers/core",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return run.stderr


@pytest.mark.failure("leaking-log")
def test_a_program_without_logging_is_told_of_a_failure_in_a_line(tmp_path: Path) -> None:
    said = said_by(FAILING, tmp_path).splitlines()

    assert said[0] == (
        "forklore: what is stored could not be written: database or disk is full; open it again"
    )
    assert all(line.startswith("forklore: ") for line in said)
    assert not any("canary" in line for line in said)


def test_a_program_with_logging_is_told_by_it_alone(tmp_path: Path) -> None:
    set_up = "import logging; logging.basicConfig(format='LOGGED %(name)s %(message)s')"
    said = said_by(set_up + FAILING, tmp_path).splitlines()

    assert said[0] == "LOGGED forklore journal"
    assert not any(line.startswith("forklore: ") for line in said)
