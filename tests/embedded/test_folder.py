"""Which folders can be opened, by whom, and what is said of the others."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from forklore.domain.model import Caller
from forklore.embedded.folder import JOURNAL, OTHERS, DataError, free, locked
from forklore.embedded.journal import FORMAT
from forklore.embedded.service import EmbeddedService
from tests.support.processes import PROJECT

ANN = Caller("ann")


def create(service: EmbeddedService) -> str:
    made = service.call("createConversation", {"title": "kept"}, ANN)
    assert made.status == 201, made
    made_id: str = json.loads(made.text)["id"]
    return made_id


def title(service: EmbeddedService, conversation_id: str) -> str:
    shown: str = json.loads(service.call("getConversation", {"conversationId": conversation_id}, ANN).text)[
        "title"
    ]
    return shown


def refused(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        EmbeddedService.open(folder)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_folder_keeps_what_is_stored_and_none_forgets(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path) as service:
        made = create(service)
    with EmbeddedService.open(tmp_path) as service:
        assert title(service, made) == "kept"
    with EmbeddedService.open(None) as service:
        made = create(service)
    with EmbeddedService.open(None) as service:
        assert service.call("getConversation", {"conversationId": made}, ANN).status == 404


def test_services_of_one_folder_share_it_until_the_last_is_closed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    first, second = EmbeddedService.open(tmp_path / "real"), EmbeddedService.open(tmp_path / "link")
    made = create(first)
    assert title(second, made) == "kept"
    first.close()
    first.close()
    assert title(second, made) == "kept"
    second.close()

    for closed in (first, second):
        with pytest.raises(RuntimeError, match="closed"):
            closed.call("getConversation", {"conversationId": made}, ANN)
    with EmbeddedService.open(tmp_path / "link") as third:
        assert title(third, made) == "kept"


OPEN = """
import sys
from pathlib import Path
from forklore.embedded.service import DataError, EmbeddedService
try:
    EmbeddedService.open(Path(sys.argv[1])).close()
except DataError as error:
    print(error)
"""


def opened_by_another_process(folder: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-c", OPEN, str(folder)],
        cwd=PROJECT / "layers/core",
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


@pytest.mark.long
def test_a_folder_in_use_is_refused_to_another_process(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path):
        assert opened_by_another_process(tmp_path) == f"{tmp_path} is in use by another process\n"
    assert opened_by_another_process(tmp_path) == ""


def test_a_folder_that_is_made_is_ignored_by_git_and_no_other(tmp_path: Path) -> None:
    EmbeddedService.open(tmp_path / "a" / "new").close()
    EmbeddedService.open(tmp_path).close()

    assert (tmp_path / "a" / "new" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / ".gitignore").exists()


def test_a_place_that_can_be_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "cannot keep data in" in refused(tmp_path / "file" / "data")


@pytest.mark.parametrize("file", OTHERS)
def test_data_of_another_database_is_left_alone(tmp_path: Path, file: str) -> None:
    (tmp_path / file).touch()

    assert OTHERS[file] in refused(tmp_path)
    assert not (tmp_path / JOURNAL).exists()


def test_data_of_a_newer_forklore_is_refused_and_left_alone(tmp_path: Path) -> None:
    EmbeddedService.open(tmp_path).close()
    with sqlite3.connect(tmp_path / JOURNAL) as file:
        file.execute(f"PRAGMA user_version = {FORMAT + 1}")
    file.close()
    before = (tmp_path / JOURNAL).read_bytes()

    assert f"newer forklore (format {FORMAT + 1}; this reads {FORMAT})" in refused(tmp_path)
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_another_programs_data_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / JOURNAL) as file:
        file.execute("CREATE TABLE theirs (a)")
    file.close()

    assert "no data of forklore" in refused(tmp_path)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b"this is no database" * 100)

    assert "cannot open" in refused(tmp_path)


@pytest.mark.parametrize("row", ['{"SK":{"S":"b"}}', "[]", "5", '{"PK":[],"SK":{"S":"b"}}', "{"])
def test_a_broken_item_is_refused_and_the_folder_is_free_again(tmp_path: Path, row: str) -> None:
    EmbeddedService.open(tmp_path).close()
    with sqlite3.connect(tmp_path / JOURNAL) as file:
        file.execute("INSERT INTO item VALUES ('a', 'b', ?)", (row,))
    assert "cannot be read" in refused(tmp_path)
    with file:
        file.execute("DELETE FROM item")
    file.close()

    EmbeddedService.open(tmp_path).close()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_refused_and_frees_nothing(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path) as service:
        made = create(service)
        child = os.fork()
        if child == 0:
            status = service.call("getConversation", {"conversationId": made}, ANN).status
            service.close()
            os._exit(7 if status == 503 else 8)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert "in use by another process" in opened_by_another_process(tmp_path)
        assert title(service, made) == "kept"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_busy_folder_holds_up_neither_another_nor_a_forked_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore.embedded.folder.FREE_WITHIN_SECONDS", 3.0)
    busy = locked(tmp_path)
    waits = threading.Thread(target=refused, args=(tmp_path,))
    waits.start()
    try:
        EmbeddedService.open(tmp_path / "other").close()
        child = os.fork()
        if child == 0:
            with EmbeddedService.open(None) as service:
                create(service)
            os._exit(7)
        assert waits.is_alive()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        waits.join()
        free(busy)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_is_free_after_closing_while_a_forked_process_lives(tmp_path: Path) -> None:
    service = EmbeddedService.open(tmp_path)
    ends, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.read(ends, 1)  # until the other end is closed
        os._exit(0)
    try:
        service.close()
        assert opened_by_another_process(tmp_path) == ""
        EmbeddedService.open(tmp_path).close()
    finally:
        os.close(ends)
        os.close(end)
        os.waitpid(child, 0)
