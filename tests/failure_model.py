"""Which test proves which row of the failure model: `python -m tests.failure_model` prints the table.

A test names the rows that it proves in its name or its docstring: F02. The rows are those of the page
`shared/reliability.md` beside the project, where there is one, and else F01 to F37.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parents[1] / "shared" / "reliability.md"
KNOWN = tuple(f"F{number:02}" for number in range(1, 38))
_ID = re.compile(r"(?<![A-Za-z0-9])F\d{2}(?![0-9])")


@dataclass(frozen=True, order=True)
class Proof:
    """A test that says which rows it proves. file: from the folder of the tests on."""

    file: str
    name: str
    says: str

    @property
    def rows(self) -> list[str]:
        """The rows that the test names."""
        return rows_in(f"{self.name} {self.says}")


def rows_in(text: str) -> list[str]:
    """Return the rows that a text names, each once.

    >>> rows_in("A retry after an unknown result (F02), F04; not F5, F100 or 0xF02")
    ['F02', 'F04']
    """
    return sorted(set(_ID.findall(text)))


def rows_of_page(page: str) -> list[str]:
    """Return the rows of the failure model's table.

    >>> rows_of_page("| id | fault |\\n| F01 | killed |\\n| F37 | used again, see F01 |\\n| C1 | F02 |")
    ['F01', 'F37']
    """
    return sorted(set(re.findall(r"^\| (F\d{2}) \|", page, re.MULTILINE)))


def rows() -> list[str]:
    """Return the rows that there are."""
    return rows_of_page(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else list(KNOWN)


def proofs(folder: Path = TESTS) -> Iterator[Proof]:
    """Yield every test that names a row."""
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                proof = Proof(file.relative_to(folder).as_posix(), node.name, ast.get_docstring(node) or "")
                if proof.rows:
                    yield proof


def by_row(found: Iterable[Proof]) -> Mapping[str, list[Proof]]:
    """Return the tests of each row that is named."""
    named: dict[str, list[Proof]] = {}
    for proof in found:
        for row in proof.rows:
            named.setdefault(row, []).append(proof)
    return dict(sorted(named.items()))


def table(named: Mapping[str, Iterable[Proof]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: each row with its tests, file by file."""
    yield "| id | tests |"
    yield "|---|---|"
    for row, found in named.items():
        files: dict[str, list[str]] = {}
        for proof in sorted(found):
            files.setdefault(proof.file, []).append(proof.name.removeprefix("test_").replace("_", " "))
        cell = "<br>".join(f"`{file}`: {'; '.join(names)}" for file, names in files.items())
        yield f"| {row} | {cell} |"


def main() -> None:
    """Print the table."""
    sys.stdout.writelines(f"{line}\n" for line in table(by_row(proofs())))


if __name__ == "__main__":
    main()
