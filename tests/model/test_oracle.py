"""The oracle stays short, covers every operation, and shares no code with forklore."""

import ast
from pathlib import Path

from tests.model import oracle
from tests.reliability.service import OPERATIONS

ORACLE = Path(oracle.__file__)
LINES_MAX = 400


def test_the_oracle_is_short() -> None:
    assert len(ORACLE.read_text().splitlines()) <= LINES_MAX


def test_the_oracle_shares_no_code_with_forklore() -> None:
    asking = ORACLE.with_name("asking.py")

    own = {"tests.model.asking", "tests.model.lists"}
    assert _imported(ORACLE) == {"re", "collections.abc", "dataclasses", "decimal"} | own
    assert _imported(asking) == {"dataclasses", "typing"}
    assert _imported(ORACLE.with_name("lists.py")) == {"tests.model.asking"}


def test_the_oracle_knows_every_operation() -> None:
    own = {name for name in OPERATIONS if not name.startswith("admin")}
    methods = {name for name in vars(oracle.Oracle) if not name.startswith("_")}

    assert {_snake(name) for name in own} <= methods
    assert {name.removeprefix("admin") for name in OPERATIONS.keys() - own} <= {
        n[0].upper() + n[1:] for n in own
    }


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
