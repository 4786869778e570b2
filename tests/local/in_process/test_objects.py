"""The bytes of attachments in a folder: whole and as expected, or not at all."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from forklore_local.in_process.folder import FILE
from forklore_local.in_process.objects import FolderObjects
from forklore_local.in_process.opened import Opened
from forklore_service.errors import StoreFailedError
from forklore_service.storage.objects import Expected, WrongBytesError
from tests.support.processes import PROJECT

CONTENT = b"\x89PNG and more" * 100_000
OTHER = CONTENT[:-1] + b"!"


def expected(content: bytes = CONTENT) -> Expected:
    return Expected("image/png", len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture
def objects(tmp_path: Path) -> FolderObjects:
    return FolderObjects(tmp_path / "attachments")


@pytest.fixture
def object_id() -> str:
    return str(uuid.uuid4())


def file_at(url: str) -> Path:
    assert urlsplit(url).scheme == "file"
    return Path(url2pathname(urlsplit(url).path))


def files_in(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file()]


def test_what_is_stored_is_held_listed_and_linked_to_until_it_is_deleted(
    objects: FolderObjects, object_id: str
) -> None:
    assert not objects.holds(object_id, expected())

    objects.store(object_id, BytesIO(CONTENT), expected())

    assert objects.holds(object_id, expected())
    assert not objects.holds(object_id, expected(OTHER))
    assert list(objects.all()) == [(object_id, len(CONTENT))]
    link = objects.link(object_id, name="a.png", content_type="image/png")
    assert file_at(link.url).read_bytes() == CONTENT

    for _ in range(2):
        objects.delete(object_id)
        assert (objects.holds(object_id, expected()), list(objects.all())) == (False, [])


@pytest.mark.parametrize("wrong", [CONTENT[:-1], CONTENT + b"!", OTHER, b""])
def test_other_bytes_than_the_expected_ones_are_not_kept(
    objects: FolderObjects, object_id: str, wrong: bytes
) -> None:
    with pytest.raises(WrongBytesError):
        objects.store(object_id, BytesIO(wrong), expected())

    assert files_in(objects.folder) == []


@pytest.mark.parametrize("wrong", [CONTENT[:-1], OTHER])
def test_a_file_that_is_uploaded_is_taken_once_it_is_whole(
    objects: FolderObjects, object_id: str, wrong: bytes
) -> None:
    upload = objects.upload(object_id, expected())
    uploaded = file_at(upload.url)
    uploaded.write_bytes(wrong)
    assert not objects.holds(object_id, expected())

    with uploaded.open("wb") as writer:
        writer.write(CONTENT)
        writer.flush()
        assert objects.holds(object_id, expected())
        writer.seek(0)
        writer.write(OTHER)

    assert objects.holds(object_id, expected())
    assert files_in(objects.folder) == [objects.place(object_id)]


@pytest.mark.parametrize(
    "hostile", ["../../x", "/etc/passwd", "a\0b", "", ".", "*", "A" * 36, f"{uuid.UUID(int=1)}/", "\u202e"]
)
def test_what_is_no_object_id_reaches_no_file(objects: FolderObjects, hostile: str) -> None:
    for use in (
        lambda: objects.store(hostile, BytesIO(CONTENT), expected()),
        lambda: objects.holds(hostile, expected()),
        lambda: objects.upload(hostile, expected()),
        lambda: objects.link(hostile, name="a", content_type="image/png"),
        lambda: objects.delete(hostile),
    ):
        with pytest.raises(ValueError, match="an object id is a UUID"):
            use()


KILLED = """
import sys, time
from pathlib import Path
from forklore_local.in_process.objects import FolderObjects
from forklore_service.storage.objects import Expected
with FolderObjects(Path(sys.argv[1])).arriving(sys.argv[2], Expected("image/png", 10**9, "0" * 64)) as one:
    one.write(b"x" * 1_000_000)
    print("written", flush=True)
    time.sleep(60)
"""


def test_a_process_that_is_killed_in_the_middle_leaves_nothing_that_is_held_or_remains(
    objects: FolderObjects, object_id: str
) -> None:
    command = [sys.executable, "-c", KILLED, str(objects.folder), object_id]
    path = os.pathsep.join([str(PROJECT / "local"), str(PROJECT / "layers" / "core")])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)

    assert not objects.holds(object_id, expected())
    assert list(objects.all()) == [(object_id, 1_000_000)]

    objects.store(object_id, BytesIO(CONTENT), expected())
    assert objects.holds(object_id, expected())
    objects.delete(object_id)
    assert files_in(objects.folder) == []


def test_what_a_killed_process_has_left_is_removed_after_a_day(
    objects: FolderObjects, object_id: str
) -> None:
    file_at(objects.upload(object_id, expected()).url).write_bytes(CONTENT)
    incoming = objects.folder / "incoming"
    old, young = incoming / f"{object_id}.0a", incoming / f"{object_id}.0b"
    for part in (old, young):
        part.write_bytes(b"a part")
    day_ago = time.time() - 25 * 3600
    for part in (old, incoming / object_id):
        os.utime(part, (day_ago, day_ago))

    FolderObjects(objects.folder).store(str(uuid.uuid4()), BytesIO(CONTENT), expected())

    assert sorted(incoming.iterdir()) == [incoming / object_id, young]


def test_what_is_deleted_while_it_arrives_is_not_kept(objects: FolderObjects, object_id: str) -> None:
    with objects.arriving(object_id, expected()) as arriving:
        arriving.write(CONTENT)
        objects.delete(object_id)
        with pytest.raises(FileNotFoundError):
            arriving.keep()

    assert files_in(objects.folder) == []


def test_what_is_deleted_while_it_is_stored_counts_as_stored(
    objects: FolderObjects, object_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _file: objects.delete(object_id))

    objects.store(object_id, BytesIO(CONTENT), expected())


@pytest.mark.parametrize("gone", [".", "incoming"])
def test_what_cannot_be_kept_because_its_folder_is_gone_is_told(
    objects: FolderObjects, object_id: str, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _file: shutil.rmtree(objects.folder / gone))

    with pytest.raises(StoreFailedError):
        objects.store(object_id, BytesIO(CONTENT), expected())


def test_only_their_owner_may_read_the_objects(objects: FolderObjects, object_id: str) -> None:
    objects.store(object_id, BytesIO(CONTENT), expected())

    found = {stat.S_IMODE(one.stat().st_mode) for one in [objects.folder, *objects.folder.rglob("*")]}
    assert found == {0o700, 0o600}


def test_a_disk_that_refuses_is_told_without_the_name_of_a_file(tmp_path: Path, object_id: str) -> None:
    (tmp_path / "attachments").write_text("no folder")

    with pytest.raises(StoreFailedError) as caught:
        FolderObjects(tmp_path / "attachments").store(object_id, BytesIO(CONTENT), expected())

    assert str(tmp_path) not in caught.value.message


def test_the_objects_of_a_folder_remain_and_those_of_none_are_gone_at_the_end(
    tmp_path: Path, object_id: str
) -> None:
    for folder in (tmp_path / "data", None):
        opened = Opened(folder)
        opened.objects.store(object_id, BytesIO(CONTENT), expected())
        place = opened.objects.place(object_id)
        opened.close()
        assert place.exists() == (folder is not None)
    Opened(tmp_path / "data").close()

    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert (tmp_path / "data" / FILE).exists()


def test_objects_that_come_side_by_side_lie_in_one_temporary_folder() -> None:
    for _ in range(20):
        kept = FolderObjects()
        with closing(kept), ThreadPoolExecutor(8) as threads:
            assert len(set(threads.map(lambda _, kept=kept: kept.folder, range(8)))) == 1
