"""The settings for `sam local` agree with the authorizer that reads them and the template."""

import os
import time
from pathlib import Path
from unittest import mock

import pytest

from forklore_local.server.token import AUDIENCE, ISSUER, development_key, key_set, make_token
from forklore_service.credentials.authorizer import make_authorizer
from forklore_service.credentials.settings import AuthorizerSettings
from tests.deployment.document import FUNCTION, of_type, read_document
from tools.deployment import sam_local

TOLD = {"FORKLORE_DYNAMODB_ENDPOINT": "http://127.0.0.1:8000", "FORKLORE_TABLE": "forklore"}


def test_the_authorizer_takes_development_tokens_and_the_key_of_an_agent(tmp_path: Path) -> None:
    key = development_key(tmp_path / "cache" / "key.pem")
    environ = TOLD | {"FORKLORE_API_KEYS": "planner=key=of=planner", "FORKLORE_ADMINS": "adam"}
    told = sam_local.settings(key_set(key), environ)["Parameters"]
    token = make_token("adam", key, issuer=ISSUER, audience=AUDIENCE, hours=1, now=time.time())
    headers = {"authorization": f"Bearer {token}", "x-api-key": "key=of=planner"}

    assert make_authorizer(AuthorizerSettings.from_environment(told)).context_of({"headers": headers}) == {
        "userId": "adam",
        "clientId": "planner",
        "roles": ["admin", "auditor"],
    }


def test_only_variables_of_the_template_are_set() -> None:
    document = read_document()
    named = set(document["Globals"]["Function"]["Environment"]["Variables"])
    for function in of_type(document, FUNCTION).values():
        named |= set(function.get("Environment", {}).get("Variables", {}))

    assert sam_local.settings({}, TOLD)["Parameters"].keys() <= named


@pytest.mark.parametrize(("endpoint", "port"), [("http://127.0.0.1:8000", 8000), ("http://dynamodb", 80)])
def test_the_containers_reach_the_database_under_another_name(endpoint: str, port: int) -> None:
    told = sam_local.settings({}, TOLD | {"FORKLORE_DYNAMODB_ENDPOINT": endpoint})["Parameters"]

    assert told["FORKLORE_DYNAMODB_ENDPOINT"] == f"http://host.docker.internal:{port}"


def test_without_a_database_sam_local_says_what_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("forklore_local.server.store.REACHABLE_WITHIN_SECONDS", 0.1)

    with mock.patch.dict(os.environ, FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:9"):
        assert sam_local.main(str(tmp_path / "env.json")) == 1

    assert "Start DynamoDB Local" in capsys.readouterr().err
    assert not (tmp_path / "env.json").exists()
