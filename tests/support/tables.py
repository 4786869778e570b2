"""The real Table on moto in this process, and a tap on the wire between the two.

Every Table that a Store opens stands for another process: it has its own client, clock and cache.
The Store itself reads the table from outside, and plants items that no use case writes.
"""

import functools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from forklore.domain import keys
from forklore.domain.access import AccessLevel
from forklore.domain.keys import Key
from forklore.domain.model import Conversation
from forklore.errors import ForkloreError
from forklore.local import embedded, template
from forklore.storage import items
from forklore.storage.clock import Clock, system_ms
from forklore.storage.connection import CONNECTIONS_MAX, Connection, Deadline, Item, make_client
from forklore.storage.table import Table

NAME = "forklore"
DEFINITION = template.read_template(Path(__file__).parents[2] / "template.yaml").table
DAY_S = 24 * 3600
BATCH_ITEMS_MAX = 25

_chain = threading.local()
"""How many requests in a row the task of this thread had to wait for."""


def _rounds() -> int:
    behind: int = getattr(_chain, "rounds", 0)
    return behind


class Threads(ThreadPoolExecutor):
    """Runs reads side by side, and counts the rounds: how many reads had to wait for others."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        behind, reached = _rounds(), [0]

        def run() -> Any:
            _chain.rounds = behind
            try:
                return fn(*args, **kwargs)
            finally:
                reached.append(_rounds())

        future = super().submit(run)
        wait = future.result

        def result(timeout: float | None = None) -> Any:
            try:
                return wait(timeout)
            finally:
                _chain.rounds = max(_rounds(), *reached)

        future.result = result  # type: ignore[method-assign]
        return future


_THREADS = Threads(16, thread_name_prefix="side-by-side")


class WrongClock(Clock):
    """A clock that is off and learns nothing, as if the `Date` of all answers were as wrong."""

    def __init__(self, off_ms: int) -> None:
        super().__init__(lambda: system_ms() + off_ms)

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        self.was_compared = True


def mine_of(root: Conversation, user_id: str) -> Item:
    """Return the row of the root's tree in the user's list."""
    is_child = root.started_by is not None
    return items.user_tree_item(root.group_id, user_id, created_at=root.created_at, is_child=is_child)


@dataclass(frozen=True)
class Store:
    """The table, seen from outside. endpoint: its address; None for the moto of this process."""

    client: Any
    name: str
    endpoint: str | None = None

    def process(
        self,
        *,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = lambda _seconds: None,
        random: Callable[[int], int] = secrets.randbits,
        seconds: float | None = None,
        threads: ThreadPoolExecutor | None = None,
    ) -> Table:
        """Return the table as another process sees it. seconds: the time left for its request."""
        return Table(
            Connection(make_client(self.endpoint), self.name, clock or Clock(), sleep=sleep),
            deadline=None if seconds is None else Deadline.after(seconds),
            random=random,
            threads=threads or _THREADS,
        )

    def contents(self) -> dict[Key, Item]:
        """Return every item."""
        found: dict[Key, Item] = {}
        start: dict[str, Item] = {}
        while True:
            page = self.client.scan(TableName=self.name, ConsistentRead=True, **start)
            found |= {Key(item["PK"]["S"], item["SK"]["S"]): item for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def item(self, key: Key) -> Item:
        """Return the item, which must exist."""
        found = self.client.get_item(TableName=self.name, Key=items.key_of(key), ConsistentRead=True)
        item: Item = found["Item"]
        return item

    def put(self, *planted: Item) -> None:
        for at in range(0, len(planted), BATCH_ITEMS_MAX):
            requests = [{"PutRequest": {"Item": item}} for item in planted[at : at + BATCH_ITEMS_MAX]]
            self.client.batch_write_item(RequestItems={self.name: requests})

    def change(self, key: Key, **attributes: dict[str, Any]) -> None:
        """Replace attributes of an item that exists."""
        self.put(self.item(key) | attributes)

    def delete(self, *keys_of_items: Key) -> None:
        for key in keys_of_items:
            self.client.delete_item(TableName=self.name, Key=items.key_of(key))

    def add_member(self, group_id: str, user_id: str, level: AccessLevel = AccessLevel.WRITER) -> None:
        """Share a tree: put the MEM and USER_TREE items, and count the member."""
        created_at = self.item(keys.group(group_id))["createdAt"]["S"]
        root = Conversation(group_id, group_id, created_at)
        self._count_members(group_id, 0 if self._is_member(group_id, user_id) else 1)
        self.put(
            items.member_item(group_id, items.Member(user_id, level, created_at)), mine_of(root, user_id)
        )

    def remove_member(self, group_id: str, user_id: str) -> None:
        """Remove a membership. The USER_TREE item stays, as a stale row of the user's list."""
        self._count_members(group_id, -1 if self._is_member(group_id, user_id) else 0)
        self.delete(keys.member(group_id, user_id))

    def _is_member(self, group_id: str, user_id: str) -> bool:
        key = items.key_of(keys.member(group_id, user_id))
        return "Item" in self.client.get_item(TableName=self.name, Key=key)

    def _count_members(self, group_id: str, by: int) -> None:
        group = items.group(self.item(keys.group(group_id)))
        self.change(
            keys.group(group_id),
            members=items.number(group.members + by),
            membersVersion=items.number(group.members_version + 1),
        )

    def mark_deleted(self, group_id: str) -> None:
        """Mark the tree deleted: the first step of its deletion. From then on no read sees it."""
        self.change(keys.group(group_id), state=items.text("tombstone"))

    def remove_tree(self, group_id: str, *, ttl_s: int | None = None) -> None:
        """Delete a tree completely. Only retired pointers remain.

        ttl_s: the time until which the ids may not be used again; None for 30 days from now.
        """
        ttl_s = int(time.time()) + 30 * DAY_S if ttl_s is None else ttl_s
        for key, item in self.contents().items():
            if key.partition.startswith("PTR#") and item.get("group") == {"S": group_id}:
                gone: Item = {"retired": {"BOOL": True}, "ttl": items.number(ttl_s)}
                self.put(items.key_of(key) | gone)
            elif (
                key.partition == group_id
                or key.partition.startswith(f"BLOB#{group_id}#")
                or (key.partition.startswith("USER#") and key.sort.endswith(f"#{group_id}"))
            ):
                self.delete(key)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Assert that the block changes no item."""
        before = self.contents()
        yield
        assert self.contents() == before

    @contextmanager
    def refuses(self, error: type[ForkloreError]) -> Iterator[pytest.ExceptionInfo[ForkloreError]]:
        """Assert that the block raises exactly `error` and changes no item."""
        with self.unchanged(), pytest.raises(error) as raised:
            yield raised
        assert raised.type is error


@pytest.fixture(scope="module")
def moto() -> Iterator[None]:
    """A moto for one module of tests. It cannot reach the developer's accounts."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
            environment.delenv(name, raising=False)
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
        started = embedded.start_moto()
        try:
            yield
        finally:
            started.stop()


@functools.cache
def outside(endpoint: str | None) -> Any:
    """Return a client that no test taps, with longer timeouts than forklore's own client.

    If moto is to answer it, make it while moto runs.
    """
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 4},
        read_timeout=60,
        max_pool_connections=CONNECTIONS_MAX,
        parameter_validation=False,
    )
    return boto3.Session().client("dynamodb", endpoint_url=endpoint, config=config)


@contextmanager
def fresh_store(name: str = NAME, *, endpoint: str | None = None) -> Iterator[Store]:
    """Yield an empty table, and delete it at the end.

    endpoint: the address of its DynamoDB; None for the moto of this process.
    """
    client = outside(endpoint)
    client.create_table(TableName=name, **DEFINITION)
    try:
        yield Store(client, name, endpoint)
    finally:
        client.delete_table(TableName=name)


@pytest.fixture
def store(moto: None) -> Iterator[Store]:
    """An empty table, seen from outside."""
    with fresh_store() as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    """The real Table on the store. Its retries do not wait."""
    return store.process()


@dataclass
class Request:
    """One request on the wire. number: from 1. round: 1 + the requests that it waited for."""

    number: int
    operation: str
    body: dict[str, Any]
    round: int
    scratch: dict[str, Any] = field(default_factory=dict)


Answer = Mapping[str, Any]


class Wire:
    """A tap on the wire of one table's client. It counts requests, and may answer them."""

    def __init__(self, client: Any) -> None:
        self.requests: list[Request] = []
        self._before: list[Callable[[Request], Answer | None]] = []
        self._after: list[Callable[[Request, dict[str, Any]], None]] = []
        self._lock = threading.Lock()
        _chain.rounds = 0
        client.meta.events.register("before-call.dynamodb", self._leaves)
        client.meta.events.register("after-call.dynamodb", self._arrives)

    @classmethod
    def of(cls, table: Table) -> "Wire":
        return cls(table.connection.client)

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.requests]

    @property
    def rounds(self) -> int:
        """How many requests had to be made one after another."""
        return max((request.round for request in self.requests), default=0)

    def clear(self) -> None:
        """Count from here on."""
        self.requests.clear()
        _chain.rounds = 0

    def before(self, act: Callable[[Request], Answer | None]) -> None:
        """Call `act` with every request before it is sent. It may raise, or return an answer."""
        self._before.append(act)

    def after(self, act: Callable[[Request, dict[str, Any]], None]) -> None:
        """Call `act` with every answer as it arrives. It may raise, or change the answer."""
        self._after.append(act)

    def just_before(self, operation: str, act: Callable[[], object], *, nth: int = 1) -> None:
        """Run `act` once, right before the nth request of `operation` is sent."""
        seen = 0

        def run(request: Request) -> None:
            nonlocal seen
            seen += request.operation == operation
            if request.operation == operation and seen == nth:
                act()

        self.before(run)

    def _leaves(
        self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any
    ) -> tuple[AWSResponse, Answer] | None:
        with self._lock:
            _chain.rounds = _rounds() + 1
            request = Request(len(self.requests) + 1, model.name, json.loads(params["body"]), _rounds())
            self.requests.append(request)
        context["request"] = request
        for act in list(self._before):
            answer = act(request)
            if answer is not None:
                status = answer["ResponseMetadata"]["HTTPStatusCode"]
                return AWSResponse("", status, HTTPHeaders(), None), answer
        return None

    def _arrives(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        for act in list(self._after):
            act(context["request"], parsed)


def success(**members: Any) -> dict[str, Any]:
    """Return an answer as botocore returns it."""
    return {**members, "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {}}}


def failure(code: str, *, status: int = 400, message: str = "", **members: Any) -> dict[str, Any]:
    """Return an error of DynamoDB as botocore returns it."""
    return {
        **members,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}},
    }


def cancelled(*reasons: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a cancelled transaction. reasons: one for each part; a text is a bare code."""
    spelled = [{"Code": reason} if isinstance(reason, str) else dict(reason) for reason in reasons]
    return failure("TransactionCanceledException", CancellationReasons=spelled)
