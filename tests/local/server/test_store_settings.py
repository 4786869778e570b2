import os
import time
from collections.abc import Iterator
from unittest import mock

import pytest

from forklore_local.server import store


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    with mock.patch.dict(os.environ):
        for name in list(os.environ):
            if name.startswith(("AWS_", "FORKLORE_")):
                del os.environ[name]
        yield


def test_no_setting_can_reach_the_developers_accounts() -> None:
    os.environ |= {
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "a real one",
        "AWS_SESSION_TOKEN": "a real one",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "FORKLORE_DYNAMODB_ENDPOINT": "",
    }
    store.set_environment()

    assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "FORKLORE_DYNAMODB_ENDPOINT"}.isdisjoint(os.environ)
    assert os.environ["FORKLORE_TABLE"] == "forklore"
    assert os.environ["AWS_DEFAULT_REGION"] == os.environ["AWS_REGION"] == "us-east-1"
    assert "real" not in os.environ["AWS_ACCESS_KEY_ID"]


def test_a_configured_table_name_and_region_are_kept() -> None:
    os.environ |= {"FORKLORE_TABLE": "mine", "AWS_DEFAULT_REGION": "eu-central-1"}
    store.set_environment()

    assert (os.environ["FORKLORE_TABLE"], os.environ["AWS_REGION"]) == ("mine", "eu-central-1")


def test_the_error_for_an_endpoint_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "REACHABLE_WITHIN_SECONDS", 0.5)
    store.set_environment()
    started = time.monotonic()

    with pytest.raises(store.DatabaseError, match=r"\Ano usable DynamoDB at http://127.0.0.1:9: .*\Z"):
        store.open_table_at("http://127.0.0.1:9")

    assert time.monotonic() - started > 0.5
