"""Which tests are which check, and how they are run."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

R = "tests/reliability"


class How(Enum):
    """How the tests of a check use the machine."""

    BESIDE = "one at a time; as many checks, or parts of them, beside each other as there are cores"
    WIDE = "side by side, as many as there are cores"
    ALONE = "one at a time; they use all cores themselves, or are timed"


@dataclass(frozen=True)
class Check:
    """A check of the table in docs/reliability.md.

    shows: what it shows. paths: its tests. parts: how often it is run at its figure, with other seeds, for
    the largest one; the gate runs the first. engine: the database of its tests, a program on the PATH; where
    it is not, the check is left out. None: DynamoDB Local.
    """

    name: str
    shows: str
    paths: Sequence[str]
    how: How = How.BESIDE
    parts: int = 1
    engine: str | None = None


CHECKS = (
    Check("C1", "all operations agree with the oracle", [f"{R}/test_model.py"], parts=10),
    Check("C2", "a fault at every call of every operation", [f"{R}/test_crashes.py"], How.WIDE),
    Check("C3", "eight processes append and read", [f"{R}/test_append_log.py"], How.ALONE, parts=5),
    Check("C4", "every order of the calls of two requests", [f"{R}/test_races.py"], How.WIDE),
    Check("C5", "what a fork inherits never changes", [f"{R}/test_prefixes.py"], parts=10),
    Check("C6", "deletion by killed workers", [f"{R}/test_cascade.py"], How.ALONE),
    Check("C7", "1,000 forks deep, 10,000 wide", [f"{R}/test_depth_and_width.py"]),
    Check("C8", "every route for every kind of caller", ["tests/authorization"]),
    Check("C9", "ids swapped between two tenants", [f"{R}/test_id_swap.py"]),
    Check("C10", "bad credentials", ["tests/credentials/test_bad_credentials.py"]),
    Check("C11", "cases made up from the OpenAPI document", ["tests/local/test_schemathesis.py"]),
    Check("C12", "hostile bodies", [f"{R}/test_hostile_bodies.py"]),
    Check("C13", "walks from page to page", [f"{R}/test_page_walks.py"]),
    Check("C14", "each condition of each write is needed", [f"{R}/test_conditions.py"], How.WIDE),
    Check("C15", "canaries in everything that is sent", ["tests/aws/test_canaries.py"]),
    Check("C17", "planted corruptions are found", ["tests/fsck"], How.WIDE),
    Check(
        "C18",
        "histories over HTTP, and each condition, on a third engine",
        ["tests/http/test_model.py", f"{R}/test_conditions.py"],
        How.WIDE,
        engine="dynoxide",
    ),
)
"""C16, the template's, is `make test-deployment`."""
