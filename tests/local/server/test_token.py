import json
from pathlib import Path
from typing import Any

import pytest

from forklore_local.server.token import AUDIENCE, ISSUER, main
from forklore_service.credentials.authorizer import make_authorizer
from forklore_service.credentials.settings import AuthorizerSettings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "key.pem"


def printed(capsys: pytest.CaptureFixture[str], file: Path, *arguments: str) -> str:
    """Return the one line that the command prints."""
    assert main(arguments, file=file) == 0
    [line] = capsys.readouterr().out.splitlines()
    return line


def told(token: str, **changes: str) -> dict[str, Any]:
    """Return the authorizer's answer to a token in a deployment for development."""
    settings = {"FORKLORE_ISSUER": ISSUER, "FORKLORE_AUDIENCE": AUDIENCE, **changes}
    event = {"headers": {"authorization": f"Bearer {token}"}}
    return make_authorizer(AuthorizerSettings.from_environment(settings)).context_of(event)


def test_a_deployment_with_the_keys_accepts_the_tokens(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    token, keys = printed(capsys, file, "zoë"), printed(capsys, file, "--keys")

    assert told(token, FORKLORE_ISSUER_KEYS=keys) == {"userId": "zoë", "roles": []}
    assert told(token, FORKLORE_ISSUER_KEYS=keys, FORKLORE_AUDIENCE="other") == {}
    assert told(token, FORKLORE_ISSUER_KEYS=keys, FORKLORE_ISSUER="https://other.invalid") == {}


def test_issuer_audience_and_hours_can_be_chosen(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    keys = printed(capsys, file, "--keys")
    chosen = {
        "FORKLORE_ISSUER": "https://a.invalid/b",
        "FORKLORE_AUDIENCE": "c",
        "FORKLORE_ISSUER_KEYS": keys,
    }
    arguments = ("ann", "--issuer", "https://a.invalid/b", "--audience", "c")

    assert told(printed(capsys, file, *arguments), **chosen)["userId"] == "ann"
    assert told(printed(capsys, file, *arguments, "--hours", "-1"), **chosen) == {}


def test_several_users_make_a_list_for_the_tests(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    keys = printed(capsys, file, "--keys")
    pairs = dict(pair.split("=", 1) for pair in printed(capsys, file, "ann", "bob").split(","))

    assert {user: told(token, FORKLORE_ISSUER_KEYS=keys)["userId"] for user, token in pairs.items()} == {
        "ann": "ann",
        "bob": "bob",
    }


def test_the_key_file_is_readable_only_by_its_owner_and_never_printed(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    first = printed(capsys, file, "--keys")

    assert file.stat().st_mode & 0o777 == 0o600
    assert printed(capsys, file, "--keys") == first
    assert "d" not in json.loads(first)["keys"][0]


@pytest.mark.parametrize("arguments", [[], ["ann", "--keys"], [" "], ["a\nb"]])
def test_without_users_or_with_users_and_keys_the_command_says_how_to_use_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments, file=file)

    assert ended.value.code == 2
    assert "name users, or ask for --keys" in capsys.readouterr().err
    assert not file.exists()
