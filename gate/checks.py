"""Which tests are which check, and how they are run."""

from collections.abc import Sequence
from dataclasses import dataclass

R = "tests/reliability"


@dataclass(frozen=True)
class Check:
    """A check of the table in docs/reliability.md.

    shows: what it shows. paths: its tests. is_wide: whether they are many, and can be run side by side; else
    the tests use both cores themselves, or are one. parts: in how many its longest figure is done.
    """

    name: str
    shows: str
    paths: Sequence[str]
    is_wide: bool = False
    parts: int = 1


CHECKS = (
    Check("C1", "all operations agree with the oracle", [f"{R}/test_model.py"], parts=10),
    Check("C2", "a fault at every call of every operation", [f"{R}/test_crashes.py"], is_wide=True),
    Check("C3", "eight processes append and read", [f"{R}/test_append_log.py"], parts=5),
    Check("C4", "every order of the calls of two requests", [f"{R}/test_races.py"], is_wide=True),
    Check("C5", "what a fork inherits never changes", [f"{R}/test_prefixes.py"], parts=5),
    Check("C6", "deletion by killed workers", [f"{R}/test_cascade.py"]),
    Check("C7", "1,000 forks deep, 10,000 wide", [f"{R}/test_depth_and_width.py"]),
    Check("C8", "every route for every kind of caller", ["tests/authorization"]),
    Check("C9", "ids swapped between two tenants", [f"{R}/test_id_swap.py"]),
    Check("C10", "bad credentials", ["tests/credentials/test_bad_credentials.py"]),
    Check("C11", "cases made up from the OpenAPI document", ["tests/local_server/test_schemathesis.py"]),
    Check("C12", "hostile bodies", [f"{R}/test_hostile_bodies.py"]),
    Check("C13", "walks from page to page", [f"{R}/test_page_walks.py"]),
    Check("C14", "each condition of each write is needed", [f"{R}/test_conditions.py"], is_wide=True),
    Check("C15", "canaries in everything that is sent", ["tests/edge/test_canaries.py"]),
    Check("C17", "planted corruptions are found", ["tests/fsck"], is_wide=True),
)
"""C16, the template's, is `make test-deployment`."""
