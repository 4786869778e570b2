"""The oracle stays short, covers every operation, and shares no code with forklore."""

import ast
from pathlib import Path

from tests.service.api.samples import bodies_of, names_of
from tests.service.model import oracle
from tools.harness.service import OPERATIONS

FOLDER = Path(oracle.__file__).parent
ROOMS = {path.name: path.read_text() for path in [*FOLDER.glob("*.py"), FOLDER.with_name("asking.py")]}
LINES_MAX = 150
"""The most lines of one room."""


def test_each_room_of_the_oracle_is_short() -> None:
    lines = {name: len(text.splitlines()) for name, text in ROOMS.items()}

    assert {name: count for name, count in lines.items() if count > LINES_MAX} == {}


def test_the_oracle_shares_no_code_with_forklore() -> None:
    imported = {module for text in ROOMS.values() for module in _imported(text)}
    others = {name for name in imported if not name.startswith("tests.service.model.oracle.")}

    assert others == {
        "re",
        "math",
        "collections.abc",
        "dataclasses",
        "datetime",
        "decimal",
        "typing",
        "tests.service.model.asking",
    }
    assert _imported(ROOMS["asking.py"]) == {"dataclasses", "typing"}


def test_the_oracle_knows_every_operation() -> None:
    own = {name for name in OPERATIONS if not name.startswith("admin")}
    methods = {name for name in dir(oracle.Oracle) if not name.startswith("_")}

    assert {_snake(name) for name in own} <= methods
    assert {
        _snake(name.removeprefix("admin")).removeprefix("_") for name in OPERATIONS.keys() - own
    } <= methods


def test_the_oracle_knows_every_field_and_every_parameter() -> None:
    """Two change no answer: how long it may be held, and when a link ends, as none does here."""
    nodes = [node for text in ROOMS.values() for node in ast.walk(ast.parse(text))]
    known = {node.value for node in nodes if isinstance(node, ast.Constant)}
    taken = {name for operation in OPERATIONS.values() for name in operation.query_names}
    taken |= {name for one in OPERATIONS.values() for body in bodies_of(one) for name in names_of(body)}

    assert taken - known == {"wait", "days"}, "see tests/service/model/oracle/"


def _imported(text: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(text)))
    whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return whole | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
