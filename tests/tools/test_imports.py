"""The tools run without the tests. What both need lies in tools/harness."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.test_layering import uses, within

PROJECT = Path(__file__).parents[2]


def imports_of_tests(project: Path) -> Iterator[str]:
    """Yield each import of the tests or of pytest in the tools, as `file:line: name`."""
    for path in sorted((project / "tools").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module)]  # ruff bans relative imports
            else:
                continue
            for name in names:
                if name.partition(".")[0] in ("tests", "pytest"):
                    yield f"{path.relative_to(project)}:{node.lineno}: {name}"


def test_tools_never_import_tests() -> None:
    assert list(imports_of_tests(PROJECT)) == []


def test_an_import_of_tests_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    source = "import pytest\n\n\ndef late():\n    from tests.support import tables\n"
    (tmp_path / "tools" / "one.py").write_text(source)

    assert list(imports_of_tests(tmp_path)) == ["tools/one.py:1: pytest", "tools/one.py:5: tests.support"]


def test_the_generator_of_the_client_reads_the_table_of_operations_and_nothing_further_in() -> None:
    used = {
        use.name
        for path in sorted((PROJECT / "tools" / "client").glob("*.py"))
        for use in uses(f"tools.client.{path.stem}", path)
        if use.imported and use.name.partition(".")[0] not in sys.stdlib_module_names
    }

    assert "forklore_service.api.operations.ALL" in used
    inward = {"tools.client", "forklore_service.api", "forklore_service.limits", "pydantic"}
    inward |= {"forklore_local.server.openapi"}  # the document
    inward |= {"forklore_service.domain.attachments"}  # how a hash is spelled
    assert [name for name in sorted(used) if not within(name, inward)] == []
