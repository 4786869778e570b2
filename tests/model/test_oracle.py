"""The oracle stays short, covers every operation, and shares no code with forklore."""

import ast
from pathlib import Path

from tests.api.samples import AUDITED, bodies_of, names_of
from tests.model import oracle
from tools.harness.service import OPERATIONS

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


def test_the_oracle_knows_every_field_and_every_parameter() -> None:
    """What an auditor says in justification changes no answer."""
    sources = [path.read_text() for path in (ORACLE, ORACLE.with_name("asking.py"))]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    known = {node.value for node in nodes if isinstance(node, ast.Constant)}
    taken = {name for operation in OPERATIONS.values() for name in operation.query_names}
    taken |= {name for one in OPERATIONS.values() for body in bodies_of(one) for name in names_of(body)}

    assert taken - known == AUDITED, "see tests/model/oracle.py"


def _imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
