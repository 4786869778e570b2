"""A place that is in use takes no copy, and a copy that was ended midway is gone on with."""

import hashlib
import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from forklore_local.copying.copying import copy
from forklore_local.copying.failures import CopyError
from forklore_local.copying.places import FileCopy, TableCopy, folder_at, new_file, table_at
from forklore_local.in_process.folder import FILE
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text
from forklore_service.storage.objects import Expected
from forklore_service.storage.objects_s3 import S3Objects
from tests.local.copying.moves import ends, held, opened, restored, saved
from tests.local.fsck import world
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.support.buckets import served_bucket
from tests.support.tables import Store, fresh_store
from tools.catalogue import PHOTO

CAT = Expected("image/png", 3, str(PHOTO["sha256"]))


@pytest.fixture
def photo(store: Store) -> str:
    """An attachment that an entry names."""
    made = Process(store).ask("uploadAttachment", world.ANN, **PHOTO).id
    content = [{"text": "look", "attachments": [{"id": made}]}]
    said = Process(store).ask(
        "appendEntry", world.ANN, conversationId=world.ROOT, contentType="history", content=content
    )
    assert said.status == 201
    return made


@pytest.fixture
def file(store: Store, photo: str, tmp_path: Path) -> Path:
    assert saved(store, tmp_path / "all.jsonl.gz").lost == []
    return tmp_path / "all.jsonl.gz"


@pytest.mark.parametrize("changed", ["more", "other"])
def test_a_table_in_use_takes_no_copy(file: Path, changed: str) -> None:
    """It has one item more than the copy, or one of its items is another one."""
    with fresh_store("other") as other:
        restored(file, other)
        if changed == "more":
            world.say(Process(other), world.PLAIN, "of its own")
        else:
            other.change(keys.head(world.ROOT, world.ROOT), changedAt={"S": world.OLD})

        with other.unchanged(), pytest.raises(CopyError, match=r"table .* is in use: it is not empty"):
            restored(file, other)


def test_what_has_expired_is_not_copied_and_may_go_meanwhile(store: Store, tmp_path: Path) -> None:
    world.build(store)
    now_s = store.process().now_s()
    for ttl_s in (now_s - 1, now_s + 600):
        key = {"PK": text(f"IDEM#{ttl_s}"), "SK": text("IDEM")}
        store.put(key | {"ttl": number(ttl_s), "request": text("a"), "body": text("b")})

    class Expiring(TableCopy):
        """DynamoDB removes what has expired after each reading."""

        def items(self) -> Iterator[Item]:
            yield from super().items()
            store.delete(Key(f"IDEM#{now_s - 1}", "IDEM"))

    with fresh_store("other") as other:
        copy(Expiring(store.process(), segments=1), opened(other))

        kept = {key.partition for key in other.contents() if key.partition.startswith("IDEM#")}
        assert f"IDEM#{now_s - 1}" not in kept
        assert f"IDEM#{now_s + 600}" in kept
        assert held(other) == held(store)


def test_what_exists_is_not_overwritten(store: Store, file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(CopyError, match="exists"):
        saved(store, file)
    file.rename(tmp_path / "moved.jsonl.gz")
    with pytest.raises(CopyError, match=r"all.jsonl.gz.files exists"):
        saved(store, file)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes").write_text("precious")
    with pytest.raises(CopyError, match="exists"), ends(tmp_path / "moved.jsonl.gz", tmp_path / "data"):
        pass

    assert (tmp_path / "moved.jsonl.gz").read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {"moved.jsonl.gz", "all.jsonl.gz.files", "data"}
    assert [one.name for one in (tmp_path / "data").iterdir()] == ["notes"]


def test_an_empty_folder_takes_a_copy(file: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    with ends(file, tmp_path / "data") as (source, target):
        copy(source, target)

    with folder_at(tmp_path / "data") as kept:
        assert len(list(kept.items())) == len(list(FileCopy(file).items()))


@pytest.mark.parametrize("left", [None, b"", b"dog"])
def test_bytes_that_are_lost_are_named_and_brought_by_the_next_copy(
    store: Store, photo: str, file: Path, left: bytes | None
) -> None:
    [kept] = file.with_name("all.jsonl.gz.files").glob(f"??/{photo}")
    kept.unlink()
    if left is not None:
        kept.write_bytes(left)

    with fresh_store("other") as other:
        assert restored(file, other).lost == [photo]
        assert held(other) == held(store)
        kept.write_bytes(b"cat")
        assert restored(file, other).lost == []
        assert dict(other.objects.all()) == {photo: 3}
        assert_intact(other)


def test_bytes_that_nobody_has_brought_or_that_were_removed_are_not_lost(
    store: Store, photo: str, tmp_path: Path
) -> None:
    said: dict[str, Any] = {"name": "film.mp4", "contentType": "video/mp4", "size": 9, "sha256": "0" * 64}
    Process(store).ask("uploadAttachment", world.ANN, **said)
    store.change(keys.file(photo), removed={"BOOL": True})
    store.objects.delete(photo)

    assert saved(store, tmp_path / "all.jsonl.gz").lost == []


def test_attachments_go_nowhere_if_nobody_knows_where_their_bytes_are(
    store: Store, file: Path, tmp_path: Path
) -> None:
    table = store.process()
    table.objects = None
    with pytest.raises(CopyError, match="--bucket"):
        saved(table, tmp_path / "again.jsonl.gz")
    with fresh_store("other") as other:
        table = other.process()
        table.objects = None
        with pytest.raises(CopyError, match="--bucket"):
            restored(file, table)
        file.with_name("all.jsonl.gz.files").rename(tmp_path / "elsewhere")
        with pytest.raises(CopyError, match=r"FILE\.files"):
            restored(file, other)
        assert other.contents() == {}


def test_a_folder_that_cannot_be_read_makes_nothing(file: Path, tmp_path: Path) -> None:
    with ends(file, tmp_path / "data") as (source, target):
        copy(source, target)
    with closing(sqlite3.connect(tmp_path / "data" / FILE)) as database, database:
        database.execute("UPDATE item SET attributes = 'Lisbon' WHERE SK = 'GROUP'")

    for of, why in (
        ("data", "damaged"),
        ("nowhere", "keeps no data"),
        ("all.jsonl.gz.files", "keeps no data"),
    ):
        new = tmp_path / "new.jsonl.gz"
        with pytest.raises(CopyError, match=why), folder_at(tmp_path / of) as kept, new_file(new) as made:
            copy(kept, made)
        assert not list(tmp_path.glob("*new.jsonl.gz*"))


def test_a_table_and_a_bucket_are_at_one_endpoint(
    file: Path, photo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "DEFAULT_REGION": "eu-central-1",
        "ACCESS_KEY_ID": "k",
        "SECRET_ACCESS_KEY": "s",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with served_bucket("attachments") as client:
        at = {"endpoint": client.meta.endpoint_url, "region": "eu-central-1", "bucket": "attachments"}
        with fresh_store(endpoint=client.meta.endpoint_url) as made:
            with table_at(made.name, **at) as table:
                assert copy(FileCopy(file), table).lost == []
            assert S3Objects("attachments", client).holds(photo, CAT)
            with table_at(made.name, **at) as table, new_file(tmp_path / "again.jsonl.gz") as again:
                assert copy(table, again).lost == []
            with fresh_store("other") as other:
                restored(tmp_path / "again.jsonl.gz", other)
                assert held(other) == held(made)
                assert b"".join(other.objects.read(photo)) == b"cat"
            nowhere = table_at(made.name, **{**at, "bucket": "elsewhere"})
            with pytest.raises(CopyError, match=r"^NoSuchBucket: "), nowhere as table:
                copy(FileCopy(file), table)
        with pytest.raises(CopyError, match="there is no table 'nothing' here"), table_at("nothing", **at):
            pass


def test_bytes_are_never_held_at_once(store: Store, tmp_path: Path) -> None:
    content = bytes(8_000_000)
    film = Expected("video/mp4", len(content), hashlib.sha256(content).hexdigest())
    said: dict[str, Any] = {
        "name": "film.mp4",
        "contentType": film.content_type,
        "size": film.size,
        "sha256": film.sha256,
    }
    made = Process(store).ask("uploadAttachment", world.ANN, **said).id
    store.objects.store(made, BytesIO(content), film)
    with fresh_store("other") as other:
        tracemalloc.start()
        saved(store, tmp_path / "all.jsonl.gz")
        restored(tmp_path / "all.jsonl.gz", other)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert dict(other.objects.all()) == {made: len(content)}
    assert most < len(content) / 2
