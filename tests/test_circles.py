"""No files of the page or of a package for TypeScript import each other in a circle.

Imports of types count: to understand one file of a circle, one must read all of them.
"""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
FOLDERS = [
    "web/explorer",
    *(
        f"clients/{package}/src"
        for package in ("typescript", "assistant-ui", "ai-sdk", "langgraph", "mastra")
    ),
]
IMPORTED = re.compile(r'\b(?:from|import)\b\s*\(?\s*"(\.[^"?]+)')


def circle_in(folder: Path) -> list[str]:
    """Return the names of files that import each other, the first again at the end; or nothing."""
    files = {
        path: {(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text(encoding="utf-8"))}
        for path in folder.resolve().rglob("*.ts*")
    }
    assert files, folder
    try:
        TopologicalSorter(files).prepare()
    except CycleError as error:
        return [path.name for path in error.args[1]]
    return []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_files_import_each_other_in_a_circle(folder: str) -> None:
    assert circle_in(PROJECT / folder) == []


@pytest.mark.parametrize(
    "second", ['import type { A } from "./a.ts";', 'export * from "./a.ts";', 'lazy(() => import("./a.ts"));']
)
def test_a_circle_is_found(tmp_path: Path, second: str) -> None:
    (tmp_path / "a.ts").write_text('import {\n\tb,\n} from "./b.tsx";\n')
    (tmp_path / "b.tsx").write_text("export const b = 1;\n")
    assert circle_in(tmp_path) == []

    (tmp_path / "b.tsx").write_text(second)

    assert sorted(set(circle_in(tmp_path))) == ["a.ts", "b.tsx"]
