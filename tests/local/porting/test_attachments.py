"""The bytes of attachments beside the file of an export."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from forklore_local.porting.failures import FormatError, PortingError, UnreadableError
from forklore_local.porting.opening import copy_bytes
from forklore_service.domain import keys
from forklore_service.storage.objects import Expected, WrongBytesError
from forklore_service.storage.objects_s3 import S3Objects
from tests.local.fsck import world
from tests.local.porting.round_trip import exported, imported
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.support.buckets import served_bucket
from tests.support.tables import Store, fresh_store
from tools.catalogue import PHOTO


@pytest.fixture
def photo(store: Store) -> str:
    """An attachment that an entry names."""
    made = Process(store).ask("uploadAttachment", world.ANN, **PHOTO).id
    seen: dict[str, Any] = {
        "contentType": "history",
        "content": [{"text": "look", "attachments": [{"id": made}]}],
    }
    assert Process(store).ask("appendEntry", world.ANN, conversationId=world.ROOT, **seen).status == 201
    return made


@pytest.fixture
def file(store: Store, photo: str, tmp_path: Path) -> Path:
    """An export of the table."""
    exported(store, tmp_path / "all.jsonl")
    return tmp_path / "all.jsonl"


def beside(file: Path) -> Path:
    return file.with_name("all.jsonl.files") / str(PHOTO["sha256"])


def test_bytes_that_are_not_beside_the_file_are_missed_before_anything_is_written(file: Path) -> None:
    beside(file).unlink()

    with fresh_store("other") as other:
        with pytest.raises(FormatError, match="has no"):
            imported(other, file)
        assert other.contents() == {}


def test_an_import_that_ended_at_changed_bytes_goes_on_with_the_right_ones(file: Path, photo: str) -> None:
    with fresh_store("other") as other:
        beside(file).write_bytes(b"dog")
        with pytest.raises(FormatError, match="was changed"):
            imported(other, file)
        beside(file).write_bytes(b"cat")

        assert imported(other, file).made == 1
        assert Process(other).ask("getAttachment", world.ANN, attachmentId=photo).body["state"] == "ready"
        assert_intact(other, settled=True)


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


def test_a_tree_whose_bytes_are_lost_is_damaged(store: Store, photo: str, tmp_path: Path) -> None:
    store.objects.delete(photo)

    with pytest.raises(UnreadableError, match="bytes of an attachment"):
        exported(store, tmp_path / "all.jsonl")


def test_bytes_come_from_a_bucket_as_well(tmp_path: Path) -> None:
    attachment_id = str(uuid.uuid4())
    cat = Expected("image/png", 3, str(PHOTO["sha256"]))
    with served_bucket("attachments") as client:
        objects = S3Objects("attachments", client)
        objects.store(attachment_id, b"cat", cat)

        copy_bytes(objects, attachment_id, cat, tmp_path / "cat")
        with pytest.raises(WrongBytesError):
            copy_bytes(objects, attachment_id, cat._replace(size=4), tmp_path / "other")

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("cat", b"cat")]
