"""Two servers get the same request at the same moment."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest

from forklore_service.domain import keys
from forklore_service.domain.model import Caller as Writer
from forklore_service.domain.model import ForkPosition
from forklore_service.errors import NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.forks import ForkRequest, fork_conversation
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay
from forklore_service.usecases.shared.requests import Fork
from forklore_service.usecases.writing.conversations import NewConversation, create_conversation
from tests.service.http.client import Answer, Json, Service
from tests.service.http.conftest import a_new_table
from tests.service.model.asking import Caller
from tests.support import writing
from tests.support.machine_clock import MachineClock
from tests.support.processes import API_KEYS, local_servers

ROUNDS = 8
Key = tuple[str, str]
Tearing = Callable[[Callable[[Table], None], set[Key]], None]
WRITER = Writer("writer")


@pytest.fixture(scope="module")
def two(own_endpoint: str) -> Iterator[tuple[Service, Service]]:
    """Two servers on one table. Their clocks differ by 10 s before the correction by `Date`."""
    clocks = [MachineClock(5), MachineClock(-5)]
    with (
        local_servers(clocks, endpoint=own_endpoint, table=a_new_table()) as (first, second),
        Service(first, keys=API_KEYS) as one,
        Service(second, keys=API_KEYS) as other,
    ):
        yield one, other


@pytest.fixture
def caller(two: tuple[Service, Service]) -> Caller:
    return Caller(two[0].new_user(), "planner")


def at_once(two: tuple[Service, Service], *asked: Any, **request: Any) -> tuple[Answer, Answer]:
    """Send the same request to both servers at the same moment; return both answers.

    asked, request: the arguments of `Service.ask`.
    """
    gate = Barrier(2, timeout=60)

    def send(service: Service) -> Answer:
        gate.wait()
        return service.ask(*asked, **request)

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(send, two)
    return first, second


def entry(name: str) -> dict[str, Json]:
    """Return the body of an append of the entry `D`, or of `(D)`, an entry of the context."""
    if name.startswith("("):
        return {"channel": "context", "contentType": "application/json", "content": [name]}
    return {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": name}]}


def shown(service: Service, caller: Caller, conversation_id: str) -> list[Json]:
    return service.entries(caller, conversation_id, limit=1000)


def test_a_request_sent_twice_with_one_key_takes_effect_once_and_both_answers_are_equal(
    two: tuple[Service, Service], caller: Caller
) -> None:
    root = str(uuid4())
    two[0].get(caller, "appendEntry", root, body=entry("A"))
    for number in range(ROUNDS):
        for at, (name, conversation_id, body) in enumerate(
            [
                ("appendEntry", root, entry("B")),
                ("appendEntry", root, {"entries": [entry("C"), entry("(D)")]}),
                ("forkConversation", root, {}),
                ("forkConversation", root, {"id": str(uuid4())}),
                ("createConversation", None, {}),
                ("createConversation", None, {"id": str(uuid4())}),
            ]
        ):
            key = {"Idempotency-Key": f"{number}.{at}"}
            first, second = at_once(two, caller, name, conversation_id, body=body, headers=key)
            assert (first.status, first.body) == (second.status, second.body)
            assert first.status == 201

    assert len(shown(two[0], caller, root)) == 1 + 3 * ROUNDS
    listed = two[1].get(caller, "listConversations", query={"mode": "all", "limit": 200})["data"]
    assert len(listed) == 1 + 4 * ROUNDS


@pytest.mark.failure("two-creators")
def test_of_two_that_create_one_id_one_wins_and_the_other_is_409(
    two: tuple[Service, Service], caller: Caller
) -> None:
    for _ in range(ROUNDS):
        body = {"id": str(uuid4())}
        answers = at_once(two, caller, "createConversation", body=body)
        assert sorted(answer.status for answer in answers) == [201, 409]


def test_two_appends_to_one_new_id_make_one_conversation_with_both_entries(
    two: tuple[Service, Service], caller: Caller
) -> None:
    for _ in range(ROUNDS):
        new = str(uuid4())
        answers = at_once(two, caller, "appendEntry", new, body=entry("A"))
        assert [answer.status for answer in answers] == [201, 201]
        both = sorted((answer.body for answer in answers), key=lambda made: made["id"])
        assert shown(two[0], caller, new) == shown(two[1], caller, new) == both


def test_of_two_appends_that_expect_the_same_last_entry_one_wins_and_the_other_gets_its_id(
    two: tuple[Service, Service], caller: Caller
) -> None:
    root = str(uuid4())
    last = two[0].get(caller, "appendEntry", root, body=entry("A"))
    for number in range(ROUNDS):
        headers = {"If-Match": f'"{last["id"]}"'}
        answers = at_once(two, caller, "appendEntry", root, body=entry("B"), headers=headers)
        won, lost = sorted(answers, key=lambda answer: answer.status)
        assert (won.status, lost.status) == (201, 409)
        assert lost.body["details"]["lastEntryId"] == won.body["id"]
        last = won.body
        assert len(shown(two[0], caller, root)) == 2 + number


def test_after_two_first_context_batches_at_once_the_epochs_of_a_fork_never_fall(
    two: tuple[Service, Service], caller: Caller
) -> None:
    root = str(uuid4())
    two[0].get(caller, "appendEntry", root, body=entry("(A)"))
    for epoch in range(2, ROUNDS):
        fork = two[0].get(caller, "forkConversation", root, body={})["id"]
        batch = {"entries": [entry("(B)"), entry("(C)") | {"epoch": epoch}]}
        answers = at_once(two, caller, "appendEntry", fork, body=batch)
        assert [answer.status for answer in answers] == [201, 201]
        assert [made["epoch"] for made in shown(two[1], caller, fork)] == [1, 1, epoch, epoch, epoch]


class Torn:
    """A process with an empty cache. One of its BatchGetItems sees half of a transaction.

    A BatchGetItem is not a snapshot: it can return only a part of what one transaction puts.
    older: the keys of the items from before the transaction, which are always returned.
    call: the number of the BatchGetItem that is changed.
    at: the number of a newer item in its answer; None means that the answer is not changed.
    keeps: whether this newer item is the only one that is kept, or the only one that is left out.
    """

    def __init__(self, older: set[Key], *, keeps: bool, call: int = 0, at: int | None = None) -> None:
        self.table = writing.open_table()
        self.newer: list[int] = []
        self._older = older
        self._keeps = keeps
        self._call = call
        self._at = at
        self.table.connection.client.meta.events.register("after-call.dynamodb.BatchGetItem", self._tear)

    def _tear(self, parsed: Any, **_: Any) -> None:
        [(name, items)] = parsed["Responses"].items()
        older = [item for item in items if key_of(item) in self._older]
        newer = [item for item in items if key_of(item) not in self._older]
        self.newer.append(len(newer))
        if len(self.newer) == self._call + 1 and self._at is not None:
            kept = [item for at, item in enumerate(newer) if (at == self._at) == self._keeps]
            parsed["Responses"][name] = older + kept


@pytest.fixture(params=[True, False], ids=["one item is there", "one item is missing"])
def torn(request: pytest.FixtureRequest) -> Tearing:
    """A function that runs an action many times. Each time, its look-up misses another item."""

    def run(action: Callable[[Table], None], older: set[Key]) -> None:
        whole = Torn(older, keeps=request.param)
        action(whole.table)
        assert sum(whole.newer) > 1, "the look-up did not read several new items with BatchGetItem"
        for call, newer in enumerate(whole.newer):
            for at in range(newer):
                action(Torn(older, keeps=request.param, call=call, at=at).table)

    return run


def keys_in(table: Table) -> set[Key]:
    pages = table.connection.client.get_paginator("scan").paginate(TableName=table.connection.table_name)
    return {key_of(item) for page in pages for item in page["Items"]}


def key_of(item: Any) -> Key:
    return item["PK"]["S"], item["SK"]["S"]


def test_an_append_is_written_although_its_look_up_was_torn_by_the_creation(
    table: Table, torn: Tearing
) -> None:
    root = str(uuid4())
    told = [one.written for one in writing.append(table, WRITER, root, ["first"])]

    def append(process: Table) -> None:
        told.extend(one.written for one in writing.append(process, WRITER, root, [f"entry {len(told)}"]))

    torn(append, set())
    assert writing.read_from(table, WRITER, root) == told


@pytest.mark.parametrize("what", ["create", "fork"])
def test_a_replay_is_answered_as_before_although_its_look_up_was_torn_by_the_first_request(
    table: Table, torn: Tearing, what: str
) -> None:
    root, new = str(uuid4()), str(uuid4())
    writing.append(table, WRITER, root, ["first"])
    idempotency_key = IdempotencyKey(keys.idempotency("test"), "hash", lambda _: "{}")

    def send(process: Table) -> None:
        if what == "create":
            request = NewConversation(conversation_id=new)
            create_conversation(process, caller=WRITER, request=request, idempotency_key=idempotency_key)
        else:
            fork = ForkRequest(Fork(root, None, ForkPosition.AFTER), new)
            fork_conversation(process, caller=WRITER, request=fork, idempotency_key=idempotency_key)

    def replay(process: Table) -> None:
        with pytest.raises(IdempotentReplay):
            send(process)

    older = keys_in(table)
    send(table)
    torn(replay, older)


def test_a_view_whose_look_up_was_torn_by_the_fork_is_whole_or_not_there(table: Table, torn: Tearing) -> None:
    root = str(uuid4())
    told = [one.written for one in writing.append(table, WRITER, root, ["first", "second"])]
    older = keys_in(table)
    fork_id = str(uuid4())
    at_head = Fork(root, None, ForkPosition.AFTER)
    fork_conversation(table, caller=WRITER, request=ForkRequest(at_head, fork_id))
    answers: list[Any] = []

    def read(process: Table) -> None:
        try:
            answers.append(writing.read_from(process, WRITER, fork_id))
        except NotFoundError:
            answers.append(None)

    torn(read, older)
    assert told in answers
    assert all(answer in (told, None) for answer in answers)
