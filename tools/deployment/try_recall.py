"""`make try-recall`: measure what only AWS can tell of recall, in tables that it makes and deletes.

python -m tools.deployment.try_recall [--yes] [--no-live-index] [--vectors 10000] [--endpoint URL]

How long an index of vectors takes until it answers, made with its table or for one that is there;
how late a search finds what was written; the host that answers searches; whether a filter that
keeps 1 % still fills an answer; how many of the nearest vectors an answer has; and what is billed.
It needs credentials that may make and delete tables named forklore-try-recall-*, and costs about
$0.05.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.domain import ids, vectors
from forklore_service.domain.vectors import Vector
from forklore_service.errors import UnavailableError
from forklore_service.storage import items, schema
from forklore_service.storage.clients import make_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.table import Table

VECTORS, TREES, TOP = 10_000, 100, 100
LATE, SEARCHES = 20, 20
"""How many writes are looked for, and how many searches are timed."""
WAIT_SECONDS = 3_600
"""For how long an index is waited for."""
SHELF, MODEL = "a-shelf", "a-model"


class Tried:
    """A table under trial. hosts: those that answered searches."""

    def __init__(self, endpoint: str | None, *, name: str | None = None) -> None:
        self.endpoint = endpoint
        self.client = make_client(endpoint)
        self.client.meta.events.register("before-send.dynamodb.SearchVectors", self._note_host)
        self.name = name or f"forklore-try-recall-{uuid4().hex[:8]}"
        self.table = Table(Connection(self.client, self.name, Clock()))
        self.hosts: set[str] = set()
        self.random = random.Random(1 if name is None else 2)  # nosec B311 # no secret

    def _note_host(self, request: Any, **_: Any) -> None:
        self.hosts.add(str(urlsplit(request.url).hostname))

    def create(self, definition: Any) -> None:
        self.client.create_table(TableName=self.name, **definition)
        self.client.get_waiter("table_exists").wait(TableName=self.name, WaiterConfig={"Delay": 2})

    def delete(self) -> None:
        """Delete the table, as soon as no index of it is being made."""
        for _ in until(WAIT_SECONDS, every=10.0):
            try:
                self.client.delete_table(TableName=self.name)
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceInUseException":
                    raise
            else:
                return

    def add_index(self) -> None:
        [index] = schema.TABLE_BY_MEANING["VectorIndexes"]
        self.client.update_table(
            TableName=self.name,
            AttributeDefinitions=schema.TABLE_BY_MEANING["AttributeDefinitions"],
            VectorIndexUpdates=[{"Create": index}],
        )

    def index_status(self) -> str:
        [index] = self.client.describe_table(TableName=self.name)["Table"]["VectorIndexes"]
        return str(index["IndexStatus"])

    def vector(self, tree: int) -> Vector:
        """Return a random vector of an entry in a tree."""
        numbers = [self.random.randint(-32_767, 32_767) for _ in range(schema.DIMENSIONS)]
        packed = b"".join(one.to_bytes(2, "little", signed=True) for one in numbers)
        entry_id = ids.fresh_id(0, self.random.getrandbits(62))
        return Vector(f"c{tree}", entry_id, 0, MODEL, packed, SHELF)

    def put(self, tree: int, vector: Vector) -> None:
        item = items.vector_item(f"t{tree}", vector)
        self.client.put_item(TableName=self.name, Item=item)

    def put_many(self, of: Sequence[tuple[int, Vector]]) -> None:
        for at in range(0, len(of), 25):
            left = [
                {"PutRequest": {"Item": items.vector_item(f"t{tree}", one)}} for tree, one in of[at : at + 25]
            ]
            while left:
                answer = self.client.batch_write_item(RequestItems={self.name: left})
                left = answer["UnprocessedItems"].get(self.name, [])

    def search(self, asked: Vector, top: int = TOP, **only: str) -> list[Any]:
        wanted = {schema.SHELF: SHELF, schema.VECTOR_MODEL: MODEL, **only}
        return list(self.table.nearest_vectors(vectors.indexed(asked.packed), top, wanted))

    def answers(self) -> bool:
        try:
            self.search(self.vector(0))
        except UnavailableError:
            return False
        return True


def until(seconds: float, *, every: float) -> Iterator[float]:
    """Yield the seconds since now, again and again. Raises TimeoutError in the end."""
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        yield passed
        time.sleep(every)
    raise TimeoutError(f"nothing after {seconds:.0f} s")


def timed(call: Callable[[], object]) -> float:
    """Return how many milliseconds a call takes."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def try_live_index(tried: Tried) -> Iterator[str]:
    """Yield how long the index of a table that is there takes."""
    tried.create(schema.TABLE)
    tried.put_many([(tree, tried.vector(tree)) for tree in range(25)])
    tried.add_index()
    active = None
    for passed in until(WAIT_SECONDS, every=5.0):
        if active is None and tried.index_status() == "ACTIVE":
            active = passed
        if tried.answers():
            yield f"an index for a table that is there: ACTIVE after {active or passed:.0f} s"
            yield f"… and answers after {passed:.0f} s"
            return


def try_index(tried: Tried, count: int) -> Iterator[str]:
    """Yield what an index that is made with its table does."""
    begun = time.monotonic()
    tried.create(schema.TABLE_BY_MEANING)
    for _ in until(WAIT_SECONDS, every=1.0):
        if tried.answers():
            break
    yield f"an index made with its table: answers after {time.monotonic() - begun:.0f} s"

    fresh = Tried(tried.endpoint, name=tried.name)
    first = timed(lambda: fresh.search(fresh.vector(0)))
    rest = [timed(lambda: fresh.search(fresh.vector(0))) for _ in range(SEARCHES)]
    yield f"host of searches: {', '.join(sorted(fresh.hosts))}"
    yield f"the first search of a process: {first:.0f} ms; then {_spread(rest)} ms"

    stored = [(0, tried.vector(0)) for _ in range(LATE)]
    late = [_lag(tried, one) for _, one in stored]
    yield f"a search finds what was written after {_spread(late)} ms"

    many = [(number % TREES, tried.vector(number % TREES)) for number in range(count)]
    tried.put_many(many)
    stored += many
    of_one = count // TREES
    last_tree, last = stored[-1]
    for _ in until(WAIT_SECONDS, every=1.0):
        if len(tried.search(last, TOP, **{schema.VECTOR_TREE: f"t{last_tree}"})) >= min(TOP, of_one):
            break
    shown, found = [], []
    for tree in range(0, TREES, TREES // 10):
        asked = tried.vector(tree)
        shown.append(len(tried.search(asked, min(TOP, of_one), **{schema.VECTOR_TREE: f"t{tree}"})))
        near = {one.entry_id for one in tried.search(asked, 10)}
        found.append(len(near & _nearest(asked, stored, 10)) / 10)
    yield f"a filter that keeps {100 / TREES:g} % of {count}: {min(shown)} of {min(TOP, of_one)} at the least"
    yield f"of the ten nearest of {count}, a search has {statistics.mean(found):.0%}"
    whole = [timed(lambda: tried.search(tried.vector(0))) for _ in range(SEARCHES)]
    yield f"a search of {count}: {_spread(whole)} ms"
    yield f"billed for one: {_billed(tried)}"


def _lag(tried: Tried, one: Vector) -> float:
    """Return how many milliseconds after its write a search finds a vector."""
    tried.put(0, one)
    begun = time.perf_counter()
    for _ in until(WAIT_SECONDS, every=0.0):
        if any(hit.entry_id == one.entry_id for hit in tried.search(one, 1)):
            break
    return (time.perf_counter() - begun) * 1000


def _nearest(asked: Vector, stored: Sequence[tuple[int, Vector]], count: int) -> set[str]:
    numbers = vectors.indexed(asked.packed)
    near = [(vectors.cosine(numbers, vectors.indexed(one.packed)), one.entry_id) for _, one in stored]
    return {entry_id for _, entry_id in sorted(near, reverse=True)[:count]}


def _billed(tried: Tried) -> Any:
    answer = tried.client.search_vectors(
        TableName=tried.name,
        IndexName=schema.BY_MEANING,
        SearchVector=items.vector_list(vectors.indexed(tried.vector(0).packed))["L"],
        TopK=TOP,
        SearchConditionExpression=f"{schema.SHELF} = :shelf",
        ExpressionAttributeValues={":shelf": {"S": SHELF}},
        ReturnConsumedCapacity="INDEXES",
    )
    return answer.get("ConsumedCapacity")


def _spread(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.0f} (at most {max(times):.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try it, and print each figure. Return the exit code."""
    parser = argparse.ArgumentParser(prog="make try-recall", description=__doc__)
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    parser.add_argument("--no-live-index", action="store_true", help="leave out what takes half an hour")
    parser.add_argument("--vectors", type=int, default=VECTORS)
    parser.add_argument("--endpoint", help="of an emulator")
    chosen = parser.parse_args(arguments)
    if not chosen.yes:
        sys.stdout.write(
            "This makes two tables on AWS, costs about $0.05 and takes up to an hour. Go on? [y/N] "
        )
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return 2
    trials = [lambda tried: try_index(tried, chosen.vectors), try_live_index]
    try:
        return max(_try(one, chosen.endpoint) for one in trials[: 1 if chosen.no_live_index else 2])
    except BotoCoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _try(trial: Callable[[Tried], Iterator[str]], endpoint: str | None) -> int:
    """Print what a trial tells. Return 1 if it failed."""
    tried, failed = Tried(endpoint), 0
    try:
        for line in trial(tried):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except (BotoCoreError, ClientError, TimeoutError, UnavailableError) as error:
        sys.stderr.write(f"{error}\n")
        failed = 1
    try:
        tried.delete()
    except (BotoCoreError, ClientError, TimeoutError) as error:
        sys.stderr.write(f"look for the table {tried.name}, and delete it: {error}\n")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
