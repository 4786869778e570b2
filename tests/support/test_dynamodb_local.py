"""What tests do if DynamoDB Local is missing, and how they fetch it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.dynamodb_local import REQUIRED, any_dynamodb, dynamodb_local_or_skip
from tools.harness.dynamodb import fetch

ENDS = (pytest.fail.Exception, pytest.skip.Exception)
SLOW_MAVEN = """\
#!/bin/sh
echo run >> "$RUNS"
sleep 0.5
mkdir jars
"""


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("start", [dynamodb_local_or_skip, any_dynamodb])
def test_a_test_fails_and_says_what_to_install_if_it_is_required_and_missing(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[], AbstractContextManager[str]]
) -> None:
    monkeypatch.setenv(REQUIRED, "1")

    with pytest.raises(ENDS, match="install Java 17 and Maven") as raised, start():
        pass
    assert raised.type is pytest.fail.Exception


@pytest.mark.usefixtures("no_java")
def test_a_test_is_skipped_or_uses_the_engine_if_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRED, raising=False)

    with pytest.raises(ENDS, match="NOT TESTED") as raised, dynamodb_local_or_skip():
        pass
    assert raised.type is pytest.skip.Exception
    with any_dynamodb() as endpoint:
        assert endpoint.startswith("http://127.0.0.1:")


def test_only_one_of_several_processes_fetches_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maven, runs = tmp_path / "mvn", tmp_path / "runs"
    maven.write_text(SLOW_MAVEN)
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("RUNS", str(runs))

    with ThreadPoolExecutor(3) as threads:
        folders = list(threads.map(fetch, [tmp_path / "cache"] * 3))

    assert runs.read_text() == "run\n"
    assert [folder.is_dir() for folder in folders] == [True] * 3
