"""The authorizer's sample event. Its token has expired; a new token makes it valid."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forklore_local.server.token import AUDIENCE, ISSUER, main
from forklore_service.credentials.authorizer import open_authorizer
from functions.authorizer.app import handler
from tests.functions.story import AUTHORIZER
from tools.harness.gateway import PROJECT
from tools.harness.sample_events import sample_event

PACKAGE = PROJECT / "functions" / "authorizer"


@pytest.fixture
def token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[str]:
    """A valid token. Configures the function for the development issuer."""
    file = tmp_path / "key.pem"
    main(["--keys"], file=file)
    main(["alice"], file=file)
    keys, token = capsys.readouterr().out.splitlines()
    settings = {"ISSUER": ISSUER, "AUDIENCE": AUDIENCE, "ISSUER_KEYS": keys, "ADMINS": "al*"}
    for name, text in settings.items():
        monkeypatch.setenv(f"FORKLORE_{name}", text)
    open_authorizer.cache_clear()
    yield token
    open_authorizer.cache_clear()


@pytest.fixture
def event() -> dict[str, Any]:
    return sample_event(AUTHORIZER)


@pytest.mark.usefixtures("token")
def test_the_token_of_the_sample_event_has_expired(event: dict[str, Any]) -> None:
    assert handler(event, None) == {"isAuthorized": True, "context": {}}


def test_with_a_valid_token_the_sample_event_has_a_user(event: dict[str, Any], token: str) -> None:
    event["headers"]["authorization"] = f"Bearer {token}"

    assert handler(event, None)["context"] == {"userId": "alice", "roles": ["admin", "auditor"]}


def test_all_packages_of_the_authorizer_are_pinned_with_hashes() -> None:
    wanted = [
        line for line in (PACKAGE / "requirements.in").read_text().splitlines() if not line.startswith("#")
    ]
    locked = (PACKAGE / "requirements.txt").read_text()
    pins = [line for line in locked.splitlines() if "==" in line]

    assert all(f"\n{pin.lower()} \\" in f"\n{locked}" for pin in wanted)
    assert all(pin.endswith(" \\") for pin in pins)


def test_what_is_tested_is_what_is_deployed() -> None:
    deployed, installed = (
        {line.split()[0] for line in file.read_text().splitlines() if "==" in line}
        for file in (PACKAGE / "requirements.txt", PROJECT / "requirements" / "dev.txt")
    )

    assert deployed <= installed
