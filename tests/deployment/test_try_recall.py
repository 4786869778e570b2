"""The trial of recall on AWS, on the engine: it cannot show how late and how inexact AWS is."""

import re

import pytest

from forklore_service.storage.clients import make_client
from tools.deployment import try_recall
from tools.harness.dynamodb import engine_server


def test_it_measures_and_deletes_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    monkeypatch.setattr(try_recall, "LATE", 2)
    monkeypatch.setattr(try_recall, "SEARCHES", 2)
    with engine_server() as endpoint:
        asked = ["--yes", "--no-live-index", "--vectors", "200", "--endpoint", endpoint]
        assert try_recall.main(asked) == 0
        tables = make_client(endpoint).list_tables()["TableNames"]

    told = capsys.readouterr().out
    assert re.search(r"^host of searches: 127\.0\.0\.1$", told, re.MULTILINE)
    assert "a filter that keeps 1 % of 200: 2 of 2 at the least" in told
    assert "of the ten nearest of 200, a search has 100%" in told
    assert tables == []
