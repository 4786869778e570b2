"""The file of an export that was ended midway, and what is no part of it."""

import json
from pathlib import Path

import pytest

from forklore_local.porting.failures import PortingError
from forklore_local.porting.scope import Choice, Scope
from tests.local.fsck import world
from tests.local.porting.round_trip import EVERYTHING, exported, lines_of
from tests.service.reliability.service import Process
from tests.support.tables import Store


@pytest.fixture
def trees(store: Store) -> Store:
    """A table with two trees."""
    for conversation_id in (world.ROOT, world.PLAIN):
        world.say(Process(store), conversation_id, "words")
    return store


def test_an_export_goes_on_after_the_last_whole_tree(trees: Store, tmp_path: Path) -> None:
    exported(trees, tmp_path / "whole")
    whole = list(lines_of(tmp_path / "whole"))
    second = next(at for at, line in enumerate(whole) if b'"type":"end"' in line) + 1
    path, part = tmp_path / "again", tmp_path / "again.part"

    for after in ([], [b"\0" * 99], whole[second:-2], [*whole[second:-2], whole[-2][:9]], whole[second:]):
        part.write_bytes(b"".join([*whole[:second], *after]))
        exported(trees, path)
        assert list(lines_of(path)) == whole, after
        assert not part.exists()
        path.unlink()


def test_a_tree_with_other_bytes_than_were_written_is_written_again(trees: Store, tmp_path: Path) -> None:
    exported(trees, tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "again.part").write_bytes(whole.replace(b"words", b"\0\0\0\0\0", 1))

    exported(trees, tmp_path / "again")

    assert (tmp_path / "again").read_bytes() == whole


def test_a_tree_whose_end_was_changed_is_written_again(trees: Store, tmp_path: Path) -> None:
    exported(trees, tmp_path / "whole")
    whole = list(lines_of(tmp_path / "whole"))
    first = next(at for at, line in enumerate(whole) if b'"type":"end"' in line)
    for name in ("id", "createdAt", "conversations", "entries"):
        end = {held: value for held, value in json.loads(whole[first]).items() if held != name}
        part = [*whole[:first], json.dumps(end, separators=(",", ":")).encode() + b"\n", *whole[first + 1 :]]
        (tmp_path / name).with_suffix(".part").write_bytes(b"".join(part))

        exported(trees, tmp_path / name)

        assert list(lines_of(tmp_path / name)) == whole, name


@pytest.mark.parametrize(
    "changed", [{"exportedAt": None}, {"exportedAt": "now"}, {"table": 1}, {"scope": {}}]
)
def test_a_part_whose_first_line_was_changed_is_refused(
    trees: Store, tmp_path: Path, changed: dict[str, object]
) -> None:
    exported(trees, tmp_path / "whole")
    header, *rest = lines_of(tmp_path / "whole")
    line = json.dumps({**json.loads(header), **changed}, separators=(",", ":")).encode() + b"\n"
    (tmp_path / "again.part").write_bytes(b"".join([line, *rest]))

    with pytest.raises(PortingError, match="cannot be read: remove it to begin anew"):
        exported(trees, tmp_path / "again")


def test_the_part_of_another_export_and_no_part_at_all_are_refused(trees: Store, tmp_path: Path) -> None:
    exported(trees, tmp_path / "whole")
    part = tmp_path / "again.part"
    for held, choice, said in (
        (b"precious\n", EVERYTHING, "cannot be read: remove it to begin anew"),
        ((tmp_path / "whole").read_bytes(), Choice(Scope.OWNER, "ann"), "everything of table forklore"),
    ):
        part.write_bytes(held)
        with pytest.raises(PortingError, match=said):
            exported(trees, tmp_path / "again", choice)
        assert part.read_bytes() == held
