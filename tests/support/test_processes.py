"""The environment of processes that tests start."""

import pytest

from tests.support.processes import environment


@pytest.mark.parametrize(
    "name", ["AWS_PROFILE", "AWS_DEFAULT_PROFILE", "HTTP_PROXY", "https_proxy", "all_proxy"]
)
def test_a_process_inherits_no_variable_that_leads_away_from_this_machine(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "elsewhere")
    monkeypatch.setenv("ANOTHER", "kept")

    made = environment("http://127.0.0.1:1", "table")

    assert "elsewhere" not in made.values()
    assert made["ANOTHER"] == "kept"
