"""Random histories ask with every field and every parameter that an operation takes."""

from random import Random

import pytest

from forklore_service.api import operations
from forklore_service.api.operation import Operation
from tests.service.api.samples import PAGING, bodies_of, names_of
from tests.service.model.asking import Caller
from tests.service.model.history import History
from tests.service.model.imagined import Imagined

HISTORIES, STEPS = 250, 60
USERS = ("ann", "bob", "cat", "dan", "eve")
ADMINS = (Caller("root", roles=frozenset({"admin", "auditor"})),)


def taken_by(operation: Operation) -> set[str]:
    """Return the names of an operation's fields and parameters, without those of pages."""
    return {*operation.query_names, *(n for body in bodies_of(operation) for n in names_of(body))} - PAGING


@pytest.fixture(scope="module")
def asked() -> set[tuple[str, str]]:
    """The names that were sent with each operation. The oracle always agrees with itself."""
    found: set[tuple[str, str]] = set()
    wanted = {(operation.name, name) for operation in operations.ALL for name in taken_by(operation)}
    for seed in range(HISTORIES):
        if wanted <= found:
            break
        service, random = Imagined(Random(seed)), Random(seed)
        History([service], random, users=USERS, admins=ADMINS, is_alone=True).run(STEPS)
        found |= service.asked
    return found


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_random_histories_ask_with_all_that_an_operation_takes(
    asked: set[tuple[str, str]], operation: Operation
) -> None:
    sent = {name for of, name in asked if of == operation.name}

    assert taken_by(operation) <= sent, "see choices.py, history.py, reading.py, branching.py and naming.py"


def test_a_history_beside_others_knows_the_attachments_that_are_its_own() -> None:
    history = History([Imagined(Random(1))], Random(1), users=USERS, admins=ADMINS)
    history.begin()

    for move in ("upload_attachment", "administer_attachments") * 20:
        history.move(move)
