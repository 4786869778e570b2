"""Copies of whole tables and of folders, as an operator makes them."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import forklore
from forklore.cli.exits import DONE, NO, REFUSED, USAGE
from forklore_local.in_process.folder import FILE
from forklore_service.domain import keys
from tests.clients.cli.running import Forklore


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ann(place: Path) -> Forklore:
    run = Forklore(("--data", "data", "--user", "ann"), {"XDG_CONFIG_HOME": str(place)})
    run("say trip 'Two nights in Lisbon?'")
    run("say trip Alfama --as ai")
    run("fork trip --before -1 --name by-train")
    return run


def test_a_folder_moves_to_another_one(ann: Forklore, place: Path) -> None:
    there = Forklore(("--data", "other", "--user", "ann"), {"XDG_CONFIG_HOME": str(place)})

    written = ann("copy-table data all.jsonl.gz")
    made = there("copy-table all.jsonl.gz other --json")
    again = there("copy-table all.jsonl.gz other")

    assert (written.code, written.out) == (DONE, "")
    assert written.err.startswith("all.jsonl.gz: ")
    assert written.err.endswith(" items, 1 trees, 2 conversations, 2 entries\n")
    told = json.loads(made.out)
    assert told.pop("items") > 10
    assert told == {
        "type": "copy",
        "from": "all.jsonl.gz",
        "to": "other",
        "trees": 1,
        "conversations": 2,
        "entries": 2,
    }
    exists = "forklore: other exists: name another place, or remove it\n"
    assert (again.code, again.err) == (REFUSED, exists)
    assert there("log by-train").lines[1:] == ann("log by-train").lines[1:]
    assert there("fsck --quiet").code == DONE
    assert sorted(path.name for path in place.iterdir()) == ["all.jsonl.gz", "data", "other"]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("copy-table data new.jsonl.gz --region r", USAGE, "--region goes with table:NAME"),
        ("copy-table nowhere new.jsonl.gz", REFUSED, "nowhere keeps no data of forklore"),
        ("copy-table nowhere.jsonl.gz new", REFUSED, "nowhere.jsonl.gz: No such file"),
        ("copy-table data there.jsonl.gz", REFUSED, "there.jsonl.gz exists"),
        ("copy-table there.jsonl.gz new", USAGE, "there.jsonl.gz: line 2: the file is cut or was changed"),
        ("import copied.jsonl", USAGE, "a copy of a table: see forklore copy-table"),
        ("export", USAGE, "name a conversation; forklore copy-table copies a whole table"),
        ("export --everything --output new", USAGE, "No such option: --everything"),
        ("import trip.jsonl --table t", USAGE, "No such option: --table"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    ann: Forklore, place: Path, line: str, code: int, said: str
) -> None:
    (place / "there.jsonl.gz").write_text("precious")
    (place / "copied.jsonl").write_text('{"format":"forklore-table","version":3}\n')

    ran = ann(line)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert not list(place.glob("*new*"))
    assert (place / "there.jsonl.gz").read_text() == "precious"


@pytest.mark.parametrize(
    ("line", "again"),
    [("backup data copy", "backup data other"), ("copy-table data copy", "copy-table data other")],
)
def test_a_copy_names_the_attachments_whose_bytes_are_lost(
    ann: Forklore, place: Path, line: str, again: str
) -> None:
    (place / "photo.png").write_bytes(b"a photo")
    ann("say trip look --attach photo.png")
    [photo] = (place / "data" / "attachments").glob("??/*")
    photo.unlink()

    copied, told = ann(line), ann(f"{again} --json")

    lost = f"  not copied: the bytes of attachment {photo.name}, which are lost"
    assert (copied.code, copied.err.splitlines()[1:]) == (NO, [lost])
    assert (told.code, json.loads(told.out)["lost"]) == (NO, [photo.name])
    assert (place / "copy").exists()


def test_a_damaged_folder_is_found_to_be_one_and_a_backup_takes_its_place(ann: Forklore, place: Path) -> None:
    damaged = ann.id_of("trip")
    ann("say other 'a whole one'")
    intact = ann("fsck --quiet")
    copied = ann("backup data copy")
    with closing(sqlite3.connect(place / "data" / FILE)) as file, file:
        head = keys.head(damaged, damaged)
        file.execute("UPDATE item SET attributes = 'Lisbon' WHERE PK = ? AND SK = ?", head)

    found = ann("fsck --json")
    refused = ann("copy-table data new.jsonl.gz")
    whole = ann("export other --output other.jsonl")
    shutil.rmtree(place / "data")
    (place / "copy").rename(place / "data")

    assert (intact.code, intact.lines[-1].strip()) == (DONE, "intact"), intact
    assert (copied.code, copied.err) == (DONE, "copy: a copy of data\n")
    report = json.loads(found.out)
    assert (found.code, report["verdict"]) == (NO, "damaged")
    assert [(one["kind"], one["key"]) for one in report["findings"]] == [
        ("damaged_row", {"PK": head.partition, "SK": head.sort})
    ]
    assert "Lisbon" not in found.out
    assert refused.code == REFUSED
    assert "damaged" in refused.err
    assert "Lisbon" not in refused.err
    assert whole.code == DONE
    assert "a whole one" in (place / "other.jsonl").read_text()
    assert ann("log trip --oneline").out.count("Lisbon") == 1
    assert ann("fsck --quiet").code == DONE


def test_fsck_needs_a_table(place: Path) -> None:
    over_http = Forklore(("--url", "http://127.0.0.1:9"), {"XDG_CONFIG_HOME": str(place)})

    assert "name the table: --table NAME, or --data DIR" in over_http("fsck").err
    assert "--bucket goes with --table" in over_http("fsck --bucket b").err


def test_a_folder_that_is_in_use_here_is_copied(ann: Forklore) -> None:
    with forklore.Forklore.local(user="ann", data="data"):
        assert ann("copy-table data all.jsonl.gz").code == DONE
