"""What is built of the explorer: it is what the sources make, it is small."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
BUILT = PROJECT / "web" / "built"
SOURCES = PROJECT / "web" / "explorer"
FIRST_BYTES_MAX = 220 * 1024
"""Of all that is loaded before the first picture, compressed."""
MAY_IMPORT = {
    "model": {"model"},
    "service": {"service", "model"},
    "views": {"views", "service", "model", "styles"},
}
"""Which rooms each room may import, beside the client."""


def first_files() -> list[Path]:
    """Return the page, what it names, and the fonts that its styles name."""
    page = BUILT / "index.html"
    named = [BUILT / name for name in re.findall(r'(?:src|href)="/web/([^"]+)"', page.read_text())]
    fonts = [
        BUILT / name
        for path in named
        if path.suffix == ".css"
        for name in re.findall(r"url\(/web/([^)]+\.woff2)\)", path.read_text())
    ]
    return [page, *named, *fonts]


def test_what_is_loaded_first_is_small() -> None:
    sizes = {
        path.name: len(gzip.compress(path.read_bytes()) if path.suffix != ".woff2" else path.read_bytes())
        for path in first_files()
    }

    assert len(sizes) >= 5, sizes
    assert sum(sizes.values()) <= FIRST_BYTES_MAX, sizes


def test_the_page_has_no_code_and_no_style_of_its_own() -> None:
    text = (BUILT / "index.html").read_text()

    assert re.findall(r"<style\b|<script\b(?![^>]*\ssrc=)|<[^>]*\s(?:style|on\w+)\s*=", text) == []
    assert re.findall(r"https?:", text) == []


def test_what_is_built_is_what_the_sources_make(tmp_path: Path) -> None:
    vite = PROJECT / "node_modules" / ".bin" / "vite"
    if not vite.exists():
        pytest.skip("NOT TESTED: there are no packages of npm")
    subprocess.run(
        [vite, "build", "--outDir", tmp_path / "built"], cwd=PROJECT, check=True, capture_output=True
    )
    made = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    kept = {path.name: path.read_bytes() for path in BUILT.iterdir()}

    assert sorted(made) == sorted(kept), "run `npm run build`, and commit web/built"
    assert [name for name in made if made[name] != kept[name]] == []


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may_see(room: str) -> None:
    for path in (SOURCES / room).glob("*.ts*"):
        if ".test." in path.name:
            continue
        for name in re.findall(r'from "(\.[^"]+)"|import\("(\.[^"]+)"\)', path.read_text()):
            there = (path.parent / "".join(name).partition("?")[0]).resolve()
            assert there.is_file(), (path.name, name)
            if there.is_relative_to(SOURCES):
                assert there.relative_to(SOURCES).parts[0] in MAY_IMPORT[room], (path.name, name)
