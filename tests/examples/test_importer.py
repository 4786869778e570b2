"""The format of another package, as its entry point adds it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignTree, ImportReport
from forklore.importing.readers import format_names, importers
from tools.harness.gateway import PROJECT


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    told = tmp_path / "diary-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: diary\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[forklore.importers]\ndiary = diary:DIARY\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(PROJECT / "examples" / "importer")
    monkeypatch.delitem(sys.modules, "diary", raising=False)
    importers.cache_clear()
    yield
    importers.cache_clear()


@pytest.mark.usefixtures("_installed")
def test_a_format_of_another_package_is_read_as_any_other(tmp_path: Path) -> None:
    pages = [
        {"no": 1, "who": "ann", "words": "Rain?", "at": "2024-05-01T10:00:00Z"},
        {"no": 2, "who": "oracle", "words": "Yes.", "ink": "blue"},
        {"no": 3, "who": "oracle", "words": "No.", "after": 1},
        5,
    ]
    path, report = tmp_path / "diary.jsonl", ImportReport()
    path.write_text(json.dumps({"diary": "2024", "pages": pages, "paper": "thin"}))

    [tree] = read_file(path, report)

    assert "diary" in format_names()
    assert isinstance(tree, ForeignTree)
    assert (tree.source, tree.tree_id, tree.metadata["paper"]) == ("diary", "2024", "thin")
    assert [(one.role, one.text, one.parent) for one in tree.messages] == [
        *(("USER", "Rain?", None), ("AI", "Yes.", 0), ("AI", "No.", 0)),
    ]
    assert tree.messages[1].content["source"] == {"who": "oracle", "ink": "blue"}
    assert report.lines() == ["not a message: 1 (page 4)"]
