"""A folder that is in use is copied whole, and damage in it is found where it is."""

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from forklore_local.embedded.folder import FILE, DataError
from forklore_local.embedded.upkeep import back_up, damage_in
from tests.local.embedded.conftest import Kept
from tests.local.embedded.items import everything, put


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
