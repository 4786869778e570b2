"""The checks of docs/reliability.md: the tests of each, and how to run them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

R = "tests/reliability"


class How(Enum):
    """How many tests of a check run at once."""

    BESIDE = "one test at a time; as many checks, or parts of checks, at once as there are cores"
    WIDE = "as many tests at once as there are cores"
    ALONE = "one test at a time and no other check, because the tests use all cores or measure time"


@dataclass(frozen=True)
class Check:
    """A check, named as in the table of docs/reliability.md.

    paths: its tests. parts: how often `make gate-long` runs it, each time with another seed. `make
    gate` runs the first part only. engine: the database of its tests, `embedded` for our own;
    None: DynamoDB Local.
    """

    name: str
    shows: str
    paths: Sequence[str]
    how: How = How.BESIDE
    parts: int = 1
    engine: str | None = None


CHECKS = (
    Check("histories", "all operations agree with the oracle", [f"{R}/test_model.py"], parts=10),
    Check("call-faults", "a fault at every call of every operation", [f"{R}/test_crashes.py"], How.WIDE),
    Check("many-writers", "eight processes append and read", [f"{R}/test_append_log.py"], How.ALONE, parts=5),
    Check("orders-of-two", "every order of the calls of two requests", [f"{R}/test_races.py"], How.WIDE),
    Check("torn-reads", "batch reads that show a part of a request", [f"{R}/test_torn_reads.py"], How.WIDE),
    Check("inherited-parts", "what a fork inherits never changes", [f"{R}/test_prefixes.py"], parts=10),
    Check("killed-deletions", "deletion by killed workers", [f"{R}/test_cascade.py"], How.ALONE),
    Check("deep-and-wide", "1,000 forks deep, 10,000 wide", [f"{R}/test_depth_and_width.py"]),
    Check("who-may-what", "every route for every kind of caller", ["tests/authorization"]),
    Check("swapped-ids", "ids swapped between two tenants", [f"{R}/test_id_swap.py"]),
    Check("bad-credentials", "bad credentials", ["tests/credentials/test_bad_credentials.py"]),
    Check(
        "openapi-cases",
        "cases made up from the OpenAPI document",
        ["tests/local/test_schemathesis.py"],
    ),
    Check("hostile-bodies", "hostile bodies", [f"{R}/test_hostile_bodies.py"]),
    Check("page-walks", "walks from page to page", [f"{R}/test_page_walks.py"]),
    Check(
        "needed-conditions", "each condition of each write is needed", [f"{R}/test_conditions.py"], How.WIDE
    ),
    Check("canaries", "canaries in everything that is sent", ["tests/aws/test_canaries.py"]),
    Check("pure-rules", "the rules of the domain on random values", ["tests/domain"]),
    Check("planted-damage", "planted corruptions are found", ["tests/fsck"], How.WIDE),
    Check("told-changes", "each change is told by one event", [f"{R}/test_told_changes.py"], parts=3),
    Check("client-faults", "faults between clients and the service", [f"{R}/test_client_faults.py"]),
    Check(
        "moved-data", "exports and imports of whole trees, with faults", [f"{R}/test_porting.py"], How.WIDE
    ),
    Check("engine", "the engine answers as DynamoDB Local, and is whole under faults", ["tests/embedded"]),
    Check(
        "own-engine",
        "histories over HTTP, faults, races and each condition on forklore's own engine",
        [
            "tests/http/test_model.py",
            *(f"{R}/test_{name}.py" for name in ("conditions", "crashes", "races", "torn_reads", "same_key")),
        ],
        How.WIDE,
        engine="embedded",
    ),
)
"""All checks except `template`, which is `make test-deployment`."""
