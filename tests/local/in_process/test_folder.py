"""Which folders can be opened, by whom, and what is said of the others."""

import fcntl
import json
import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from forklore import Forklore
from forklore_local.fsck.command import INTACT, check_folder
from forklore_local.in_process.folder import FILE, FORMAT, OLD_LOCK, OTHERS, DataError
from forklore_local.in_process.opened import Opened
from forklore_local.in_process.service import EmbeddedService
from forklore_local.in_process.upkeep import back_up
from forklore_service.domain.model import Caller
from forklore_service.errors import StoreFailedError, UnavailableError
from tests.local.conftest import Kept
from tests.local.embedded.items import everything, key, put
from tests.local.in_process.asking import call
from tests.local.in_process.writer import entry
from tests.support.processes import PROJECT

ANN = Caller("ann")
NOBODY = 65534


def create(service: EmbeddedService) -> str:
    made = call(service, "createConversation", {"title": "kept"}, ANN)
    assert made.status == 201, made
    made_id: str = json.loads(made.text)["id"]
    return made_id


def title(service: EmbeddedService, conversation_id: str) -> str:
    shown: str = json.loads(call(service, "getConversation", {"conversationId": conversation_id}, ANN).text)[
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
        assert call(service, "getConversation", {"conversationId": made}, ANN).status == 404


def test_services_and_processes_share_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    first, second = EmbeddedService.open(tmp_path / "real"), EmbeddedService.open(tmp_path / "link")
    made = create(first)
    assert title(second, made) == "kept"
    assert read_by_another_process(tmp_path / "real", made) == "kept"
    first.close()
    first.close()
    assert title(second, made) == "kept"
    second.close()

    for closed in (first, second):
        with pytest.raises(RuntimeError, match="closed"):
            call(closed, "getConversation", {"conversationId": made}, ANN)
    with EmbeddedService.open(tmp_path / "link") as third:
        assert title(third, made) == "kept"


def put_back(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("copy"), folder)


@pytest.mark.failure("replaced-folder")
@pytest.mark.parametrize(
    "replace",
    [
        put_back,
        shutil.rmtree,
        pytest.param(lambda folder: folder.rename(folder.with_name("moved")), id="rename"),
        pytest.param(lambda folder: (folder / FILE).unlink(), id="remove the file"),
        pytest.param(lambda folder: (folder / f"{FILE}-wal").unlink(), id="remove the log"),
    ],
)
def test_nothing_is_acknowledged_for_a_folder_that_was_removed_or_replaced(
    tmp_path: Path, replace: Callable[[Path], object]
) -> None:
    folder = tmp_path / "data"
    with EmbeddedService.open(folder) as service:
        made = create(service)
        back_up(folder, tmp_path / "copy")  # a copy file by file may miss what a sweep moves meanwhile
        replace(folder)
        for operation, given in (
            ("createConversation", {"title": "lost"}),
            ("getConversation", {"conversationId": made}),
        ):
            answer = call(service, operation, given, ANN)
            assert (answer.status, json.loads(answer.text)["details"]["reason"]) == (507, "replaced"), answer
            assert str(folder) not in answer.text
    with EmbeddedService.open(tmp_path / "copy") as service:
        assert title(service, made) == "kept"


@pytest.mark.failure("replaced-folder")
def test_what_is_refused_while_the_folder_is_moved_is_not_written(tmp_path: Path) -> None:
    folder, moved = tmp_path / "data", tmp_path / "moved"
    with EmbeddedService.open(folder) as service:
        made = create(service)
        folder.rename(moved)
        assert call(service, "createConversation", {"title": "refused"}, ANN).status == 507
    with EmbeddedService.open(moved) as service:
        listed = json.loads(call(service, "listConversations", {}, ANN).text)["data"]
        assert [one["id"] for one in listed] == [made]


def test_a_link_that_is_put_elsewhere_replaces_the_folder(tmp_path: Path) -> None:
    for name in ("old", "new"):
        EmbeddedService.open(tmp_path / name).close()
    link = tmp_path / "data"
    link.symlink_to("old")
    with EmbeddedService.open(link) as service:
        create(service)
        link.unlink()
        link.symlink_to("new")
        assert call(service, "createConversation", {"title": "lost"}, ANN).status == 507


@pytest.mark.failure("replaced-folder")
def test_a_folder_that_is_open_twice_keeps_its_log_from_other_processes(tmp_path: Path) -> None:
    # The process that closes a file last deletes the log. Who has it open must keep its locks.
    with EmbeddedService.open(tmp_path) as first, EmbeddedService.open(tmp_path):
        read_by_another_process(tmp_path, create(first))
        assert read_by_another_process(tmp_path, create(first)) == "kept"


READ = """
import sys
from pathlib import Path
from tests.local.in_process.test_folder import EmbeddedService, title
with EmbeddedService.open(Path(sys.argv[1])) as service:
    print(title(service, sys.argv[2]), end="")
"""


def read_by_another_process(folder: Path, conversation_id: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", READ, str(folder), conversation_id],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_only_the_user_may_read_what_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with EmbeddedService.open(folder) as service:
        create(service)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.glob("forklore.db*")}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize(("file", "mode"), [(".gitignore", 0o700), ("theirs", 0o755)])
def test_what_others_may_read_is_closed_to_them_when_it_is_opened(
    tmp_path: Path, file: str, mode: int
) -> None:
    folder = tmp_path / "old"
    EmbeddedService.open(folder).close()
    (folder / file).touch()
    folder.chmod(0o755)
    (folder / FILE).chmod(0o644)

    EmbeddedService.open(folder).close()

    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == mode


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
    assert not (tmp_path / FILE).exists()


def test_data_of_a_newer_forklore_is_refused_and_left_alone(tmp_path: Path) -> None:
    EmbeddedService.open(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute(f"PRAGMA user_version = {FORMAT + 1}")
    file.close()
    before = (tmp_path / FILE).read_bytes()

    assert f"newer forklore (format {FORMAT + 1}; this reads {FORMAT})" in refused(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_another_programs_data_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("CREATE TABLE theirs (a)")
    file.close()

    assert "no data of forklore" in refused(tmp_path)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)

    assert "is damaged" in refused(tmp_path)


OLD_LAYOUT = """
CREATE TABLE item (
    partition TEXT NOT NULL, sort TEXT NOT NULL, attributes TEXT NOT NULL, PRIMARY KEY (partition, sort)
);
PRAGMA application_id = 0x466B4C72;
PRAGMA user_version = 1;
"""


def of_the_first_format(folder: Path, rows: Sequence[tuple[str, str, str]]) -> None:
    """Write a file as forklore wrote it before the engine."""
    with closing(sqlite3.connect(folder / FILE)) as file:
        file.executescript(OLD_LAYOUT)
        file.executemany("INSERT INTO item VALUES (?, ?, ?)", rows)
        file.commit()


def test_a_folder_of_the_first_format_is_taken_over_once(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path / "new") as service:
        made = create(service)
        for number in range(3):
            assert (
                call(service, "appendEntry", {"conversationId": made, **entry(str(number))}, ANN).status
                == 201
            )
    with closing(sqlite3.connect(tmp_path / "new" / FILE)) as file:
        rows = file.execute("SELECT PK, SK, attributes FROM item").fetchall()
    of_the_first_format(tmp_path, rows)

    for _ in range(2):
        with EmbeddedService.open(tmp_path) as service:
            assert title(service, made) == "kept"
            page = json.loads(call(service, "listEntries", {"conversationId": made}, ANN).text)
            assert [one["content"][0]["text"] for one in page["data"]] == ["0", "1", "2"]
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        assert sorted(file.execute("SELECT PK, SK, attributes FROM item")) == sorted(rows)


@pytest.mark.parametrize("row", ['{"SK":{"S":"b"}}', "[]", "5", '{"PK":[],"SK":{"S":"b"}}', "{"])
def test_a_broken_item_of_the_first_format_leaves_the_file_as_it_is(tmp_path: Path, row: str) -> None:
    of_the_first_format(tmp_path, [("a", "b", row)])
    assert "cannot be read" in refused(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        assert file.execute("SELECT attributes FROM item").fetchall() == [(row,)]
        file.execute("DELETE FROM item")
        file.commit()

    EmbeddedService.open(tmp_path).close()


def test_a_folder_that_an_earlier_commit_has_written_is_read_and_written(tmp_path: Path) -> None:
    """The sample is a dump of a folder: at 8c3639fe a tree of two branches was written to it."""
    sample = Path(__file__).parent / "samples" / "folder_of_8c3639fe.sql"
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        file.executescript(sample.read_text())

    with Forklore.local(data=tmp_path, user="ann") as client:
        chat = client.named("trip")
        fork = "01a22774-d90c-7089-b83f-d42f05a4db40"
        chat.say("user", "new")
        said = [
            [one.content[0]["text"] for one in client.conversation(place).entries()]
            for place in (chat.id, fork)
        ]

    assert said == [[*(f"old {number}" for number in range(5)), "new"], [*said[0][:5], "in fork"]]
    assert check_folder(tmp_path, report=None, is_quiet=True) == INTACT


def test_a_folder_that_an_older_forklore_uses_is_not_taken_over(tmp_path: Path) -> None:
    of_the_first_format(tmp_path, [])
    with (tmp_path / OLD_LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "in use by an older forklore" in refused(tmp_path)
    EmbeddedService.open(tmp_path).close()


def in_another_process(work: Callable[[], None], *, user: int | None = None) -> None:
    """Do the work in a copy of this process, as another user if this is root's."""
    child = os.fork()
    if child == 0:
        try:
            if user is not None and os.getuid() == 0:
                os.setuid(user)
            work()
        except BaseException:  # noqa: BLE001 # pytest must not go on in the copy
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.failure("disk-full")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)])
def test_a_folder_that_cannot_be_written_is_refused_and_loses_nothing(
    folder_mode: int, file_mode: int
) -> None:
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to other users
        folder = Path(place, "data")
        with EmbeddedService.open(folder) as service:
            made = create(service)
        Path(place).chmod(0o755)
        folder.chmod(folder_mode)
        (folder / FILE).chmod(file_mode)
        (folder / ".gitignore").chmod(0o644)

        def try_to_open() -> None:
            told = refused(folder)
            assert told.startswith("cannot ")
            assert "ermission denied" in told or "who may write" in told

        in_another_process(try_to_open, user=NOBODY)
        folder.chmod(0o700)
        (folder / FILE).chmod(0o600)
        with EmbeddedService.open(folder) as service:
            assert title(service, made) == "kept"
            create(service)


@pytest.mark.failure("disk-full")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_tells_that_nothing_more_can_be_kept_before_anything_is_asked(tmp_path: Path) -> None:
    def look() -> None:
        with closing(Opened(tmp_path)) as opened:
            opened.database.require_usable()
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))  # no file may become larger
            with pytest.raises(StoreFailedError) as told:
                opened.database.require_usable()
            assert told.value.details["reason"] == "failed"
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            opened.database.require_usable()

    in_another_process(look)
    assert not [*tmp_path.glob("tmp*")]


@pytest.mark.failure("disk-full")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_disk_without_room_is_said_and_loses_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with EmbeddedService.open(tmp_path) as service:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, most))  # no file may become larger
            large = {"metadata": {"note": "x" * 9000}}
            answers = [
                call(service, "createConversation", {"title": "kept", **large}, ANN) for _ in range(60)
            ]
            made = [json.loads(answer.text)["id"] for answer in answers if answer.status == 201]
            failed = [answer for answer in answers if answer.status != 201]
            assert made
            assert failed
            assert all(answer.status == 507 and "has no room" in answer.text for answer in failed)
            assert all("may have been stored" in answer.text for answer in failed)  # its commit failed
            for one in made:
                assert title(service, one) == "kept"
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            made.append(create(service))
            (tmp_path / "made").write_text(json.dumps(made))

    in_another_process(fill)
    with EmbeddedService.open(tmp_path) as service:
        made = json.loads((tmp_path / "made").read_text())
        for one in made:
            assert title(service, one) == "kept"
        assert len(json.loads(call(service, "listConversations", {"limit": 200}, ANN).text)["data"]) == len(
            made
        )


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_who_has_no_file_handles_may_try_again_later(tmp_path: Path) -> None:
    def run_out() -> None:
        kept = Kept(tmp_path)
        put(kept.client, "a", "there")
        while kept.database._idle:
            kept.database._drop(kept.database._idle.pop())
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        for limit in range(free, free + 3):  # none for the file, its log, or the index of the log
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
            with pytest.raises(UnavailableError):
                put(kept.client, "a", "refused")
            assert not kept.database._open
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        put(kept.client, "a", "later")
        assert everything(kept.client) == [key("a", "later"), key("a", "there")]

    in_another_process(run_out)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_finds_no_connection_in_use_after_a_write_that_was_refused(kept: Kept) -> None:
    def refuse(_: object) -> None:
        raise LookupError

    with pytest.raises(LookupError) as caught:  # who keeps the error keeps the connection in its traceback
        kept.database.write(refuse)
    for _ in range(2):
        in_another_process(lambda: None)
        assert not kept.database._open
    assert caught.type is LookupError
    put(kept.client, "a", "b")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_goes_on_with_the_folder_and_not_with_what_is_in_memory(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path) as service, EmbeddedService.open(None) as in_memory:
        made = create(service)
        child = os.fork()
        if child == 0:
            there = title(service, made) == "kept"
            told = call(in_memory, "getConversation", {"conversationId": made}, ANN)
            create(service)
            os._exit(7 if there and told.status == 503 else 8)
        create(service)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        listed = json.loads(call(service, "listConversations", {}, ANN).text)["data"]
        assert len(listed) == 3
        create(in_memory)
