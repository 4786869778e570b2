"""A folder that is in use is copied whole, and damage in it is found where it is."""

import base64
import hashlib
import json
import sqlite3
import stat
import threading
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.objects import ATTACHMENTS, FolderObjects
from forklore_local.in_process.service import EmbeddedService
from forklore_local.in_process.upkeep import back_up, damage_in
from forklore_service.domain.model import Caller
from forklore_service.storage.objects import Expected
from tests.local.conftest import Kept
from tests.local.embedded.items import everything, put
from tests.local.in_process.asking import call


@pytest.mark.failure("damaged-folder")
def test_a_copy_holds_what_was_acknowledged_before_it_while_another_thread_writes(
    kept: Kept, tmp_path: Path
) -> None:
    to, acknowledged, is_over = tmp_path / "copies" / "of today", [0], threading.Event()

    def write() -> None:
        while not is_over.is_set():
            put(kept.client, "a", f"{acknowledged[0]:06}", n={"S": "x" * 5000})
            acknowledged[0] += 1

    writing = threading.Thread(target=write)
    writing.start()
    while acknowledged[0] < 20:
        is_over.wait(0.001)
    before = acknowledged[0]
    back_up(kept.folder, to)
    after = acknowledged[0]
    is_over.set()
    writing.join()

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in to.iterdir()}
    assert stat.S_IMODE(to.stat().st_mode) == 0o700
    assert (set(modes), modes[FILE]) == ({FILE, ".gitignore"}, 0o600)
    copy = Kept(to)
    stored = [item["SK"]["S"] for item in everything(copy.client)]
    copy.database.close()
    assert stored == [f"{number:06}" for number in range(len(stored))]
    assert before <= len(stored) <= after + 1
    assert damage_in(to) == []


def test_a_backup_overwrites_nothing_and_leaves_nothing_half_done(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with closing(sqlite3.connect(kept.folder / FILE)) as file, file:
        file.execute("CREATE TABLE odd (a NOT NULL)")
        file.execute("INSERT INTO odd VALUES (1)")
        file.execute("PRAGMA writable_schema = ON")
        file.execute("UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'odd'")
    before = sorted(tmp_path.iterdir())

    for folder, to, said in (
        (kept.folder, tmp_path / "there", "exists already"),
        (tmp_path / "there", tmp_path / "copy", "keeps no data of forklore"),
        (kept.folder, tmp_path / "copy", "is damaged"),
    ):
        with pytest.raises(DataError, match=said):
            back_up(folder, to)
    assert sorted(tmp_path.iterdir()) == before


ANN, ADAM = Caller("ann"), Caller("adam", roles=frozenset({"admin"}))


def uploaded(service: EmbeddedService, content: bytes, *, is_sent: bool = True) -> str:
    """Upload an attachment and return its id. is_sent: whether its bytes are."""
    sha256, sent = hashlib.sha256(content).hexdigest(), base64.b64encode(content).decode()
    file = {"name": "a", "contentType": "text/plain", "size": len(content), "sha256": sha256}
    answer = call(service, "uploadAttachment", file | ({"content": sent} if is_sent else {}), ANN)
    assert answer.status == 201, answer
    made: str = json.loads(answer.text)["id"]
    return made


@pytest.mark.failure("damaged-folder")
def test_a_copy_holds_the_bytes_of_the_attachments_that_it_knows_and_no_others(tmp_path: Path) -> None:
    with EmbeddedService.open(tmp_path / "data") as service:
        kept = {uploaded(service, content): content for content in (b"one", b"two")}
        pending, removed = uploaded(service, b"three", is_sent=False), uploaded(service, b"four")
        assert call(service, "adminRemoveAttachment", {"attachmentId": removed}, ADAM).status < 300
        stray = tmp_path / "data" / ATTACHMENTS / pending[:2] / str(uuid.uuid4())
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"of nobody")

        back_up(tmp_path / "data", tmp_path / "copy")

    copied = FolderObjects(tmp_path / "copy" / ATTACHMENTS)
    assert dict(copied.all()) == {one: len(content) for one, content in kept.items()}
    assert all(copied.place(one).read_bytes() == content for one, content in kept.items())
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700


@pytest.mark.failure("damaged-folder")
def test_an_attachment_that_goes_while_it_is_copied_is_not_in_the_copy_and_a_lost_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, going = FolderObjects.take, list[str]()

    def take_late(copies: FolderObjects, place: Path, object_id: str, expected: Expected) -> bool:
        while going:
            assert call(service, "adminRemoveAttachment", {"attachmentId": going.pop()}, ADAM).status < 300
        return take(copies, place, object_id, expected)

    monkeypatch.setattr(FolderObjects, "take", take_late)
    with EmbeddedService.open(tmp_path / "data") as service:
        staying, lost = uploaded(service, b"staying"), uploaded(service, b"going")
        going.append(lost)
        assert back_up(tmp_path / "data", tmp_path / "copy") == []
        assert dict(FolderObjects(tmp_path / "copy" / ATTACHMENTS).all()) == {staying: 7}

        FolderObjects(tmp_path / "data" / ATTACHMENTS).place(staying).write_bytes(b"damaged")
        kept = uploaded(service, b"kept")
        assert back_up(tmp_path / "data", tmp_path / "other") == [staying]
        assert dict(FolderObjects(tmp_path / "other" / ATTACHMENTS).all()) == {kept: 4}
