"""What `sam local` is told, held against the authorizer that reads it and the template that names it."""

import os
import time
from pathlib import Path
from unittest import mock

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from forklore.credentials.authorizer import make_authorizer
from forklore.credentials.settings import Settings

from local_server import sam_local
from tests.deployment.document import FUNCTION, of_type, read_document

KEY = ec.generate_private_key(ec.SECP256R1())
TOLD = sam_local.settings(KEY, table="forklore", endpoint="http://127.0.0.1:8000")["Parameters"]


def test_the_authorizer_takes_the_tokens_and_the_key_of_an_agent() -> None:
    authorizer = make_authorizer(Settings.from_environment(TOLD))
    headers = {"authorization": f"Bearer {sam_local.token(KEY, 'alice', now_s=int(time.time()))}"}

    assert authorizer.context_of({"headers": headers}) == {"userId": "alice", "roles": []}
    headers["x-api-key"] = sam_local.API_KEY
    assert authorizer.context_of({"headers": headers})["clientId"] == sam_local.CLIENT


def test_only_what_the_template_names_is_set() -> None:
    document = read_document()
    named = set(document["Globals"]["Function"]["Environment"]["Variables"])
    for function in of_type(document, FUNCTION).values():
        named |= set(function.get("Environment", {}).get("Variables", {}))

    assert TOLD.keys() <= named


def test_the_containers_reach_the_database_under_another_name() -> None:
    assert TOLD["FORKLORE_DYNAMODB_ENDPOINT"] == "http://host.docker.internal:8000"


def test_each_user_gets_a_header_and_agents_get_theirs() -> None:
    printed = [line.partition("   # ") for line in sam_local.headers(KEY, ["alice", "bob"], now_s=0)]

    assert [whose for _, _, whose in printed] == ["alice", "bob", "an agent, beside a user's"]
    assert all(header.startswith("Authorization: Bearer ey") for header, _, _ in printed[:2])
    assert printed[2][0] == "X-API-Key: local-key"


def test_without_a_database_it_says_what_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("local_server.embedded.REACHABLE_WITHIN_SECONDS", 0.1)

    with mock.patch.dict(os.environ, FORKLORE_DYNAMODB_ENDPOINT="http://127.0.0.1:9"):
        assert sam_local.main(str(tmp_path / "env.json"), ["alice"]) == 1

    assert not (tmp_path / "env.json").exists()
    assert "Start DynamoDB Local" in capsys.readouterr().err
