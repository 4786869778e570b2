"""Exports of a table and imports into one, as an operator makes them."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import forklore
from forklore.cli.exits import DONE, NO, NOT_FOUND, REFUSED, USAGE
from forklore_local.in_process.folder import FILE
from forklore_local.porting.opening import table_in
from forklore_service.domain import keys
from forklore_service.storage import items
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


def test_everything_moves_to_another_folder(ann: Forklore, place: Path) -> None:
    there = Forklore(("--data", "other", "--user", "ann"), {"XDG_CONFIG_HOME": str(place)})

    written = ann("export --everything --output all.jsonl")
    tried = there("import all.jsonl --dry-run")
    assert not (place / "other").exists()
    made = there("import all.jsonl")
    again = there("import all.jsonl --json")

    assert written.err == "all.jsonl: 1 tree, 2 conversations, 2 entries\n"
    assert tried.err == "all.jsonl: 1 tree, 2 conversations, 2 entries to import\n"
    assert (made.code, made.err) == (DONE, "all.jsonl: 1 tree, 2 conversations, 2 entries\n")
    told = {"trees": 1, "conversations": 2, "entries": 2}
    counts = {"made": 0, "there": 1, "lostLinks": 0, "namesTaken": 0, "refused": 0}
    assert json.loads(again.out) == {"type": "file", "file": "all.jsonl", **told, **counts}
    assert there("log by-train").lines[1:] == ann("log by-train").lines[1:]
    assert sorted(path.name for path in place.iterdir()) == ["all.jsonl", "data", "other"]


def test_the_trees_of_an_owner_and_one_tree(ann: Forklore, place: Path) -> None:
    ann("say hers --user bob")

    of_bob = ann("export --owner bob --output bob.jsonl --json")
    one = ann(f"export --tree {ann.id_of('by-train').upper()} --output one.jsonl --json")

    assert json.loads(of_bob.out)["entries"] == 0
    assert json.loads(one.out) == {
        "type": "file",
        "file": "one.jsonl",
        "trees": 1,
        "conversations": 2,
        "entries": 2,
        "leftOut": 0,
        "damaged": [],
    }


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("export", USAGE, "name a conversation, or for a table --everything, --owner or --tree"),
        ("export --everything", USAGE, "to --output FILE"),
        ("export trip --everything --output x", USAGE, "export one of"),
        ("export --everything --owner ann --output x", USAGE, "export one of"),
        ("export trip --skip-damaged --output x", USAGE, "goes with --everything or --owner"),
        ("export --everything --region r --output x", USAGE, "--region goes with --table"),
        ("export --tree 00000000-0000-4000-8000-000000000000 --output x", NOT_FOUND, "no conversation"),
        ("export --everything --output there", REFUSED, "there exists"),
        ("import there --table t", USAGE, "it is no export of a table"),
        (
            "import old.jsonl",
            USAGE,
            "old.jsonl: line 1: it has version 1 of the format, and",
        ),
        ("import nothing --table t", USAGE, "nothing: no such file"),
        ("import cut.jsonl", USAGE, "cut.jsonl: line 2: the file is cut"),
        ("import header.jsonl --again once", USAGE, "imported whole"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    ann: Forklore, place: Path, line: str, code: int, said: str
) -> None:
    (place / "there").write_text("precious")
    ann("export --everything --output whole.jsonl")
    header = (place / "whole.jsonl").read_bytes().splitlines(keepends=True)[0]
    for name in ("cut.jsonl", "header.jsonl"):
        (place / name).write_bytes(header)
    (place / "old.jsonl").write_bytes(header.replace(b'"version":2', b'"version":1'))

    ran = ann(line)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (place / "x").exists()
    assert (place / "there").read_text() == "precious"


def test_a_damaged_tree_is_left_out_if_that_is_asked_for(ann: Forklore, place: Path) -> None:
    damaged = ann.id_of("trip")
    ann("say other 'a whole one'")
    with table_in(place / "data") as table:
        key = items.key_of(keys.head(damaged, damaged))
        client, name = table.connection.client, table.connection.table_name
        client.update_item(TableName=name, Key=key, UpdateExpression="REMOVE changedAt")

    refused = ann("export --everything --output all.jsonl")
    one = ann(f"export --tree {damaged} --output one.jsonl --skip-damaged")
    skipped = ann("export --everything --output all.jsonl --skip-damaged")
    told = ann("export --everything --output again.jsonl --skip-damaged --json")

    why = f"tree {damaged} cannot be read: an item is damaged (KeyError)"
    assert (refused.code, refused.err) == (REFUSED, f"forklore: {why}; --skip-damaged leaves it out\n")
    assert (one.code, one.err) == (REFUSED, f"forklore: {why}\n")
    assert (skipped.code, skipped.err.splitlines()) == (
        NO,
        [
            "all.jsonl: 1 tree, 1 conversation, 1 entry",
            f"  not exported: tree {damaged} cannot be read; forklore fsck shows why",
        ],
    )
    assert (told.code, json.loads(told.out)["damaged"]) == (NO, [damaged])


def test_a_backup_names_the_attachments_whose_bytes_are_lost(ann: Forklore, place: Path) -> None:
    (place / "photo.png").write_bytes(b"a photo")
    ann("say trip look --attach photo.png")
    [photo] = (place / "data" / "attachments").glob("??/*")
    photo.unlink()

    copied, told = ann("backup data copy"), ann("backup data other --json")

    assert (copied.code, copied.err.splitlines()) == (
        NO,
        ["copy: a copy of data", f"  not copied: the bytes of attachment {photo.name}, which are lost"],
    )
    assert (told.code, json.loads(told.out)["lost"]) == (NO, [photo.name])
    assert (place / "copy").exists()


def test_an_export_names_the_attachments_whose_bytes_are_lost(ann: Forklore, place: Path) -> None:
    (place / "photo.png").write_bytes(b"a photo")
    ann("say trip look --attach photo.png")
    [photo] = (place / "data" / "attachments").glob("??/*")
    photo.unlink()

    written, told = (ann(f"export --everything --output all.jsonl{more}") for more in ("", "2 --json"))

    assert (written.code, written.err.splitlines()) == (
        NO,
        [
            "all.jsonl: 1 tree, 2 conversations, 3 entries",
            f"  not exported: the bytes of attachment {photo.name}, which are lost",
        ],
    )
    assert (told.code, json.loads(told.out)["lost"]) == (NO, [photo.name])


def test_a_damaged_folder_is_found_to_be_one_and_the_rest_comes_out(ann: Forklore, place: Path) -> None:
    damaged = ann.id_of("trip")
    ann("say other 'a whole one'")
    intact = ann("fsck --quiet")
    copied = ann("backup data copy")
    with closing(sqlite3.connect(place / "data" / FILE)) as file, file:
        head = keys.head(damaged, damaged)
        file.execute("UPDATE item SET attributes = 'Lisbon' WHERE PK = ? AND SK = ?", head)

    found = ann("fsck --json")
    skipped = ann("export --everything --output all.jsonl --skip-damaged --json")
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
    assert (skipped.code, json.loads(skipped.out)["damaged"]) == (NO, [damaged])
    assert ann("log trip --oneline").out.count("Lisbon") == 1
    assert ann("fsck --quiet").code == DONE


def test_a_service_is_no_table(ann: Forklore, place: Path) -> None:
    ann("export --everything --output all.jsonl")
    over_http = Forklore(("--url", "http://127.0.0.1:9"), {"XDG_CONFIG_HOME": str(place)})
    nowhere = Forklore(("--data", "nowhere"), {"XDG_CONFIG_HOME": str(place)})

    assert "name the table: --table NAME, or --data DIR" in over_http("import all.jsonl").err
    assert "name the table" in over_http("export --everything --output x").err
    assert "there is no folder nowhere" in nowhere("export --everything --output x").err
    assert not (place / "nowhere").exists()


def test_a_folder_that_is_in_use_here_is_shared(ann: Forklore) -> None:
    with forklore.Forklore.local(user="ann", data="data"):
        assert ann("export --everything --output all.jsonl").code == DONE
