"""What is generated is what its sources make, and is marked as generated."""

from pathlib import Path

from tools.client.__main__ import PROJECT, generated

BUILT = "web/built/**"
"""What Vite makes of the explorer. tests/web/test_files.py compares it, because that needs Node."""


def marked() -> set[str]:
    """Return the patterns of .gitattributes that say that something is generated."""
    lines = map(str.split, (PROJECT / ".gitattributes").read_text(encoding="utf-8").splitlines())
    return {pattern for pattern, *attributes in lines if "linguist-generated" in attributes}


def files(pattern: str) -> set[str]:
    """Return the files that a pattern of .gitattributes means."""
    found = PROJECT.glob(pattern if "*" not in pattern else f"{pattern}/*")
    kept = (one for one in found if one.is_file() and "__pycache__" not in one.parts)
    return {one.relative_to(PROJECT).as_posix() for one in kept}


def test_what_is_generated_is_what_its_sources_make_and_is_marked() -> None:
    made = generated()
    there = set[str]().union(*map(files, marked() - {BUILT}))

    assert there == set(made), "run `make client`, and remove what it does not write"
    different = [path for path, text in made.items() if (PROJECT / path).read_text(encoding="utf-8") != text]
    assert different == [], "run `make client`"


def test_the_built_page_is_marked() -> None:
    assert BUILT in marked()
    assert "web/built/index.html" in files(BUILT)


def test_a_pattern_means_the_files_of_all_folders_below() -> None:
    here = Path(__file__).parent.relative_to(PROJECT).as_posix()

    assert {f"{here}/test_generated.py", f"{here}/clients/python/test_generated.py"} <= files(f"{here}/**")
    assert files("docs/openapi.json") == {"docs/openapi.json"}
