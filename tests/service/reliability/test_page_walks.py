"""A walk over pages shows the whole list, without gaps or duplicates, despite changes meanwhile."""

from dataclasses import dataclass
from random import Random

import pytest

from forklore_service.domain import model as domain
from forklore_service.domain.tree import MOVES_KEPT_MS
from forklore_service.storage.clock import system_ms
from tests.service.aws.world import SAID
from tests.service.model.asking import Caller, Json, Request
from tests.service.model.history import History
from tests.service.model.oracle import Conversation
from tests.service.model.services import InProcess
from tests.service.reliability.faults import Fault, randomly
from tests.service.reliability.figures import Measure
from tests.service.reliability.histories import ADMINS, CLOCKS_MS, new_world
from tests.service.reliability.service import Endpoint, Process, new_store
from tests.support.tables import Standing, Store, WrongClock

STEPS, FORKS, WALKS = 60, 6, 100
"""The numbers of steps, of forks among these steps, and of walks in one world."""
LONG = 4
"""A walk is over the longest of so many conversations."""
ANN, BOB = domain.Caller("ann"), domain.Caller("bob")
LIMITS = (1, 3, 6, 12, 40)
WHOLE = 1_000_000
TREES, LIST_WALKS = 25, 10
"""How many trees a forest begins with, and how many walks are over it."""
PAUSES_S = (0, 1, 20, 60, 600, 600, 3_600)
KEPT_S = (MOVES_KEPT_MS // 1_000) // 2
"""For how long trees are used during a walk: well within what rows know of their moves."""
RATES = {
    Fault.EMPTY_PAGE: 0.1,
    Fault.EXACT_END: 0.1,
    Fault.PARTIAL: 0.1,
    Fault.BEFORE: 0.03,
    Fault.AFTER: 0.03,
}


@dataclass
class Walk:
    """A user's walk over the pages of one query, forward or backward."""

    history: History
    random: Random
    service: InProcess
    request: Request
    forward: bool

    def run(self, conversation: Conversation, *, appends: int) -> int:
        """Walk to the end, with at most `appends` appends between pages; return how many pages.

        Forward, the pages must be the list at the end of the walk; backward, at its beginning.
        """
        onward = "afterCursor" if self.forward else "beforeCursor"
        following: Json = {} if self.forward else {"tail": True}
        as_it_was, pages = self._whole(), []
        while True:
            limit = {"limit": self.random.choice(LIMITS)}
            answer = self.service.answer(self._asking(following | limit))
            self._hold(answer.status == 200, f"no page: {answer}")
            pages.append(answer.body["data"])
            self._hold(len(pages[-1]) <= limit["limit"], "more than was asked for")
            if answer.body[onward] is None:
                break
            following = {onward: answer.body[onward]}
            while appends and self.random.random() < 0.5:
                appends -= 1
                self._append(conversation)
        shown = [entry for page in pages[:: 1 if self.forward else -1] for entry in page]
        self._hold(shown == (self._whole() if self.forward else as_it_was), f"{pages} are not the list")
        return len(pages)

    def _append(self, conversation: Conversation) -> None:
        """Append to the conversation, to one that it inherits from, or to another one."""
        into: Conversation | None = conversation
        while into and into.source and self.random.random() < 0.4:
            into = into.source
        if into and self.random.random() < 0.7:
            self.history.append_to(into.id, into, is_batch=self.random.random() < 0.5)
        else:
            self.history.move("append_entries")

    def _whole(self) -> list[Json]:
        """Return the current list, according to the oracle."""
        status, page = self.history.both.oracle.answer(self._asking({"limit": WHOLE}), {})
        assert status == 200, page
        data: list[Json] = page["data"]
        return data

    def _asking(self, more: Json) -> Request:
        return Request(self.request.name, self.request.caller, self.request.given | more)

    def _hold(self, holds: bool, message: str) -> None:
        self.history.both.hold(holds, f"{message}\n in a walk: {self.request}, forward: {self.forward}")


@pytest.mark.failure("misleading-query-page", "partial-answer")
def test_a_walk_over_pages_is_the_list(endpoint: Endpoint, measure: Measure) -> None:
    """Page sizes, directions and filters are random. Between pages, others append; reads fail."""
    walks, random = measure.goal(ci=300, gate=10_000), measure.random
    while measure.counts["walks"] < walks:
        with new_world(endpoint, random, bits=random.getrandbits(32)) as world:
            history = world.history
            faulty = Process(
                world.store,
                randomly(random, RATES),
                clock=WrongClock(random.choice(CLOCKS_MS)),
                in_order=True,
            )
            build(history, random)
            for _ in range(WALKS):
                known = list(history.both.oracle.conversations.values())
                conversation = max(random.choices(known, k=LONG), key=lambda c: len(c.view()))
                request = any_request(conversation, random)
                walk = Walk(history, random, InProcess(faulty), request, random.random() < 0.5)
                before = history.both.requests
                pages = walk.run(conversation, appends=random.randrange(6) if is_monotonic(request) else 0)
                measure.count(walks=1, pages=pages, appends_between_pages=history.both.requests - before)
            measure.count(faults=len(faulty.faults.injected))
    assert measure.counts["faults"] > walks
    assert measure.counts["appends_between_pages"] > walks // 4


@pytest.mark.failure("misleading-query-page", "partial-answer")
def test_a_walk_over_conversations_shows_each_once_while_trees_are_used(
    endpoint: Endpoint, measure: Measure
) -> None:
    """Between pages seconds, minutes or hours go by, and trees are used, made and shared."""
    walks, random = measure.goal(ci=100, gate=3_000), measure.random
    while measure.counts["walks"] < walks:
        with new_store(endpoint) as store:
            forest = Forest(store, random)
            for _ in range(LIST_WALKS):
                forest.use(random.randrange(12))
                measure.count(walks=1, pages=forest.walk())
            measure.count(uses=forest.uses, faults=len(forest.faulty.faults.injected))
    assert measure.counts["faults"] > walks
    assert measure.counts["uses"] > walks


class Forest:
    """Trees of Ann, of which Bob is a member of some. uses: how often one was used.

    faulty: the process that lists them; its reads fail.
    """

    def __init__(self, store: Store, random: Random) -> None:
        self.uses = 0
        self._random = random
        self._clock = Standing(system_ms() // 1_000)
        self._process = Process(store, clock=self._clock)
        self.faulty = Process(store, randomly(random, RATES), clock=self._clock, in_order=True)
        self._tree_of: dict[str, str] = {}
        self._shared: set[str] = set()
        for _ in range(TREES):
            self._make()
            self._clock.now_s += random.choice(PAUSES_S[:-1])

    def use(self, times: int) -> None:
        for _ in range(times):
            self._clock.now_s += self._random.choice(PAUSES_S)
            self._random.choice((self._say, self._say, self._say, self._make, self._fork, self._share))()
            self.uses += 1

    def walk(self) -> int:
        """Walk to the end, while trees are used for a few hours; return how many pages there are.

        Whatever is listed when the walk begins is on one page, and nothing else is on two.
        """
        random = self._random
        order, mode = random.choice(("used", "used", "created")), random.choice(("all", "latest-fork"))
        user, there = random.choice([(ANN, set(self._tree_of.values())), (BOB, set(self._shared))])
        if mode == "all":
            there = {one for one, tree in self._tree_of.items() if tree in there}
        until_s, shown, pages = self._clock.now_s + KEPT_S, list[str](), 0
        given: Json = {"order": order, "mode": mode}
        while True:
            answer = self.faulty.ask("listConversations", user, **given, limit=random.choice(LIMITS[:-1]))
            assert answer.status == 200, answer
            ids = [row["id"] for row in answer.body["data"]]
            shown += ids if mode == "all" else [self._tree_of[one] for one in ids]
            pages += 1
            if answer.body["afterCursor"] is None:
                break
            given["afterCursor"] = answer.body["afterCursor"]
            if self._clock.now_s < until_s:
                self.use(random.choice((0, 0, 1, 3)))
        assert len(shown) == len(set(shown)), (given, "twice", [one for one in shown if shown.count(one) > 1])
        assert there <= set(shown), (given, "missed", there - set(shown))
        return pages

    def _make(self) -> None:
        made = self._done("createConversation")["id"]
        self._tree_of[made] = made

    def _fork(self) -> None:
        of = self._any()
        self._tree_of[self._done("forkConversation", conversationId=of)["id"]] = self._tree_of[of]

    def _say(self) -> None:
        self._done("appendEntry", conversationId=self._any(), **SAID)

    def _share(self) -> None:
        tree = self._tree_of[self._any()]
        if tree not in self._shared:
            self._shared.add(tree)
            self._done("shareConversation", conversationId=tree, userId="bob", accessLevel="reader")

    def _any(self) -> str:
        return self._random.choice(list(self._tree_of))

    def _done(self, name: str, **given: Json) -> Json:
        answer = self._process.ask(name, ANN, **given)
        assert answer.status == 201, answer
        return answer.body


def build(history: History, random: Random) -> None:
    """Make a tree whose conversations show many entries."""
    history.begin()
    for step in range(STEPS):
        known = list(history.both.oracle.conversations.values())
        if step % (STEPS // FORKS) == STEPS // FORKS - 1:
            history.move(random.choice(("fork_conversation", "fork_by_append")))
        elif random.random() < 0.3:
            history.move("sync_context")
        else:
            into = random.choice(known)
            history.append_to(into.id, into, is_batch=True)


def any_request(conversation: Conversation, random: Random) -> Request:
    """Return a random listEntries request of a user who may see it, without cursors."""
    of = {"conversationId": conversation.id}
    client = conversation.client or "planner"
    user = random.choice(list(conversation.tree.levels))
    agent, plain = Caller(user, client), Caller(user)
    return random.choice(
        [
            Request("listEntries", agent, of),
            Request("listEntries", plain, of),
            Request("listEntries", agent, of | {"channel": "history"}),
            Request("listEntries", agent, of | {"channel": "context", "epoch": "all"}),
            Request("listEntries", agent, of | {"channel": "context", "epoch": "latest"}),
            Request("listEntries", agent, of | {"allForks": True}),
            Request("adminListEntries", ADMINS[1], of),
            Request("adminListEntries", ADMINS[1], of | {"channel": "context"}),
        ]
    )


def is_monotonic(request: Request) -> bool:
    """Tell whether new entries always come after those in the list and never hide one of them.

    Among all forks, a writer's clock can be behind those of other forks. A new epoch replaces the
    latest one.
    """
    return "allForks" not in request.given and request.given.get("epoch") != "latest"
