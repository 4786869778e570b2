"""The links in the documents."""

import re
from pathlib import Path

import pytest

from tests.deployment.document import PROJECT
from tests.test_layering import PARTS

PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
DOCUMENTS = [*(PROJECT / page for page in PAGES), *sorted((PROJECT / "docs").rglob("*.md"))]


def links(document: Path) -> list[str]:
    """Return the targets of a document's links, without those to other sites."""
    found = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as code hosts generate them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_every_link_has_a_target(document: Path) -> None:
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_every_module_that_is_named_exists(document: Path) -> None:
    """A path is relative to the project or to one of its three packages."""
    text = document.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", text))

    roots = [PROJECT, *(PROJECT / base / part for part, base in PARTS.items())]
    assert [path for path in sorted(named) if not any((root / path).is_file() for root in roots)] == []
