"""`make check` runs the tests of what has changed, and names the commands of CI."""

import re
from pathlib import Path

import pytest

from tools.check import ALONE, BY_CI, EVERYWHERE, commands_of, rooms_of
from tools.size import PARTS

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("layers/core/forklore_service/usecases/writing/append.py", "tests/service/usecases/writing"),
        ("layers/core/forklore_service/storage/actions/group.py", "tests/service/storage"),
        ("layers/core/forklore_service/errors.py", "tests/service"),
        ("local/forklore_local/in_process/service.py", "tests/local/in_process"),
        ("clients/python/forklore/client/asynchronous/client.py", "tests/clients/python"),
        ("clients/python/forklore/importing/formats/any_order.py", "tests/clients/importing/formats"),
        ("functions/publish/app.py", "tests/functions"),
        ("tools/bench/passed.py", "tests/tools/bench"),
        ("tests/local/fsck/world.py", "tests/local/fsck"),
        ("tests/local/fsck/test_check.py", "tests/local/fsck/test_check.py"),
        ("docs/api.md", "tests/service/api"),
    ],
)
def test_a_file_is_checked_by_the_tests_of_its_room(changed: str, tests: str) -> None:
    assert tests in rooms_of([changed])


def test_a_room_stands_for_the_files_in_it() -> None:
    rooms = rooms_of(["tests/local/fsck/world.py", "tests/local/fsck/test_check.py"])
    assert rooms == [*EVERYWHERE, "tests/local/fsck"]


@pytest.mark.parametrize(
    "changed",
    ["web/explorer/main.tsx", "tests/web/steps.py", "tests/service/http/test_model.py", "README", "gone.py"],
)
def test_what_has_no_tests_here_runs_what_every_change_may_break(changed: str) -> None:
    assert rooms_of([changed]) == list(EVERYWHERE)


def test_the_commands_are_those_that_ci_runs_and_the_makefile_has() -> None:
    run_by_ci = re.findall(r"^\s*lane (.*?)(?: &| \|\||$)", (PROJECT / ".ci/run").read_text(), re.MULTILINE)
    assert {*BY_CI} == {command for lane in run_by_ci for command in lane.split()}
    makefile = (PROJECT / "Makefile").read_text()
    assert all(re.search(rf"^{command}:.* ##", makefile, re.MULTILINE) for command in BY_CI)


def test_the_folders_are_there() -> None:
    named = {*PARTS, *ALONE, *EVERYWHERE, *(folder for folders in BY_CI.values() for folder in folders)}
    assert [one for one in named if not (PROJECT / one).exists()] == []


def test_a_change_of_the_page_is_tested_by_its_own_command() -> None:
    assert commands_of(["web/explorer/main.tsx"]) == ["test", "test-web"]
