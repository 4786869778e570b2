"""Measures a turn of an agent, and two writers of one session."""

import statistics
import threading
import time
from collections import Counter as Multiset
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tools.bench.ecosystem.contenders import Contender, Counted, Counting
from tools.bench.ecosystem.stores import Store

STEPS = ("load", "append", "fork")
TURNS_MAX = 30
"""How often a writer tries one message."""


@dataclass
class Measured:
    """A step of a store. cost: None if the store has no such step. ms: of each timed run.

    error: the name of the error that the step raises; empty: none.
    """

    cost: Counted | None = None
    ms: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ms)


def measure(
    stores: Sequence[Contender], texts: Sequence[str], *, runs: int
) -> dict[str, dict[str, Measured]]:
    """Return what a turn costs at a session of these texts, by store and step.

    A turn is of a new process that has a connection: it loads the session, appends one message and
    forks the session. The stores take turns. The first run counts requests and is not timed.
    """
    found = {one.name: {step: Measured() for step in STEPS} for one in stores}
    warm, session = f"warm-{len(texts)}", f"session-{len(texts)}"
    able = []
    for one in stores:
        error = _fill(one, {warm: texts[:1], session: texts})
        for measured in found[one.name].values():
            measured.error = error
        able += [] if error else [one]
    for run in range(runs + 1):
        order = able[run % len(able) :] + able[: run % len(able)]
        for one in order:
            _turn(one, found[one.name], warm, session, f"fork-{len(texts)}-{run}", is_counted=run == 0)
    return found


def _fill(one: Contender, sessions: Mapping[str, Sequence[str]]) -> str:
    """Begin the sessions. Return the name of the error of a store that cannot; empty: none."""
    store, _ = one.open(False)
    try:
        for session, texts in sessions.items():
            store.prepare(session)
            store.fill(session, texts)
            assert store.load(session) == list(texts), one.name
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 (it is shown in the table)
        return type(error).__name__
    finally:
        store.close()
    return ""


def _turn(
    one: Contender, found: dict[str, Measured], warm: str, session: str, made: str, *, is_counted: bool
) -> None:
    store, counter = one.open(is_counted)
    try:
        for name in (warm, session):
            store.prepare(name)
        store.load(warm)
        steps: dict[str, Callable[[], object]] = {
            "load": lambda: store.load(session),
            "append": lambda: store.append(session, ["One more message."]),
            "fork": lambda: store.fork(session, made),
        }
        for step, act in steps.items():
            _measure(found[step], counter, act, is_counted=is_counted)
    finally:
        store.close()


def _measure(to: Measured, counter: Counting, act: Callable[[], object], *, is_counted: bool) -> None:
    counter.begin()
    began = time.perf_counter()
    try:
        act()
    except NotImplementedError:
        return
    except Exception as error:  # noqa: BLE001 (it is shown in the table)
        to.error = type(error).__name__
        return
    took = (time.perf_counter() - began) * 1000
    if is_counted:
        to.cost = counter.end()
    else:
        to.ms.append(took)


@dataclass
class Writers:
    """What became of the messages of two writers.

    lost: acknowledged, but not in the session at the end. doubled: more than once in it. refused:
    how often a writer got an error and began its turn again.
    """

    sent: int = 0
    kept: int = 0
    lost: int = 0
    doubled: int = 0
    refused: int = 0
    errors: set[str] = field(default_factory=set)


def two_writers(one: Contender, *, each: int) -> Writers:
    """Let two processes write to one session at once. In each turn a process loads and appends.

    A turn that raises an error is begun anew.
    """
    session, found = "two-writers", Writers()
    store, _ = one.open(False)
    store.prepare(session)
    store.fill(session, ["begin"])
    start, acknowledged = threading.Barrier(2), list[str]()
    failures: list[BaseException] = []

    def write(letter: str) -> None:
        try:
            mine, _ = one.open(False)
            mine.prepare(session)
            start.wait()
            try:
                for number in range(each):
                    _say(mine, session, f"{letter}-{number}", found, acknowledged)
            finally:
                mine.close()
        except BaseException as error:
            failures.append(error)
            start.abort()
            raise

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    last, _ = one.open(False)
    last.prepare(session)
    shown = Multiset(last.load(session))
    last.close()
    store.close()
    found.sent = 2 * each
    found.kept = sum(1 for text in acknowledged if shown[text])
    found.lost = len(acknowledged) - found.kept
    found.doubled = sum(1 for text in acknowledged if shown[text] > 1)
    return found


def _say(store: Store, session: str, text: str, found: Writers, acknowledged: list[str]) -> None:
    for _ in range(TURNS_MAX):
        try:
            store.load(session)
            store.append(session, [text])
        except Exception as error:  # noqa: BLE001 (it is shown in the table)
            found.refused += 1
            found.errors.add(type(error).__name__)
        else:
            acknowledged.append(text)
            return


def long_session(one: Contender, texts: Sequence[str]) -> str:
    """Return whether a store keeps a session of these texts: `kept`, or the name of the error."""
    store, _ = one.open(False)
    try:
        store.prepare("long")
        store.fill("long", texts)
        return "kept" if store.load("long") == list(texts) else "not whole"
    except Exception as error:  # noqa: BLE001 (it is shown in the table)
        return type(error).__name__
    finally:
        store.close()
