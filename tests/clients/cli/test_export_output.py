"""Where `forklore export --output` writes: files, links, pipes, and what it refuses."""

import os
import stat
import subprocess
from pathlib import Path
from unittest import mock

import pytest

import forklore
from tests.clients.cli.running import Forklore
from tests.clients.cli.test_process import RUN_S, ran


@pytest.fixture
def trip(run: Forklore) -> Forklore:
    assert run("say trip hello").code == 0
    return run


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_for_its_owner_alone_and_an_old_one_keeps_its_mode(
    trip: Forklore, tmp_path: Path
) -> None:
    new, old = tmp_path / ("n" * 255), tmp_path / "old"
    old.write_text("before")
    old.chmod(0o640)

    assert trip(f"export trip -o {new}").code == 0
    assert trip(f"export trip -o {old}").code == 0

    assert (mode(new), mode(old)) == (0o600, 0o640)
    assert old.read_text().count("\n") == new.read_text().count("\n") == 5
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*"))


def test_a_link_is_followed(trip: Forklore, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("d/file")

    assert trip(f"export trip -o {tmp_path}/link").code == 0

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "d" / "file").read_text().count("\n") == 5


def test_what_is_no_file_is_written_directly(trip: Forklore, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True) as reader:
        assert trip(f"export trip -o {fifo}").code == 0
        out, _ = reader.communicate(timeout=RUN_S)

    assert out.count("\n") == 5
    assert fifo.is_fifo()
    assert trip("export trip -o /dev/null").code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert trip("export trip -o -").out.count("\n") == 5


@pytest.mark.long
def test_standard_output_by_its_path_is_appended_to(url: str, tmp_path: Path) -> None:
    options = f"--url {url} --token {tmp_path.name}"
    line = f"$F {options} say trip hello > /dev/null && $F {options} export trip -o /dev/stdout"
    held = tmp_path / "held"
    held.write_text("before\n")

    assert ran(f"{line} >> {held}").returncode == 0
    assert ran(f"{line} | cat").stdout.count("\n") == 6

    assert held.read_text().startswith("before\n")
    assert held.read_text().count("\n") == 6


@pytest.mark.parametrize("target", ["", ".", "{}", "{}/none/x", "{}/x/", "{}/file/x", "{}/" + "n" * 256])
def test_a_target_that_cannot_be_written_is_one_line_before_anything_is_read(
    trip: Forklore, tmp_path: Path, target: str
) -> None:
    (tmp_path / "file").touch()
    named = target.format(tmp_path)
    with mock.patch.object(forklore.Forklore, "named", side_effect=AssertionError("it reads")):
        found = trip(f"export trip -o '{named}'")

    assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 1)
    assert named in found.err
    assert ".part" not in found.err


def test_a_failure_leaves_the_file_as_it_was(trip: Forklore, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")

    assert trip(f"export nowhere -o {tmp_path}/file").code == 3

    assert [one.name for one in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "before"
