"""One of eight writers.

Usage: `python -m tests.service.reliability.log_writer SHIFT date|no-date NUMBER SEED FILE`.

A writer appends and reads. The service runs in the same process, under faults of every kind. Its
clock is wrong and steps backward. When the service is killed, the current request is lost, and the
service starts again with a new client and an empty cache.

Each line of the standard input is a job: {"round", "roots", "unborn", "appends"}. The writer logs
the outcome of each request to FILE, one per line. At the end of a job it prints {"done": counts}
or {"failed": …}. The seed determines the requests, but not their timing, and so not their answers.
"""

import json
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue
from random import Random
from typing import TYPE_CHECKING, Any, TextIO
from uuid import UUID

from tests.support.machine_clock import MachineClock, end_with_parent, set_machine_clock

if TYPE_CHECKING:
    from forklore_service.domain.model import Caller
    from tests.service.reliability.faults import Call, Choose, Fault
    from tests.service.reliability.list_append import Cut, Outcome, Page, Record
    from tools.harness.service import Answer

RATE = 0.05
"""How likely each kind of fault is, for each call that it concerns."""
KILL_RATE = 0.02
"""How likely a call kills its process. A request has three calls, so more than 5 % are hit."""
OUTAGE_SHARE = 0.03
"""The share of requests whose writes all fail, so that they are given up; half after the effect."""
STEP_SHARE, STEP_MS_MAX, OFF_MS_MAX = 0.02, 60_000, 300_000
KEY_SHARE = 0.6
CONTEXT_SHARE = 0.2
BATCH_SHARE, BATCH_MAX = 0.4, 8
MATCH_SHARE = 0.1
TRIES_MAX = 40
HOT, HOT_SHARE = 3, 0.6
KNOWN_MAX = 100
"""How many entries of a conversation a writer remembers, for cursors and anchors."""


def main() -> None:
    """Do jobs until the standard input closes."""
    *clock, number, seed, file = sys.argv[1:]
    machine = MachineClock.from_arguments(clock)
    set_machine_clock(machine)
    _show_bugs()
    jobs: Queue[str] = Queue()
    end_with_parent(jobs.put)
    with Path(file).open("w", encoding="utf-8") as log:
        client = Client(int(number), Random(f"{seed} {number}"), machine.shift_seconds * 1000, log)
        while True:
            job = json.loads(jobs.get())
            try:
                told: Any = {"done": client.work(job)}
            except BaseException:  # noqa: BLE001 (it is reported)
                told = {"failed": traceback.format_exc()}
            log.flush()
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


def _show_bugs() -> None:
    """Log the bugs of the service to the standard error, as a function's log does."""
    told = logging.StreamHandler()
    told.setFormatter(
        logging.Formatter("%(message)s %(type)s %(frames)s", defaults={"type": "", "frames": ""})
    )
    logging.basicConfig(level=logging.WARNING, handlers=[told])


class Client:
    """A client of the service, and the process that serves it.

    off_ms: the error of its machine's clock.
    """

    def __init__(self, number: int, random: Random, off_ms: int, log: TextIO) -> None:
        import os

        from forklore_service.domain.model import Caller
        from tests.support.tables import Store

        self.number = number
        self.random = random
        self.counts: Counter[str] = Counter()
        self.caller = Caller("ann" if number % 2 == 0 else "bob", "planner")
        self._store = Store(None, os.environ["FORKLORE_TABLE"], os.environ["FORKLORE_DYNAMODB_ENDPOINT"])
        self._off_ms = off_ms
        self._stepped_ms = 0
        self._log = log
        self._outage: Fault | None = None
        self._values = 0
        self._start()

    # The process

    def _start(self) -> None:
        """Start the service again, with an empty cache and a new client."""
        from forklore_service.storage.clock import Clock, system_ms
        from tests.service.reliability.service import Process

        clock = Clock(lambda: system_ms() + self._stepped_ms)
        faults = self._faults(Random(self.random.random()))
        self._process = Process(self._store, faults, clock=clock, in_order=self.number % 4 == 3)
        self.counts["processes"] += 1

    def _faults(self, random: Random) -> "Choose":
        from tests.service.reliability.faults import WRITE, Fault

        rates = {fault: KILL_RATE / 2 if fault.is_end else RATE for fault in Fault}

        def choose(call: "Call") -> "Fault | None":
            if self._outage is not None and call.operation == WRITE:
                return self._outage
            roll = random.random()
            chosen: Fault | None = None
            for fault, rate in rates.items():
                if not fault.concerns(call):
                    continue
                self.counts[f"could {fault}"] += 1
                if chosen is None and 0 <= roll < rate:
                    chosen = fault
                roll -= rate
            if chosen is not None:
                self.counts[f"fault {chosen}"] += 1
            return chosen

        return choose

    def _step_clock(self) -> None:
        """Sometimes set the clock back. At the end of its range, it jumps to the other end."""
        if self.random.random() < STEP_SHARE:
            self._stepped_ms -= self.random.randint(1, STEP_MS_MAX)
            if self._off_ms + self._stepped_ms < -OFF_MS_MAX:
                self._stepped_ms = OFF_MS_MAX - self._off_ms
            self.counts["steps"] += 1

    def _ask(self, name: str, *, caller: "Caller | None" = None, **given: Any) -> "Answer | None":
        """Return the answer to one request; None if the process was killed or gave up."""
        from tests.service.reliability.faults import Fault, Killed

        outages = (Fault.BEFORE, Fault.AFTER, Fault.AFTER, Fault.THROTTLE)
        self._outage = self.random.choice(outages) if self.random.random() < OUTAGE_SHARE else None
        self.counts["requests"] += 1
        try:
            answer = self._process.ask(name, caller or self.caller, **given)
        except Killed:
            self.counts["kills"] += 1
            self._start()
            return None
        finally:
            self._outage = None
        if answer.status == 503:
            self.counts["given up"] += 1
            return None
        return answer

    def _ask_until_known(self, name: str, key: str | None, **given: Any) -> "Answer | None":
        """Return the answer. With an Idempotency-Key, repeat the request until there is one."""
        for attempt in range(TRIES_MAX if key else 1):
            answer = self._ask(name, idempotency_key=key, **given)
            if answer is not None:
                self.counts["known by a retry"] += attempt > 0
                return answer
        return None

    # The jobs

    def work(self, job: Any) -> Counter[str]:
        """Append to the job's conversations and read them, until enough values are acknowledged.

        roots: conversations that exist and are shared. unborn: ids of conversations that do not
        exist before the owner's first append to them.
        """
        self.counts = Counter()
        self._roots: list[str] = job["roots"]
        self._never_live: list[str] = job["unborn"]
        self._round: int = job["round"]
        self._conversations: list[str] = [
            *job["roots"],
            *(job["unborn"] if self.caller.user_id == "ann" else []),
        ]
        self._known: dict[str, list[tuple[str, str]]] = {c: [] for c in self._conversations}
        self._polled: dict[str, str | None] = {}
        steps: Sequence[tuple[float, Callable[[], None]]] = [
            (0.74, self._append),
            (0.08, self._poll),
            (0.05, self._read_tail),
            (0.05, self._read_at),
            (0.01, self._walk),
            (0.02, self._look_for_forks),
            (0.02, self._fork),
            (0.015, self._fork_by_append),
            (0.015, self._append_as_nobody),
        ]
        weights, acts = zip(*steps, strict=True)
        while self.counts["appends"] < job["appends"]:
            self._step_clock()
            [act] = self.random.choices(acts, weights)
            act()
        return self.counts

    def _say(self, record: "Record") -> None:
        from tests.service.reliability.list_append import to_line

        self._log.write(to_line(record) + "\n")

    def _any_conversation(self) -> str:
        hot = self.random.random() < HOT_SHARE
        return self.random.choice(self._conversations[:HOT] if hot else self._conversations)

    def _any_entry(self, conversation_id: str, *, channel: str | None = None) -> str | None:
        """Return an entry that the writer has seen in the conversation."""
        seen = [one for one, of in self._known[conversation_id] if channel in (None, of)]
        return self.random.choice(seen) if seen else None

    def _learn(self, conversation_id: str, entries: Sequence[Any]) -> None:
        known = self._known[conversation_id]
        known += [(entry["id"], entry["channel"]) for entry in entries]
        while len(known) > KNOWN_MAX:
            known.pop(self.random.randrange(len(known)))

    def _learn_conversation(self, conversation_id: str) -> None:
        if conversation_id not in self._known:
            self._conversations.append(conversation_id)
            self._known[conversation_id] = []

    def _uuid(self) -> str:
        return str(UUID(int=self.random.getrandbits(128), version=4))

    # Appends

    def _new_values(self) -> tuple[str, ...]:
        self._values += 1
        size = self.random.randint(2, BATCH_MAX) if self.random.random() < BATCH_SHARE else 1
        return tuple(f"{self.number}.{self._round}.{self._values}.{part}" for part in range(size))

    def _body_of(self, values: Sequence[str]) -> dict[str, Any]:
        channel = {"channel": "context"} if self.random.random() < CONTEXT_SHARE else {}
        entries = [{"contentType": "text/plain", "content": [value], **channel} for value in values]
        return entries[0] if len(entries) == 1 else {"entries": entries}

    def _append(self) -> None:
        conversation_id = self._any_conversation()
        if_match = None
        if self.random.random() < MATCH_SHARE:
            if_match = max((one for one, of in self._known[conversation_id] if of == "history"), default=None)
        self._append_to(conversation_id, if_match=if_match)

    def _append_to(self, conversation_id: str, **given: Any) -> "Outcome":
        from tests.service.reliability.list_append import Append, Outcome

        values = self._new_values()
        body = self._body_of(values)
        key = self._uuid() if self.random.random() < KEY_SHARE else None
        sent_ns = time.monotonic_ns()
        answer = self._ask_until_known("appendEntry", key, conversationId=conversation_id, **body, **given)
        answered_ns = time.monotonic_ns()
        entry_ids: tuple[str, ...] = ()
        if answer is None:
            outcome = Outcome.UNKNOWN
        elif answer.status == 201:
            outcome = Outcome.OK
            shown = answer.body.get("data", [answer.body])
            assert [one["content"] for one in shown] == [[value] for value in values], answer
            entry_ids = tuple(one["id"] for one in shown)
            self._learn_conversation(conversation_id)
            self._learn(conversation_id, shown)
            self.counts["appends"] += len(values)
        else:
            assert answer.status == 409, answer
            assert given.get("if_match"), answer
            outcome = Outcome.FAILED
        self.counts[f"requests {outcome}"] += 1
        self._say(Append(conversation_id, values, sent_ns, answered_ns, outcome, entry_ids))
        if outcome is Outcome.OK and key and self.random.random() < 0.05:
            self._append_other_body(conversation_id, key, **given)
        return outcome

    def _append_other_body(self, conversation_id: str, key: str, **given: Any) -> None:
        """Send another body under a used key. It must never appear, whatever the answer is."""
        answer = self._refused(conversation_id, self._new_values(), idempotency_key=key, **given)
        assert answer is None or answer.status == 422, answer

    def _append_as_nobody(self) -> None:
        """Append as a user who is not a member. It must never appear, whatever the answer is."""
        from forklore_service.domain.model import Caller

        root = self.random.choice(self._roots)
        answer = self._refused(root, self._new_values(), caller=Caller("eve", "planner"))
        assert answer is None or answer.status == 403, answer

    def _refused(self, conversation_id: str, values: tuple[str, ...], **given: Any) -> "Answer | None":
        from tests.service.reliability.list_append import Append, Outcome

        sent_ns = time.monotonic_ns()
        answer = self._ask("appendEntry", conversationId=conversation_id, **self._body_of(values), **given)
        self._say(Append(conversation_id, values, sent_ns, time.monotonic_ns(), Outcome.FAILED))
        self.counts["requests failed"] += 1
        return answer

    # Forks

    def _fork(self) -> None:
        """Fork at the head, or before or after an entry that was seen."""
        from tests.service.reliability.list_append import Fork, Outcome

        source, fork_id = self._any_conversation(), self._uuid()
        anchor = self._any_entry(source, channel="history") if self.random.random() < 0.5 else None
        is_after = self.random.random() < 0.5
        at = {"atEntryId": anchor, "position": "after" if is_after else "before"} if anchor else {}
        key = self._uuid() if self.random.random() < KEY_SHARE else None
        sent_ns = time.monotonic_ns()
        answer = self._ask_until_known("forkConversation", key, conversationId=source, id=fork_id, **at)
        answered_ns = time.monotonic_ns()
        if answer is None:
            outcome = Outcome.UNKNOWN
        elif answer.status == 201:
            outcome = Outcome.OK
            self._learn_conversation(fork_id)
            self.counts["forks"] += 1
        else:
            assert answer.status == 404, answer
            assert source in self._never_live, answer
            outcome = Outcome.FAILED
        self._say(Fork(fork_id, source, anchor, is_after, sent_ns, answered_ns, outcome))

    def _fork_by_append(self) -> None:
        """Append to a new id as a fork before an entry that was seen."""
        from tests.service.reliability.list_append import Fork, Outcome

        source, fork_id = self._any_conversation(), self._uuid()
        anchor = self._any_entry(source, channel="history")
        if anchor is None:
            return
        sent_ns = time.monotonic_ns()
        outcome = self._append_to(fork_id, forkedAtConversationId=source, forkedAtEntryId=anchor)
        answered_ns = time.monotonic_ns()
        self.counts["forks"] += outcome is Outcome.OK
        self._say(Fork(fork_id, source, anchor, False, sent_ns, answered_ns, outcome))

    def _look_for_forks(self) -> None:
        """List the forks that others have made."""
        root = self.random.choice(self._roots)
        answer = self._ask("listForks", conversationId=root, limit="200")
        if answer is not None:
            assert answer.status == 200, answer
            for one in answer.body["data"]:
                self._learn_conversation(one["conversationId"])

    # Reads

    def _poll(self) -> None:
        """Continue reading the conversation where this writer stopped, page by page."""
        from tests.service.reliability.list_append import Cut

        conversation_id, limit = self._any_conversation(), self.random.randint(1, 60)
        for _ in range(3):
            at = self._polled.get(conversation_id)
            page = self._page(conversation_id, Cut.AFTER if at else Cut.START, at, limit)
            if page is None:
                return
            if page.entries:
                self._polled[conversation_id] = page.entries[-1][0]
            if page.after is None:
                return

    def _read_tail(self) -> None:
        """Read the newest entries, and some before them."""
        from tests.service.reliability.list_append import Cut

        conversation_id, limit = self._any_conversation(), self.random.randint(1, 30)
        page = self._page(conversation_id, Cut.TAIL, None, limit)
        if page is not None and page.before is not None and self.random.random() < 0.5:
            self._page(conversation_id, Cut.BEFORE, page.before, limit)

    def _read_at(self) -> None:
        """Read after, before or up to an entry that was seen."""
        from tests.service.reliability.list_append import Cut

        conversation_id = self._any_conversation()
        at = self._any_entry(conversation_id)
        if at is not None:
            cut = self.random.choice([Cut.AFTER, Cut.BEFORE, Cut.UP_TO])
            self._page(conversation_id, cut, at, self.random.randint(1, 100))

    def _walk(self) -> None:
        """Read the whole conversation, page by page, forward or backward."""
        from tests.service.reliability.list_append import Cut

        conversation_id, limit = self._any_conversation(), self.random.randint(40, 1_000)
        backward = self.random.random() < 0.5
        cut, at = (Cut.TAIL if backward else Cut.START), None
        while True:
            page = self._page(conversation_id, cut, at, limit)
            if page is None:
                return
            at = page.before if backward else page.after
            if at is None:
                self.counts["whole walks"] += 1
                return
            cut = Cut.BEFORE if backward else Cut.AFTER

    def _page(self, conversation_id: str, cut: "Cut", at: str | None, limit: int) -> "Page | None":
        """Read a page and log it. A conversation that does not exist is logged as an empty page."""
        from tests.service.reliability.list_append import Cut, Page

        named = {Cut.AFTER: "afterCursor", Cut.BEFORE: "beforeCursor", Cut.UP_TO: "upToEntryId"}
        asked: dict[str, Any] = {"tail": "true"} if cut is Cut.TAIL else {}
        if cut in named:
            asked = {named[cut]: at}
        sent_ns = time.monotonic_ns()
        answer = self._ask("listEntries", conversationId=conversation_id, limit=str(limit), **asked)
        answered_ns = time.monotonic_ns()
        if answer is None:
            return None
        self.counts["pages"] += 1
        if answer.status == 404 and conversation_id in self._never_live:
            page = Page(conversation_id, Cut.START, None, sent_ns, answered_ns, (), None, None)
        else:
            assert answer.status == 200, (cut, at, answer)
            data = answer.body["data"]
            self._learn(conversation_id, data)
            page = Page(
                conversation_id,
                cut,
                at,
                sent_ns,
                answered_ns,
                tuple((one["id"], one["content"][0]) for one in data),
                answer.body["beforeCursor"],
                answer.body["afterCursor"],
            )
        self._say(page)
        return page


if __name__ == "__main__":
    main()
