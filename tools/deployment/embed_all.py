"""`python -m tools.deployment.embed_all`: make the vectors that entries of a stack lack.

After `Recall` was turned on, or another model chosen, this is for what was said before. It names
all trees to the function that makes vectors, the newest first. What has its vectors already costs
some reads, so it may run again.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.limits import packs
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import tree_rows

TREES_AT_ONCE = 25
ROWS_AT_ONCE = 1_000
TRIES_MAX = 10
"""So often trees are named to the function of which it has not done all."""
CALL_SECONDS = 330
"""How long an answer of the function is waited for. The function ends before that."""
TABLE, FUNCTION = "TableName", "EmbedFunctionName"


def embed_all(table: Table, functions: Any, function: str) -> Iterator[str]:
    """Yield a line for each call of the function that left trees, and one at the end."""
    done = 0
    left: list[str] = []
    for some in _some(
        row.group_id for row in tree_rows.of_all(table, before=None, through=None, page=ROWS_AT_ONCE)
    ):
        undone = _embed(functions, function, some)
        done += len(some) - len(undone)
        left += undone
        if undone:
            yield f"{done} trees done, {len(left)} not yet"
    for _ in range(TRIES_MAX):
        if not left:
            break
        undone = [one for some in _some(left) for one in _embed(functions, function, some)]
        done, left = done + len(left) - len(undone), undone
    yield f"{done} trees done, {len(left)} left"
    yield from (f"left: {tree}" for tree in left)


def _some(named: Iterable[str]) -> Iterator[list[str]]:
    yield from packs(named, (TREES_AT_ONCE,), lambda _: (1,))


def _embed(functions: Any, function: str, some: Sequence[str]) -> list[str]:
    """Return the trees that are not done."""
    answer = functions.invoke(FunctionName=function, Payload=json.dumps({"trees": some}))
    result = json.load(answer["Payload"])
    if "FunctionError" in answer:
        return [*some]
    left: list[str] = result["left"]
    return left


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the vectors of a stack. Return the exit code: 1 if some are left."""
    parser = argparse.ArgumentParser(prog="python -m tools.deployment.embed_all", description=__doc__)
    parser.add_argument("--stack-name", default="forklore", help="the stack (default: forklore)")
    chosen = parser.parse_args(arguments)
    session = boto3.Session()
    try:
        [stack] = session.client("cloudformation").describe_stacks(StackName=chosen.stack_name)["Stacks"]
        outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
        if FUNCTION not in outputs:
            sys.stderr.write(f"The stack {chosen.stack_name} makes no vectors: Recall is off.\n")
            return 2
        once = Config(read_timeout=CALL_SECONDS, retries={"total_max_attempts": 1})
        table = Table(Connection(make_client(region=session.region_name), outputs[TABLE], Clock()))
        is_done = False
        for line in embed_all(table, session.client("lambda", config=once), outputs[FUNCTION]):
            sys.stdout.write(f"{line}\n")
            is_done |= line.endswith(" 0 left")
    except (BotoCoreError, ClientError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if is_done else 1


if __name__ == "__main__":
    sys.exit(main())
