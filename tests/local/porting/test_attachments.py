"""The bytes of attachments beside the file of an export."""

import hashlib
import json
import tracemalloc
import uuid
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from forklore_local.in_process.objects import FolderObjects
from forklore_local.porting.failures import FormatError, PortingError, UnreadableError
from forklore_local.porting.importing import carry_out, check
from forklore_local.porting.opening import copy_bytes, table_at
from forklore_service.domain import keys
from forklore_service.storage.objects import Expected, WrongBytesError
from forklore_service.storage.objects_s3 import S3Objects
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, imported, lines_of
from tests.local.porting.test_damaged_files import changed
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import settle
from tests.support.buckets import served_bucket
from tests.support.tables import Store, fresh_store
from tools.catalogue import PHOTO


@pytest.fixture
def photo(store: Store) -> str:
    """An attachment that two entries name."""
    made = Process(store).ask("uploadAttachment", world.ANN, **PHOTO).id
    seen: dict[str, Any] = {
        "contentType": "history",
        "content": [{"text": "look", "attachments": [{"id": made}]}],
    }
    for _ in range(2):
        assert Process(store).ask("appendEntry", world.ANN, conversationId=world.ROOT, **seen).status == 201
    return made


@pytest.fixture
def file(store: Store, photo: str, tmp_path: Path) -> Path:
    """An export of the table."""
    exported(store, tmp_path / "all.jsonl")
    return tmp_path / "all.jsonl"


def beside(file: Path) -> Path:
    return file.with_name("all.jsonl.files") / str(PHOTO["sha256"])


def test_the_bytes_of_a_large_file_are_never_held_at_once(store: Store, tmp_path: Path) -> None:
    content = bytes(8_000_000)
    said: dict[str, Any] = {"name": "film.mp4", "contentType": "video/mp4", "size": len(content)}
    said |= {"sha256": hashlib.sha256(content).hexdigest()}
    made = Process(store).ask("uploadAttachment", world.ANN, **said).id
    assert store.objects is not None
    store.objects.store(made, BytesIO(content), Expected("video/mp4", len(content), str(said["sha256"])))
    seen: dict[str, Any] = {
        "contentType": "history",
        "content": [{"text": "look", "attachments": [{"id": made}]}],
    }
    assert Process(store).ask("appendEntry", world.ANN, conversationId=world.ROOT, **seen).status == 201

    with fresh_store("other") as other:
        tracemalloc.start()
        exported(store, tmp_path / "all.jsonl")
        imported(other, tmp_path / "all.jsonl")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert Process(other).ask("getAttachment", world.ANN, attachmentId=made).body["state"] == "ready"
    assert most < len(content) / 2


@pytest.mark.parametrize("found", [None, b"", b"dog"])
def test_bytes_that_are_not_beside_the_file_are_missed_before_anything_is_written(
    file: Path, found: bytes | None
) -> None:
    beside(file).unlink()
    if found is not None:
        beside(file).write_bytes(found)

    with fresh_store("other") as other:
        with pytest.raises(FormatError, match="has no" if found is None else "was changed"):
            imported(other, file)
        assert other.contents() == {}


@pytest.mark.parametrize("found", [b"", b"dog"])
def test_an_export_trusts_no_bytes_beside_it_that_are_others(store: Store, file: Path, found: bytes) -> None:
    file.unlink()
    beside(file).write_bytes(found)

    exported(store, file)

    assert beside(file).read_bytes() == b"cat"


def test_what_no_line_names_does_not_stay_beside_an_export(store: Store, file: Path) -> None:
    other = beside(file).with_name("notes")
    for left in (other, beside(file).with_name(f"{'0' * 64}.{'1' * 16}")):
        left.write_bytes(b"a part")
    assert exported(store, file.with_name("again.jsonl")).trees == 1
    Process(store).ask("deleteConversation", world.ANN, conversationId=world.ROOT)
    settle(store)
    file.unlink()

    assert exported(store, file).trees == 0

    assert list(other.parent.iterdir()) == [other]


def test_an_import_that_ended_at_changed_bytes_goes_on_with_the_right_ones(file: Path, photo: str) -> None:
    with fresh_store("other") as other:
        checked = check(file)
        beside(file).write_bytes(b"dog")
        with pytest.raises(FormatError, match="was changed"):
            carry_out(other.process(), checked)
        beside(file).write_bytes(b"cat")

        assert imported(other, file).made == 1
        assert Process(other).ask("getAttachment", world.ANN, attachmentId=photo).body["state"] == "ready"
        assert_intact(other, settled=True)


@pytest.mark.parametrize(
    ("content_type", "size"), [("cat", 3), (f"image/{'p' * 122}", 3), ("image/png", 100_000_001)]
)
def test_an_attachment_that_no_upload_makes_is_refused(file: Path, content_type: str, size: int) -> None:
    lines = list(lines_of(file))
    entry = next(json.loads(line) for line in lines if b'"attached":' in line)
    attached = [{**one, "type": content_type, "size": size} for one in entry["attached"]]
    named = [[*one[:2], content_type, size] for one in json.loads(entry["files"])]
    files = json.dumps(named, separators=(",", ":"))
    file.write_bytes(b"".join(changed(lines, "ENTRY", attached=attached, files=files)))

    with pytest.raises(FormatError, match="an item is damaged"):
        check(file)


def test_an_import_looks_for_the_bytes_of_an_attachment_once(
    file: Path, photo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, holds = list[str](), FolderObjects.holds

    def looked(objects: FolderObjects, object_id: str, expected: Expected) -> bool:
        looks.append(object_id)
        return holds(objects, object_id, expected)

    with fresh_store("other") as other:
        checked = check(file, table=other.process())
        monkeypatch.setattr(FolderObjects, "holds", looked)
        carry_out(other.process(), checked)
    assert looks == [photo]


def test_an_attachment_has_no_owner_who_has_the_same_bytes_there(file: Path, photo: str) -> None:
    with fresh_store("other") as other:
        own = Process(other).ask("uploadAttachment", world.ANN, **PHOTO).id

        imported(other, file)

        found = Process(other).table.get([keys.file(own), keys.file(photo)])
        assert [one and one.owner for one in map(found.file, (own, photo))] == ["ann", None]
        assert Process(other).ask("getAttachment", world.ANN, attachmentId=photo).status == 200
        assert_intact(other, settled=True)


def test_without_a_store_nothing_with_attachments_moves(store: Store, file: Path, tmp_path: Path) -> None:
    table = store.process()
    table.objects = None
    with pytest.raises(PortingError, match="--bucket"):
        exported(table, tmp_path / "again.jsonl")
    with fresh_store("other") as other:
        table = other.process()
        table.objects = None
        with pytest.raises(PortingError, match="--bucket"):
            imported(table, file)


@pytest.mark.parametrize("left", [None, b"", b"dog"])
def test_a_tree_comes_without_the_bytes_that_are_lost_and_these_are_named(
    store: Store, photo: str, tmp_path: Path, left: bytes | None
) -> None:
    store.objects.place(photo).unlink()
    if left is not None:
        store.objects.place(photo).write_bytes(left)

    done = exported(store, tmp_path / "all.jsonl")

    assert (done.trees, done.damaged, [*done.lost]) == (1, (), [photo])
    with fresh_store("other") as other:
        assert imported(other, tmp_path / "all.jsonl").made == 1
        seen = {"attachmentId": photo, "conversationId": world.ROOT}
        assert Process(other).ask("getAttachment", world.ANN, **seen).body["state"] == "removed"
        assert_intact(other, settled=True)


def test_bytes_that_an_admin_has_removed_are_not_lost(store: Store, photo: str, tmp_path: Path) -> None:
    store.change(keys.file(photo), removed={"BOOL": True})
    store.objects.delete(photo)

    assert exported(store, tmp_path / "all.jsonl").lost == []


def test_a_place_that_takes_no_bytes_ends_the_export_and_damages_no_tree(
    store: Store, photo: str, tmp_path: Path
) -> None:
    (tmp_path / "all.jsonl.files").write_text("no folder")

    with pytest.raises(PortingError, match="Not a directory") as caught:
        exported(store, tmp_path / "all.jsonl", skip_damaged=True)

    assert not isinstance(caught.value, UnreadableError)


def test_the_bucket_is_at_the_endpoint_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DEFAULT_REGION": "eu-central-1",
        "ACCESS_KEY_ID": "k",
        "SECRET_ACCESS_KEY": "s",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    attachment_id = str(uuid.uuid4())
    cat = Expected("image/png", 3, str(PHOTO["sha256"]))
    with served_bucket("attachments") as client:
        at = client.meta.endpoint_url
        with (
            fresh_store(endpoint=at) as made,
            table_at(made.name, endpoint=at, region="eu-central-1", bucket="attachments") as table,
        ):
            assert table.objects is not None
            table.objects.store(attachment_id, BytesIO(b"cat"), cat)
        assert S3Objects("attachments", client).holds(attachment_id, cat)


def test_bytes_come_from_a_bucket_as_well(tmp_path: Path) -> None:
    attachment_id = str(uuid.uuid4())
    cat = Expected("image/png", 3, str(PHOTO["sha256"]))
    with served_bucket("attachments") as client:
        objects = S3Objects("attachments", client)
        objects.store(attachment_id, BytesIO(b"cat"), cat)

        copy_bytes(objects, attachment_id, cat, tmp_path / "cat")
        with pytest.raises(WrongBytesError):
            copy_bytes(objects, attachment_id, cat._replace(size=4), tmp_path / "other")

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("cat", b"cat")]
