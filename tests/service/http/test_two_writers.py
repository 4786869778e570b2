"""Two processes with different clocks append to the same conversations through the use cases.

Nothing is lost, doubled or reordered. A clock that is 65 years ahead harms one conversation only.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from time import monotonic_ns, sleep
from typing import Any, Self
from uuid import uuid4

import pytest

from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Channel, ForkPosition
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.forks import ForkRequest, fork_conversation
from forklore_service.usecases.reading.entries import ListEntriesRequest, PageStart, list_entries
from forklore_service.usecases.shared.requests import Fork
from tests.service.http.client import Service
from tests.service.model.asking import Caller as HttpCaller
from tests.support.machine_clock import MachineClock
from tests.support.processes import API_KEYS, Process, local_servers, started
from tests.support.writing import Acknowledged, Written, append, open_table, read_from

CALLER = Caller("writer", "planner")
APPENDS = 60
FORKS = 24
PAUSE_SECONDS = 0.05
YEARS_65 = int(timedelta(days=65 * 365).total_seconds())
SANE = timedelta(minutes=1)
JOB_SECONDS_MAX = 600.0


class Writer:
    """A process that appends."""

    def __init__(self, process: Process, name: str) -> None:
        self._process = process
        self._name = name
        self.perhaps: list[str] = []
        """The texts of appends whose outcome is unknown."""
        self._threads = ThreadPoolExecutor(1)

    def hammer(self, conversations: Sequence[str], *, appends: int = APPENDS) -> "Future[list[Acknowledged]]":
        """Start appending from two threads. The future returns the acknowledged entries."""
        assert self._process.stdin
        self._name += "'"
        job: dict[str, Any] = {
            "name": self._name,
            "conversations": conversations,
            "appends": appends,
            "threads": 2,
        }
        job |= {"user": CALLER.user_id, "client": CALLER.client_id}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._threads.submit(self._collect)

    def _collect(self) -> list[Acknowledged]:
        assert self._process.stdout
        acknowledged: list[Acknowledged] = []
        for line in self._process.stdout:
            said: Any = json.loads(line)
            if "done" in said:
                return acknowledged
            assert "failed" not in said, said
            if "perhaps" in said:
                self.perhaps += said["perhaps"]
                continue
            acknowledged.append(Acknowledged(**said | {"written": Written(**said["written"])}))
        raise AssertionError(f"the writer ended with {self._process.wait()}")


@contextmanager
def writers(table: Table, *clocks: MachineClock, endpoint: str) -> Iterator[list[Writer]]:
    with ExitStack() as stack:
        yield [
            Writer(
                stack.enter_context(
                    started(
                        "tests.support.writer",
                        *clock.arguments,
                        endpoint=endpoint,
                        table=table.connection.table_name,
                    )
                ),
                f"w{number}",
            )
            for number, clock in enumerate(clocks)
        ]


class Poller:
    """A thread that polls a conversation: all of it, and what is new since the last poll."""

    def __init__(self, conversation_id: str) -> None:
        self.whole: list[list[Written]] = []
        self.gathered: list[Written] = []
        self._conversation_id = conversation_id
        self._ends = threading.Event()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._polls = self._thread.submit(self._poll)
        return self

    def __exit__(self, *_: object) -> None:
        with self._thread:
            self._ends.set()
            self._polls.result(JOB_SECONDS_MAX)

    def _poll(self) -> None:
        table = open_table()
        while True:
            is_last = self._ends.is_set()
            after = self.gathered[-1].entry_id if self.gathered else None
            self.gathered += read_from(table, CALLER, self._conversation_id, after)
            self.whole.append(read_from(table, CALLER, self._conversation_id))
            if is_last:
                return
            sleep(PAUSE_SECONDS)


def fork(table: Table, source_id: str, anchor: str | None = None) -> str:
    """Fork after an entry, or at the head; return the fork's id."""
    request = ForkRequest(Fork(source_id, None if anchor is None else EntryId(anchor), ForkPosition.AFTER))
    [made] = fork_conversation(table, caller=CALLER, request=request)
    return made.conversation.conversation_id


def told(table: Table, conversation_id: str, *names: str) -> list[Acknowledged]:
    """Append an entry for each name, one by one."""
    return [
        one
        for name in names
        for one in append(table, CALLER, conversation_id, [f"{name}.0"], key=f"{conversation_id} {name}")
    ]


def check_own(
    shown: Sequence[Written], acknowledged: Sequence[Acknowledged], perhaps: Sequence[str] = ()
) -> None:
    """Assert that the shown entries are the acknowledged ones, in a possible order.

    shown: a conversation's own entries. perhaps: texts of appends with an unknown outcome; each may
    be shown once. An entry that was answered before another one was sent must come first. The
    entries of one batch must stand together.
    """
    by_id = {one.written.entry_id: one for one in acknowledged}
    others = [one.text for one in shown if one.entry_id not in by_id]
    assert set(others) <= set(perhaps)
    assert len(others) == len(set(others)), "an append was done twice"
    shown = [one for one in shown if one.entry_id in by_id]
    assert sorted(one.entry_id for one in shown) == sorted(by_id), (
        "an entry was lost, doubled or never acknowledged"
    )
    assert list(shown) == [by_id[one.entry_id].written for one in shown]
    latest_sent_ns = 0
    for one in shown:
        assert by_id[one.entry_id].answered_ns >= latest_sent_ns, (
            f"{one} came after an entry that was sent later"
        )
        latest_sent_ns = max(latest_sent_ns, by_id[one.entry_id].sent_ns)
    requests = [by_id[one.entry_id].written.text.rpartition(".")[0] for one in shown]
    together = [text for text, before in zip(requests, [None, *requests], strict=False) if text != before]
    assert len(together) == len(set(requests)), "the entries of one batch do not stand together"


def of(conversation_id: str, acknowledged: Sequence[Acknowledged]) -> list[Acknowledged]:
    return [one for one in acknowledged if one.conversation_id == conversation_id]


def now() -> datetime:
    return datetime.now(UTC)


def is_sane(one: Written, *, since: datetime) -> bool:
    """Tell whether an entry's time lies between `since` and now, with a small tolerance."""
    return since - SANE < datetime.fromisoformat(one.created_at) < now() + SANE


@pytest.mark.failure("wrong-clock", "two-appenders")
@pytest.mark.parametrize("sees_date", [True, False], ids=["corrected by Date", "uncorrected"])
def test_nothing_is_lost_doubled_or_reordered_by_two_writers_whose_clocks_differ_by_10_s(
    table: Table, own_endpoint: str, sees_date: bool
) -> None:
    root = str(uuid4())
    acknowledged = told(table, root, "r1", "r2", "r3")
    near = fork(table, root, acknowledged[1].written.entry_id)
    far = fork(table, near)
    conversations = [root, near, far]
    clocks = [MachineClock(shift, sees_date) for shift in (5, -5)]
    forks: list[tuple[str, str, int, int, list[Written]]] = []
    with (
        writers(table, *clocks, endpoint=own_endpoint) as (fast, slow),
        Poller(root) as of_root,
        Poller(near) as of_near,
        Poller(far) as of_far,
    ):
        jobs = [fast.hammer(conversations), slow.hammer(conversations)]
        while len(forks) < FORKS:
            source = conversations[len(forks) % 3]
            sent_ns = monotonic_ns()
            made = fork(table, source)
            answered_ns = monotonic_ns()
            forks.append((made, source, sent_ns, answered_ns, read_from(table, CALLER, made)))
            sleep(PAUSE_SECONDS)
        for job in jobs:
            acknowledged += job.result(JOB_SECONDS_MAX)

    pollers = {root: of_root, near: of_near, far: of_far}
    final = {conversation_id: poller.whole[-1] for conversation_id, poller in pollers.items()}
    inherited = {root: 0, near: 2, far: 2}
    for conversation_id, poller in pollers.items():
        own = final[conversation_id][inherited[conversation_id] :]
        check_own(own, of(conversation_id, acknowledged), fast.perhaps + slow.perhaps)
        assert len(own) > APPENDS, "the writers appended nothing to the conversation"
        assert poller.gathered == final[conversation_id], "an entry appeared below a cursor"
        for poll in poller.whole:
            assert poll == final[conversation_id][: len(poll)]
        assert len({len(poll) for poll in poller.whole}) > 5, (
            "the conversation did not grow between the polls"
        )
    for made, source, sent_ns, answered_ns, shown in forks:
        assert shown == final[source][: len(shown)] == read_from(table, CALLER, made)
        ids = {one.entry_id for one in shown}
        for one in of(source, acknowledged):
            if one.answered_ns < sent_ns:
                assert one.written.entry_id in ids, "an entry acknowledged before the fork is not in it"
            if one.sent_ns > answered_ns:
                assert one.written.entry_id not in ids, "an entry sent after the fork is in it"


@pytest.mark.failure("two-appenders")
@pytest.mark.parametrize("cut", [PageStart(), PageStart(tail=True)], ids=["forward", "tail"])
def test_a_page_that_appends_overtake_shows_no_entry_without_those_before_it(
    table: Table, cut: PageStart
) -> None:
    """No new entry appears before an entry that was already read."""
    root = str(uuid4())
    told(table, root, "r1")
    append(table, CALLER, root, ["r2.0"], Channel.CONTEXT)

    def read(*, held: int) -> tuple[list[str], int]:
        """Read a page; delay its Query number `held` until two more entries are appended."""
        reader, queries = open_table(), count(1)

        def hold(**_: Any) -> None:
            if next(queries) == held:
                sleep(0.3)  # the Queries that run in parallel have answers by then
                append(table, CALLER, root, [f"context beside {held}.0"], Channel.CONTEXT)
                told(table, root, f"history beside {held}")

        reader.connection.client.meta.events.register("before-call.dynamodb.Query", hold)
        page = list_entries(reader, caller=CALLER, request=ListEntriesRequest(root, cut, 1_000))
        return [entry.entry_id for entry in page.entries], next(queries) - 1

    needed = read(held=0)[1]
    assert needed > 0, "the page was read without a Query"
    pages = [read(held=number)[0] for number in range(1, needed + 1)]
    whole = [one.entry_id for one in read_from(table, CALLER, root)]

    assert len(whole) == 2 + 2 * needed
    for page in pages:
        assert page == whole[: len(page)]


@pytest.mark.failure("wrong-clock")
def test_a_clock_65_years_ahead_that_sees_no_date_harms_one_conversation_only(
    table: Table, own_endpoint: str
) -> None:
    started_at = now()
    harmed, other = str(uuid4()), str(uuid4())
    before = told(table, harmed, "h1", "h2")
    acknowledged = told(table, other, "o1")
    sibling = fork(table, harmed, before[0].written.entry_id)
    clocks = (MachineClock(), MachineClock(YEARS_65, sees_date=False))
    with writers(table, *clocks, endpoint=own_endpoint) as (good, bad):
        first = bad.hammer([harmed], appends=2).result(JOB_SECONDS_MAX)
        jobs = [bad.hammer([harmed]), good.hammer([harmed, other, sibling])]
        together = [one for job in jobs for one in job.result(JOB_SECONDS_MAX)]
    acknowledged += [*before, *first, *together, *told(table, other, "o2"), *told(table, sibling, "s1")]

    shown = read_from(table, CALLER, harmed)
    perhaps = good.perhaps + bad.perhaps
    check_own(shown, of(harmed, acknowledged), perhaps)
    ahead = [not is_sane(one, since=started_at) for one in shown]
    assert ahead == sorted(ahead), "time went back"
    assert sum(ahead) == len(shown) - 2
    for conversation_id, inherited in {other: 0, sibling: 1}.items():
        shown_there = read_from(table, CALLER, conversation_id)
        check_own(shown_there[inherited:], of(conversation_id, acknowledged), perhaps)
        assert len(shown_there) > APPENDS // 4, "the good writer appended nothing to the conversation"
        assert all(is_sane(one, since=started_at) for one in shown_there)

    at_head, at_start = fork(table, harmed), fork(table, harmed, before[1].written.entry_id)
    assert read_from(table, CALLER, at_head) == shown
    assert read_from(table, CALLER, at_start) == shown[:2]
    own = told(table, at_head, "f1", "f2")
    assert read_from(table, CALLER, at_head) == [*shown, *(one.written for one in own)]
    assert all(is_sane(one.written, since=started_at) for one in told(table, at_start, "g1"))
    assert read_from(table, CALLER, harmed) == shown


@pytest.fixture
def far_ahead(own_endpoint: str, new_table: str) -> Iterator[tuple[Service, Service]]:
    """Two servers on one table. One has a clock that is 65 years ahead, and it sees `Date`."""
    clocks = [MachineClock(), MachineClock(YEARS_65)]
    with (
        local_servers(clocks, endpoint=own_endpoint, table=new_table) as (good, bad),
        Service(good, keys=API_KEYS) as good_service,
        Service(bad, keys=API_KEYS) as bad_service,
    ):
        yield good_service, bad_service


ENTRY = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "late"}]}


@pytest.mark.failure("wrong-clock")
def test_a_server_whose_clock_is_65_years_ahead_of_date_reads_but_refuses_to_mint(
    far_ahead: tuple[Service, Service],
) -> None:
    good, bad = far_ahead
    caller = HttpCaller(good.new_user())
    known, unknown = str(uuid4()), str(uuid4())
    first = good.get(caller, "appendEntry", known, body=ENTRY)

    assert bad.get(caller, "listEntries", known)["data"] == [first]
    for name, conversation_id, body in [
        ("appendEntry", known, ENTRY),
        ("appendEntry", unknown, ENTRY),
        ("createConversation", None, {"id": unknown}),
        ("forkConversation", known, {"id": unknown}),
        ("updateConversation", known, {"title": "late"}),
    ]:
        answer = bad.ask(caller, name, conversation_id, body=body)
        assert (answer.status, answer.body["code"]) == (503, "unavailable"), name
    assert good.get(caller, "listEntries", known)["data"] == [first]
    assert good.get(caller, "getConversation", known)["title"] == "late"
    assert good.ask(caller, "getConversation", unknown).status == 404


def test_a_server_whose_clock_is_65_years_ahead_of_date_refuses_to_mint_from_its_first_request_on(
    far_ahead: tuple[Service, Service],
) -> None:
    good, bad = far_ahead
    caller = HttpCaller(good.new_user())

    answer = bad.ask(caller, "createConversation", body={})

    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert good.get(caller, "listConversations")["data"] == []
