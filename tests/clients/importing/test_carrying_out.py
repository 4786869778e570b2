"""Imports with the client, in threads: faults at every request, and two at the same time."""

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from forklore import Forklore
from forklore.client import calls, jsontext
from forklore.client.calls import RawAnswer, TransportError
from forklore.client.errors import NoAnswerError
from forklore.client.transports import Transport
from forklore.client.transports.direct import Identity
from forklore.client.transports.in_process import InProcessTransport
from forklore.importing.carrying_out import Carried, Unchanged, Wait, carry_out, sender
from forklore.importing.loading import ImportAnswer, ImportCall, ImportRefusal
from forklore.importing.one_file import FileImport, ImportOptions
from forklore.importing.plan import Plan
from forklore_local.in_process.service import EmbeddedService
from tests.clients.importing.builders import SOUP, answer, ask, line_of
from tests.support.samples import drawn

THREADS = 4
SECOND = ask("hello", answer("hi", ask("a"), ask("b")))
REQUESTS = 5 + 2  # of a file with both trees, one for each conversation


class Faulty:
    """A transport that plants a fault, by the number of the request. asked: how many there were."""

    def __init__(self, inner: Transport, fault: Callable[[int], str]) -> None:
        self._inner, self._fault = inner, fault
        self._lock = threading.Lock()
        self.asked = 0

    def send(self, call: calls.Call, timeout_s: float) -> RawAnswer:
        with self._lock:
            number, self.asked = self.asked, self.asked + 1
        fault = self._fault(number)
        if fault == "lost before":
            raise TransportError("planted")
        if fault == "busy":
            return RawAnswer(503, '{"code": "unavailable"}', retry_after_s=0.01)
        found = self._inner.send(call, timeout_s)
        if fault == "lost after":
            raise TransportError("planted")
        return found

    def located(self, url: str) -> str:
        return self._inner.located(url)

    def close(self) -> None:
        """Leave the service open."""


@pytest.fixture(scope="module")
def service() -> Iterator[EmbeddedService]:
    """One service for all tests of this file."""
    service = EmbeddedService.open(None)
    yield service
    service.close()


@pytest.fixture
def client(service: EmbeddedService) -> Callable[..., Forklore]:
    """Make clients of one new user."""
    identity = Identity(f"user-{uuid.uuid4().hex[:8]}", None, ())

    def make(fault: Callable[[int], str] = lambda _: "", retries: int = 0) -> Forklore:
        transport = Faulty(InProcessTransport(service, identity), fault)
        return Forklore._over(transport, identity).with_options(retries=retries)

    return make


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of two trees, which seven conversations hold."""
    path = tmp_path / "trees.jsonl"
    path.write_bytes(line_of(SOUP, tree_id="soup") + line_of(SECOND, tree_id="second"))
    return path


def load(client: Forklore, file: Path, threads: int = THREADS) -> list[Carried]:
    one = FileImport(file, ImportOptions(owner=owner_of(client)))
    return in_order(carry_out(one.plans(), sender(client), threads=threads))


def in_order(carried: Iterable[Carried | Unchanged]) -> list[Carried]:
    return sorted((one for one in carried if isinstance(one, Carried)), key=lambda tree: tree.number)


def owner_of(client: Forklore) -> str:
    assert client._identity is not None
    return client._identity.user


def shown(client: Forklore, conversation_id: str) -> tuple[str, ...]:
    return tuple(entry.content[0]["text"] for entry in client.conversation(conversation_id).entries())


def all_shown(client: Forklore, carried: list[Carried]) -> list[list[tuple[str, ...]]]:
    """Return what each conversation of each tree shows, also of those that should not be there."""
    return [
        sorted(
            shown(client, fork.conversation_id)
            for fork in client.conversation(tree.loading.conversation_id(0)).forks()
        )
        for tree in carried
    ]


WHOLE: list[list[tuple[str, ...]]] = [
    [
        ("flat soup?", "herbs"),
        ("flat soup?", "lemon", "too sour", "honey"),
        ("flat soup?", "lemon", "too sour", "sugar", "thanks"),
        ("flat soup?", "roast it", "how long?", "3 minutes"),
        ("flat soup?", "roast it", "how long?", "until sweet"),
    ],
    [("hello", "hi", "a"), ("hello", "hi", "b")],
]


@pytest.mark.parametrize("fault", ["lost before", "lost after", "busy"])
@pytest.mark.parametrize("at", drawn(range(REQUESTS), 3))
def test_an_import_that_fails_at_any_request_goes_on_when_it_runs_again(
    client: Callable[..., Forklore], file: Path, at: int, fault: str
) -> None:
    failing = client(lambda number: fault if number == at else "")
    if fault == "busy":
        problems = [problem for tree in load(failing, file) for problem in tree.problems]
        assert len(problems) == 1
    else:
        with pytest.raises(NoAnswerError, match="planted"):
            load(failing, file)

    again = load(client(), file)

    assert all_shown(client(), again) == WHOLE
    assert [tree.problems for tree in again] == [[], []]


def test_the_file_needs_as_many_requests_as_are_tried(client: Callable[..., Forklore], file: Path) -> None:
    whole = client()

    assert all_shown(client(), load(whole, file)) == WHOLE
    assert whole._transport.asked == REQUESTS  # type: ignore[attr-defined]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_faults_everywhere_are_overcome_by_retries(
    client: Callable[..., Forklore], file: Path, seed: int
) -> None:
    random = Random(seed)
    kinds = ["", "", "lost before", "lost after", "busy"]
    unreliable = client(lambda _: random.choice(kinds), retries=30)

    carried = load(unreliable, file)

    assert all_shown(client(), carried) == WHOLE


def test_two_imports_of_a_file_at_once_make_one(client: Callable[..., Forklore], file: Path) -> None:
    found: list[list[Carried]] = []
    start = threading.Barrier(3)

    def run() -> None:
        start.wait()
        found.append(load(client(retries=30), file))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(found) == 3
    assert [[tree.problems for tree in carried] for carried in found] == [[[], []]] * 3
    assert all_shown(client(), found[0]) == WHOLE


def test_a_tree_that_is_there_twice_is_imported_once(client: Callable[..., Forklore], file: Path) -> None:
    file.write_bytes(file.read_bytes() * 2)

    carried = load(client(), file)

    assert [tree.problems for tree in carried] == [[]] * 4
    assert all_shown(client(), carried) == WHOLE * 2
    assert carried[0].loading.conversation_id(0) == carried[2].loading.conversation_id(0)


def test_an_interruption_ends_the_import_and_it_goes_on(client: Callable[..., Forklore], file: Path) -> None:
    file.write_bytes(b"".join(line_of(ask(f"q{number}"), tree_id=str(number)) for number in range(30)))
    one = FileImport(file, ImportOptions(owner=owner_of(client())))
    interrupted = client()
    carrying = carry_out(one.plans(), sender(interrupted), threads=2)
    next(carrying)
    carrying.close()
    sent = interrupted._transport.asked  # type: ignore[attr-defined]

    again = load(client(), file)

    assert sent < 30
    assert interrupted._transport.asked == sent  # type: ignore[attr-defined]
    assert all_shown(client(), again) == [[(f"q{number}",)] for number in range(30)]


def test_a_refused_batch_costs_what_needs_it_and_nothing_else(
    client: Callable[..., Forklore], file: Path
) -> None:
    send = sender(client())

    def refusing(call: ImportCall) -> ImportAnswer | ImportRefusal:
        entries = jsontext.read(jsontext.write(call.given["entries"]))
        texts = [entry["content"][0]["text"] for entry in entries]
        return ImportRefusal(400, None, "no roast") if "roast it" in texts else send(call)

    done = 0

    def count(entries: int) -> None:
        nonlocal done
        done += entries

    one = FileImport(file, ImportOptions(owner=owner_of(client())))
    carried = in_order(carry_out(one.plans(), refusing, threads=THREADS, on_entries=count))

    first, second = carried
    assert (len(first.problems), first.skipped, second.problems, second.skipped) == (1, 4, [], 0)
    assert str(first.problems[0]).endswith(": 400 no roast")
    assert all_shown(client(), carried) == [WHOLE[0][:3], WHOLE[1]]
    assert done == one.entries == 15


def test_trees_are_read_when_threads_need_them(client: Callable[..., Forklore], file: Path) -> None:
    file.write_bytes(b"".join(line_of(ask(f"q{number}"), tree_id=str(number)) for number in range(50)))
    one = FileImport(file, ImportOptions(owner=owner_of(client())))
    taken = 0

    def plans() -> Iterator[Plan | Unchanged | Wait]:
        nonlocal taken
        for plan in one.plans():
            taken += 1
            yield plan

    carrying = carry_out(plans(), sender(client()), threads=2)
    next(carrying)

    assert taken <= 4
    carrying.close()
