"""One of several callers who write, stop, finish, take over and read answers.

Usage: `python -m tests.service.reliability.answer_writer NUMBER SEED FILE`.

The service runs in the same process, under faults of every kind. When it is killed, the request is
lost, and the service starts again with a new client and an empty cache. All clocks run FASTER, so
that an answer is soon silent.

Each line of the standard input is a job: {"begun", "round", "conversations", "parts"}. The caller
logs each request to FILE before it is sent, and again when it is answered. At the end of a job it
prints {"done": counts} or {"failed": …}.
"""

import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any
from uuid import UUID

from forklore_service.domain.model import Caller
from forklore_service.storage.clock import Clock, system_ms
from tests.service.reliability.answer_logs import Asked, Kind, to_line
from tests.service.reliability.faults import Fault, Killed, Rewrite, randomly
from tests.service.reliability.list_append import Outcome
from tests.service.reliability.service import Process
from tests.support.machine_clock import end_with_parent
from tests.support.tables import Store
from tools.harness.service import Answer

FASTER = 150
"""How much faster the clocks run: an answer is silent after 0.2 s."""
USERS = ("ann", "bob", "cy", "dan")
REMOVED = "cy"
"""The user who is removed from one tree in the middle."""
RATES = {fault: 0.01 if fault.is_end else 0.02 for fault in Fault}
TRIES_MAX = 40
LEFT_SHARE = 0.2
"""How often a caller who got no answer does not ask again, as if its machine was gone."""
PARTS_MAX = 12
ROUND_SECONDS_MAX = 240
HEARTBEAT_SHARE, KEY_SHARE, FORK_SHARE, TWICE_SHARE = 0.15, 0.7, 0.5, 0.7
REMOVALS = ((0.25, Kind.REMOVE_MEMBER), (0.5, Kind.REMOVE_BRANCH), (0.75, Kind.DELETE_TREE))
"""What the owner removes, and after which share of its parts."""


class FastClock(Clock):
    """A clock that runs faster from a time on, and learns nothing."""

    def __init__(self, begun_ms: int) -> None:
        super().__init__(lambda: begun_ms + (system_ms() - begun_ms) * FASTER)

    def learn(self, date: str | None, *, sent_ms: int) -> None:
        self.was_compared = True


class Client:
    """A caller, and the process that serves it. say: is told each request twice."""

    def __init__(
        self,
        number: int,
        random: Random,
        store: Store,
        say: Callable[[Asked], None],
        *,
        rewrite: Rewrite | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._number = number
        self._random = random
        self._store = store
        self._say = say
        self._rewrite = rewrite
        self._requests = 0
        self.user = USERS[number % len(USERS)]

    def _start(self) -> None:
        """Start the service again, with an empty cache and a new client."""
        choose = randomly(Random(self._random.random()), RATES)
        clock = FastClock(self._begun_ms)
        self._process = Process(self._store, choose, clock=clock, in_order=True, rewrite=self._rewrite)

    def _calm(self) -> Process:
        """Return another process, which has no faults."""
        return Process(self._store, clock=FastClock(self._begun_ms), rewrite=self._rewrite)

    def work(self, job: Any) -> Counter[str]:
        """Write answers until enough parts are acknowledged. The owner also removes something."""
        self.counts = Counter()
        self._begun_ms = int(job["begun"])
        self._places: dict[Kind, str] = {Kind(kind): of for kind, of in job["removed"].items()}
        self._conversations: list[str] = job["conversations"]
        self._known: dict[str, tuple[str, int]] = {}
        self._start()
        acts: list[tuple[float, Callable[[str], None]]] = [
            (0.5, self._write),
            (0.1, self._stop),
            (0.1, self._finish_another),
            (0.05, self._drop),
            (0.15, self._read),
            (0.1, self._look),
        ]
        removals = list(REMOVALS) if self.user == USERS[0] else []
        ends_s = time.monotonic() + ROUND_SECONDS_MAX
        while self.counts["parts"] < job["parts"]:
            assert time.monotonic() < ends_s, self.counts
            if removals and self.counts["parts"] >= removals[0][0] * job["parts"]:
                self._remove(removals.pop(0)[1])
            [act] = self._random.choices([act for _, act in acts], [weight for weight, _ in acts])
            act(self._random.choice(self._conversations))
        return self.counts

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _text(self) -> str:
        return f"{self._number} {self._begun_ms} {self._requests}"

    def _ask(
        self,
        kind: Kind,
        name: str,
        of: str,
        *,
        repeats: bool = True,
        twice: bool = False,
        **given: Any,
    ) -> Answer | None:
        """Return the answer; None if it is not known.

        repeats: whether the request may be sent again. twice: another process gets the same request
        at the same time. given: `answer`, `after` and `text` as of the request that is logged, and
        what else is sent.
        """
        noted: dict[str, Any] = {field: given.pop(field) for field in ("answer", "text") if field in given}
        noted["after"] = int(given.get("after", 0))
        self._requests += 1
        number = f"{self._number} {self._begun_ms} {self._requests}"
        asked = Asked(number, kind, self.user, of, **noted, sent_ns=time.monotonic_ns())
        self._say(asked)
        with ThreadPoolExecutor(1) as threads:
            calm = self._calm() if twice else None
            beside = threads.submit(calm.ask, name, Caller(self.user), **given) if calm else None
            answer, tries = self._answer(name, repeats, given)
        if answer is not None:
            is_only = tries == 1 and beside is None
            known = Outcome.OK if answer.status < 300 else Outcome.FAILED if is_only else Outcome.UNKNOWN
            is_once = kind is Kind.PART or "idempotency_key" in given
            both = [answer, *([beside.result()] if beside else [])]
            refused = is_once and any(map(_is_refused, both))
            asked = replace(asked, outcome=known, answered_ns=time.monotonic_ns(), refused=refused)
            assert answer.status < 300 or answer.status in (403, 404, 409), (name, given, answer)
            self.counts[f"{kind} {known}"] += 1
            if kind is Kind.READ and known is Outcome.OK:
                parts = {one["position"]: "".join(one["content"]) for one in answer.body["parts"]}
                asked = replace(asked, position=answer.body["position"], parts=parts)
            self._say(asked)
        return answer

    def _answer(self, name: str, repeats: bool, given: Any) -> tuple[Answer | None, int]:
        """Return the answer, and how often it was asked for."""
        for tries in range(1, TRIES_MAX if repeats else 2):
            try:
                answer = self._process.ask(name, Caller(self.user), **given)
            except Killed:
                self.counts["kills"] += 1
                self._start()
            else:
                if answer.status != 503:
                    self.counts["known by a retry"] += tries > 1
                    return answer, tries
            if self._random.random() < LEFT_SHARE:
                break
        self.counts["never known"] += 1
        return None, 0

    def _write(self, of: str) -> None:
        """Write an answer, if there is none. End it, or leave it."""
        answer_id, has_key = self._uuid(), self._random.random() < KEY_SHARE
        where: Any = {"of": of, "answer": answer_id, "conversationId": of}
        key: Any = {"idempotency_key": answer_id} if has_key else {}
        begun = self._ask(Kind.BEGIN, "beginAnswer", **where, id=answer_id, repeats=has_key, **key)
        if begun is None or begun.status != 201:
            if begun is not None and begun.body["details"].get("answerId"):
                self._known[of] = (begun.body["details"]["answerId"], 0)
            return
        at = 0
        for _ in range(self._random.randint(0, PARTS_MAX)):
            self._known[of] = (answer_id, at)
            text = "" if self._random.random() < HEARTBEAT_SHARE else self._text()
            part: Any = {"after": at, "content": [text] if text else []}
            told = self._ask(Kind.PART, "appendToAnswer", **where, answerId=answer_id, text=text, **part)
            if told is None or told.status in (403, 404):
                return
            if told.status == 409:
                self.counts[told.body["details"]["reason"]] += 1
                break
            at = told.body["position"]
            assert at == part["after"] + 1, told
            self.counts["parts"] += 1
        end = self._random.choices([self._finish, self._drop, self._look], [0.6, 0.15, 0.25])[0]
        end(of)

    def _finish(self, of: str) -> None:
        """Finish the answer that is known of a conversation, there or in a new fork."""
        answer_id, _ = self._known.get(of, ("", 0))
        if not answer_id:
            return
        text, has_key = self._text(), self._random.random() < KEY_SHARE
        fork: Any = {"conversationId": self._uuid(), "forkedAtConversationId": of, "forkedAtPosition": "head"}
        to = fork if self._random.random() < FORK_SHARE else {"conversationId": of}
        key: Any = {"idempotency_key": self._uuid()} if has_key else {}
        twice = has_key and self._random.random() < TWICE_SHARE
        entry: Any = {"contentType": "text/plain", "content": [text], "answerId": answer_id}
        asked: Any = {"answer": answer_id, "text": text, "repeats": has_key, "twice": twice}
        self._ask(Kind.FINISH, "appendEntry", of, **asked, **to, **key, **entry)

    def _finish_another(self, of: str) -> None:
        self._look(of)
        self._finish(of)

    def _stop(self, of: str) -> None:
        self._look(of)
        self._end(Kind.STOP, "stopAnswer", of)

    def _drop(self, of: str) -> None:
        self._end(Kind.DROP, "deleteAnswer", of)

    def _end(self, kind: Kind, name: str, of: str) -> None:
        answer_id, _ = self._known.get(of, ("", 0))
        if answer_id:
            self._ask(kind, name, of, answer=answer_id, conversationId=of, answerId=answer_id)

    def _read(self, of: str) -> None:
        """Read the answer that is known of a conversation, from where it was read to."""
        answer_id, at = self._known.get(of, ("", 0))
        if answer_id:
            where: Any = {"conversationId": of, "answerId": answer_id, "after": str(at)}
            told = self._ask(Kind.READ, "getAnswer", of, answer=answer_id, **where)
            if told is not None and told.status == 200:
                self._known[of] = (answer_id, self._random.choice([0, at, told.body["position"]]))

    def _look(self, of: str) -> None:
        """Learn which answer a conversation has."""
        answer, _ = self._answer("getConversation", True, {"conversationId": of})
        if answer is not None and answer.status == 200 and "answering" in answer.body:
            answer_id = answer.body["answering"]["answerId"]
            if self._known.get(of, ("", 0))[0] != answer_id:
                self._known[of] = (answer_id, 0)

    def _remove(self, kind: Kind) -> None:
        """Remove a member, a branch or a tree, without faults."""
        of = self._places[kind]
        calm = self._calm()
        self._requests += 1
        number = f"{self._number} {self._begun_ms} {self._requests}"
        asked = Asked(number, kind, self.user, of, member=REMOVED, sent_ns=time.monotonic_ns())
        match kind:
            case Kind.REMOVE_MEMBER:
                answer = calm.ask("removeMembership", Caller(self.user), conversationId=of, userId=REMOVED)
            case Kind.REMOVE_BRANCH:
                answer = calm.ask("deleteConversation", Caller(self.user), conversationId=of, scope="branch")
            case _:
                answer = calm.ask("deleteConversation", Caller(self.user), conversationId=of)
        assert answer.status < 300, answer
        self._say(replace(asked, outcome=Outcome.OK, answered_ns=time.monotonic_ns()))
        self.counts[f"{kind} {Outcome.OK}"] += 1


def _is_refused(answer: Answer) -> bool:
    """Tell whether a request got a conflict that stays.

    One that finishes another's answer too early may be done by its twin a moment later.
    """
    return answer.status == 409 and answer.body["details"]["reason"] != "answer_in_progress"


def main() -> None:
    """Do jobs until the standard input closes."""
    number, seed, file = sys.argv[1:]
    jobs: Queue[str] = Queue()
    end_with_parent(jobs.put)
    store = Store(None, os.environ["FORKLORE_TABLE"], os.environ["FORKLORE_DYNAMODB_ENDPOINT"])
    with Path(file).open("w", encoding="utf-8", buffering=1) as log:
        client = Client(
            int(number), Random(f"{seed} {number}"), store, lambda asked: print(to_line(asked), file=log)
        )
        while True:
            job = json.loads(jobs.get())
            try:
                told: Any = {"done": client.work(job)}
            except BaseException:  # noqa: BLE001 (it is reported)
                told = {"failed": traceback.format_exc()}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
