"""A store changes nothing of the process: no other client, no variable, no setting of the user."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from forklore.embedded.store import Store
from tests.embedded.items import TABLE, everything, key, put


class Theirs(BaseHTTPRequestHandler):
    """The user's own DynamoDB."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"TableNames": ["theirs"]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def theirs() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Theirs)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def plain_client(endpoint: str | None = None) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="theirs",
        aws_secret_access_key="theirs",
    )


def test_no_other_client_of_the_process_is_answered_by_a_store(theirs: str) -> None:
    before = plain_client(theirs)
    own = Store().make_client()
    after = plain_client(theirs)

    assert before.list_tables()["TableNames"] == after.list_tables()["TableNames"] == ["theirs"]
    assert own.list_tables()["TableNames"] == [TABLE]
    for client in (before, after):
        client.close()


def test_two_stores_do_not_see_each_other() -> None:
    one, other = Store().make_client(), Store().make_client()
    put(one, "a", "1")

    assert everything(one) == [key("a", "1")]
    assert everything(other) == []


def test_a_users_mock_of_aws_and_a_store_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        own, mocked = Store().make_client(), plain_client()
        put(own, "a", "1")

        assert mocked.list_tables()["TableNames"] == []
        assert everything(own) == [key("a", "1")]


def test_a_store_looks_at_nothing_of_the_user_and_sets_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "nonsense").write_text("[[[ no settings")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nonsense"))
    for name in ("AWS_PROFILE", "AWS_DEFAULTS_MODE", "AWS_RETRY_MODE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "there is no such thing")
    for name in ("AWS_ENDPOINT_URL", "HTTP_PROXY", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    before = dict(os.environ)

    client = Store().make_client()
    put(client, "a", "1")

    assert everything(client) == [key("a", "1")]
    assert dict(os.environ) == before
