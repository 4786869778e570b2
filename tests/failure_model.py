"""Which tests prove how each failure is handled: `python -m tests.failure_model` prints the table.

docs/reliability.md has a table of failures and a table of checks. A marker on a test names the
failures that it covers: `@pytest.mark.failure("lost-answer")`.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reliability.md"
FAILURES, CHECKS = "The failure model", "The checks"
MARKER = "pytest.mark.failure"


@dataclass(frozen=True, order=True)
class Proof:
    """A test that names failures. file: its path below the folder of the tests."""

    file: str
    name: str
    failures: tuple[str, ...]


def rows_of(page: str, heading: str) -> dict[str, Sequence[str]]:
    """Return the rows of the table under a heading: the name in the first cell, then the others.

    >>> rows_of("## One\\n| `a` | b | `c` |\\n\\n## Two\\n| `d` | e |", "One")
    {'a': ['b', '`c`']}
    """
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", section, re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in lines}


def failures() -> dict[str, Sequence[str]]:
    """Return the failures by name: what goes wrong, what handles it, what proves it."""
    return rows_of(PAGE.read_text(encoding="utf-8"), FAILURES)


def checks() -> dict[str, Sequence[str]]:
    """Return the checks by name, each with what it does and its tests."""
    return rows_of(PAGE.read_text(encoding="utf-8"), CHECKS)


def proofs(folder: Path = TESTS) -> Iterator[Proof]:
    """Yield every test that names a failure."""
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                names = tuple(_marked(node))
                if names:
                    yield Proof(file.relative_to(folder).as_posix(), node.name, names)


def _marked(test: ast.FunctionDef) -> Iterator[str]:
    """Yield the names in the test's markers."""
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == MARKER:
            yield from (ast.literal_eval(name) for name in decorator.args)


def by_failure(found: Iterable[Proof]) -> Mapping[str, list[Proof]]:
    """Return the tests by the failure that they name."""
    named: dict[str, list[Proof]] = {}
    for proof in found:
        for failure in proof.failures:
            named.setdefault(failure, []).append(proof)
    return dict(sorted(named.items()))


def table(named: Mapping[str, Iterable[Proof]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: each failure with its tests, file by file."""
    yield "| failure | tests |"
    yield "|---|---|"
    for failure, found in named.items():
        files: dict[str, list[str]] = {}
        for proof in sorted(found):
            files.setdefault(proof.file, []).append(proof.name.removeprefix("test_").replace("_", " "))
        cell = "<br>".join(f"`{file}`: {'; '.join(names)}" for file, names in files.items())
        yield f"| `{failure}` | {cell} |"


def main() -> None:
    """Print the table."""
    sys.stdout.writelines(f"{line}\n" for line in table(by_failure(proofs())))


if __name__ == "__main__":
    main()
