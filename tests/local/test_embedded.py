import os
import time
from collections.abc import Iterator
from unittest import mock

import boto3
import pytest

from forklore.local import embedded

TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
}


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    with mock.patch.dict(os.environ):
        for name in list(os.environ):
            if name.startswith(("AWS_", "FORKLORE_")):
                del os.environ[name]
        yield


def test_the_embedded_store_has_the_table_and_cannot_reach_the_developers_accounts() -> None:
    os.environ |= {
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "a real one",
        "AWS_SESSION_TOKEN": "a real one",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "FORKLORE_DYNAMODB_ENDPOINT": "",
    }
    started = embedded.open_database(TABLE)
    try:
        assert boto3.client("dynamodb").list_tables()["TableNames"] == ["forklore"]
        assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "FORKLORE_DYNAMODB_ENDPOINT"}.isdisjoint(os.environ)
        assert os.environ["FORKLORE_TABLE"] == "forklore"
        assert os.environ["AWS_DEFAULT_REGION"] == os.environ["AWS_REGION"] == "us-east-1"
        assert "real" not in os.environ["AWS_ACCESS_KEY_ID"]
    finally:
        assert started
        started.stop()


def test_a_configured_table_name_and_region_are_kept() -> None:
    os.environ |= {"FORKLORE_TABLE": "mine", "AWS_DEFAULT_REGION": "eu-central-1"}
    started = embedded.open_database(TABLE)
    try:
        client = boto3.client("dynamodb")
        assert client.meta.region_name == "eu-central-1"
        assert client.list_tables()["TableNames"] == ["mine"]
    finally:
        assert started
        started.stop()


def test_the_error_for_an_endpoint_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "REACHABLE_WITHIN_SECONDS", 0.5)
    os.environ["FORKLORE_DYNAMODB_ENDPOINT"] = "http://127.0.0.1:9"
    started = time.monotonic()

    with pytest.raises(embedded.DatabaseError, match=r"\Ano usable DynamoDB at http://127.0.0.1:9: .*\Z"):
        embedded.open_database(TABLE)

    assert time.monotonic() - started > 0.5
