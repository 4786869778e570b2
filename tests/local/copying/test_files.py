"""A file that is not what a copy has written is refused, and nothing is made of it."""

import gzip
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from forklore_local.copying.copying import copy
from forklore_local.copying.failures import CopyError, FormatError
from tests.local.copying.moves import ends, restored, saved
from tests.local.fsck import world
from tests.service.reliability.service import Process
from tests.support.tables import Store, fresh_store

Lines = Sequence[bytes]


@pytest.fixture
def file(store: Store, tmp_path: Path) -> Path:
    world.say(Process(store), world.ROOT, "Lisbon")
    saved(store, tmp_path / "all.jsonl.gz")
    return tmp_path / "all.jsonl.gz"


def require_refused(file: Path, why: str) -> None:
    """Assert that the file makes no folder, and nothing in a table."""
    with fresh_store("other") as other:
        with pytest.raises(FormatError, match=why):
            restored(file, other)
        assert other.contents() == {}
    with pytest.raises(FormatError, match=why), ends(file, file.with_name("data")) as (source, target):
        copy(source, target)
    assert not file.with_name("data").exists()
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def ended(lines: Lines) -> bytes:
    """Return lines with the last line that they should have."""
    all_of_them = b"".join(lines)
    end = {"items": len(lines) - 1, "sha256": sha256(all_of_them).hexdigest()}
    return all_of_them + json.dumps({"End": end}, separators=(",", ":")).encode() + b"\n"


@pytest.mark.failure("damaged-copy")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: b"".join(lines[:-1]), "the file is cut"),
        (lambda lines: b"".join(lines[:3]), "the file is cut"),
        (lambda lines: b"".join(lines)[:-9], "changed"),
        (lambda lines: b"".join(lines).replace(b"Lisbon", b"Porto?"), "changed"),
        (lambda lines: b"".join([lines[0], *lines[2:]]), "changed"),
        (lambda lines: b"".join([lines[0], lines[2], lines[1], *lines[3:]]), "changed"),
        (lambda lines: b"".join([*lines, lines[1]]), "changed"),
        (lambda lines: ended([*lines[:-1], b'{"PK":{"S":"a"}}\n']), "it is no item"),
        (lambda lines: ended([*lines[:-1], b'{"Item":{"PK":{"S":"a"}}}\n']), "it is no item"),
        (lambda lines: ended([*lines[:-1], b'{"Item":{"PK":{"S":"a"},"SK":"b"}}\n']), "it is no item"),
        (lambda lines: ended([*lines[:-1], b'{"Item":' + b"[" * 9_000 + b"}\n"]), "it is no item"),
        (lambda lines: ended([lines[0].replace(b":3", b":2"), *lines[1:-1]]), "has version 2 of the format"),
        (lambda lines: b"".join(lines[1:]), "it is no copy of a table"),
        (lambda _: b"[]\n", "it is no copy of a table"),
        (lambda _: b"", "line 2: the file is cut or was changed"),
    ],
)
def test_a_file_that_was_cut_or_changed_makes_nothing(
    file: Path, change: Callable[[Lines], bytes], why: str
) -> None:
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    assert ended(lines[:-1]) == b"".join(lines)
    assert any(b"Lisbon" in line for line in lines)

    file.write_bytes(gzip.compress(change(lines)))

    require_refused(file, why)


@pytest.mark.failure("damaged-copy")
def test_a_byte_that_is_lost_or_another_is_noticed(file: Path) -> None:
    """All but the first bytes, which gzip does not check: the time and the system."""
    whole, random = file.read_bytes(), Random(1)
    for at in random.sample(range(10, len(whole)), 60):
        for damaged in (
            whole[:at],
            whole[:at] + bytes([whole[at] ^ (1 << random.randrange(8))]) + whole[at + 1 :],
        ):
            file.write_bytes(damaged)
            with fresh_store("other") as other:
                with pytest.raises(FormatError):
                    restored(file, other)
                assert other.contents() == {}


@pytest.mark.parametrize("content", [b"", b'{"type":"header","format":"forklore-table","version":2}\n'])
def test_what_is_not_compressed_is_no_copy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "old.jsonl.gz").write_bytes(content)

    require_refused(tmp_path / "old.jsonl.gz", "the file is cut or was changed")


def test_a_file_that_is_missing_is_said(tmp_path: Path, store: Store) -> None:
    with pytest.raises(CopyError, match=r"all.jsonl.gz: No such file or directory"):
        restored(tmp_path / "all.jsonl.gz", store)
