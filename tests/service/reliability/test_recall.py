"""Recall by meaning beside brute force: random trees, and processes killed while they embed.

What a conversation shows is told by the list of its entries. So a recall is right if it finds these
entries and no other one, each with the nearness of its own text, and the nearest first. A recall
over all is right if it finds what the live conversations show together that the caller may read.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from forklore_service.domain.model import Caller, JobKind
from forklore_service.usecases.background.embedding import embed
from forklore_service.usecases.shared import over_all
from tests.service.reliability.faults import Call, Fault, Killed
from tests.service.reliability.figures import Measure
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Process
from tests.service.reliability.world import ROOT_CALLER, go_on, run_deletion, run_erasures, run_prune, said
from tests.support.meaning import TOPICS, cosine, nearness
from tests.support.tables import Store

USERS = [Caller("ann"), Caller("bob"), Caller("eve")]
WORDS = [*TOPICS, "quiet", "yard"]
STEPS = 60
LIMIT_MAX = 60


@dataclass
class Tree:
    """A random history of a few trees.

    with_stream: whether a function is told what is new and makes the vectors, as on AWS.
    branches: the live ones, by tree. owner: by tree. removed: branches that wait for the worker,
    with their trees. told: conversations with their trees, of which it was not yet told. erased:
    whether bob is. recalls, over_all, kills, late: how many there were; late: changes before a
    write of that function.
    """

    store: Store
    random: random.Random
    with_stream: bool = False
    branches: dict[str, list[str]] = field(default_factory=dict)
    owner: dict[str, Caller] = field(default_factory=dict)
    removed: list[tuple[str, str]] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    erased: bool = False
    recalls: int = 0
    over_all: int = 0
    kills: int = 0
    late: int = 0

    def __post_init__(self) -> None:
        self.process = self.new_process()
        for _ in range(2):
            self.begin()

    def new_process(self) -> Process:
        process = Process(self.store)
        process.table.nearness, process.table.by_meaning = nearness(), True
        process.table.embedded_elsewhere = self.with_stream
        return process

    def step(self) -> None:
        moves = [*[self.say] * 6, *[self.fork] * 3, self.remove, self.prune, self.share, self.hand_over]
        moves += [self.embed_and_be_killed, *[self.recall] * 4, self.restart, self.erase_bob]
        moves += [self.begin, self.delete, *[self.recall_all] * 4]
        moves += [self.embed_new] * 6 * self.with_stream
        self.random.choice(moves)()

    def pick(self) -> tuple[str, str]:
        root = self.random.choice([one for one in self.branches if self.branches[one]])
        return root, self.random.choice(self.branches[root])

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=4))

    def begin(self) -> None:
        owner = self.random.choice([USERS[0], USERS[2]])
        root = self.process.ask("createConversation", owner).id
        self.branches[root], self.owner[root] = [root], owner

    def say(self) -> None:
        root, branch = self.pick()
        self.process.ask("appendEntry", self.random.choice(USERS), conversationId=branch, **said(self.text()))
        self.process.ask("appendEntry", self.owner[root], conversationId=branch, **said(self.text()))
        self.told.append((root, branch))

    def fork(self) -> None:
        """Fork anywhere, and say nearly the same there as its sibling does."""
        root, branch = self.pick()
        shown = self.shown(branch, self.owner[root])
        at = {}
        if shown:
            position = self.random.choice(["before", "after"])
            at = {"atEntryId": self.random.choice(shown)["id"], "position": position}
        made = self.process.ask("forkConversation", self.owner[root], conversationId=branch, **at)
        assert made.status == 201, made
        self.branches[root].append(made.id)
        for one in (made.id, branch):
            self.process.ask("appendEntry", self.owner[root], conversationId=one, **said(self.text()))
            self.told.append((root, one))

    def remove(self, which: tuple[str, str] | None = None) -> None:
        root, branch = which or self.pick()
        if len(self.branches.get(root, [])) > 1 and branch in self.branches[root]:
            asked = {"conversationId": branch, "scope": "branch"}
            assert self.process.ask("deleteConversation", self.owner[root], **asked).status == 204
            self.branches[root].remove(branch)
            self.removed.append((root, branch))

    def delete(self) -> None:
        """Delete a tree, of which the worker takes nothing away yet."""
        if len(self.branches) > 2:
            root = self.random.choice(list(self.branches))
            asked = {"conversationId": self.branches[root][0]}
            assert self.process.ask("deleteConversation", self.owner[root], **asked).status == 204
            del self.branches[root]
            self.removed = [one for one in self.removed if one[0] != root]

    def prune(self) -> None:
        while self.removed:
            run_prune(*self.removed.pop())(self.new_process())

    def share(self) -> None:
        root, branch = self.pick()
        asked = {"conversationId": branch, "userId": self.random.choice(USERS).user_id}
        if not self.erased or asked["userId"] != "bob":
            operation = self.random.choice(["shareConversation", "removeMembership"])
            level = {"accessLevel": "writer"} if operation == "shareConversation" else {}
            self.process.ask(operation, self.owner[root], **asked, **level)

    def hand_over(self) -> None:
        root, branch = self.pick()
        to = self.random.choice([USERS[0], USERS[2]])
        asked = {"conversationId": branch, "newOwnerUserId": to.user_id}
        offered = self.process.ask("requestTransfer", self.owner[root], **asked)
        if offered.status == 201:
            assert self.process.ask("acceptTransfer", to, transferId=offered.id).status == 204
            self.owner[root] = to

    def erase_bob(self) -> None:
        """Erase a user, once, and let the worker end it."""
        if not self.erased:
            self.erased = True
            assert self.process.ask("adminEraseUser", ROOT_CALLER, userId="bob").status == 202
            for _ in range(5):
                run_erasures(self.new_process())

    def embed_and_be_killed(self) -> None:
        """Recall in a process that is killed before or after one of its next writes."""
        root, branch = self.pick()
        left, fault = self.random.randint(1, 3), self.random.choice([Fault.KILL, Fault.KILL_AFTER])

        def choose(call: Call) -> Fault | None:
            nonlocal left
            left -= call.operation == "TransactWriteItems"
            return fault if left == 0 and call.operation == "TransactWriteItems" else None

        process = self.new_process()
        process.faults.begin(choose)
        asked = {"query": "lodging", "searchType": "semantic"}
        if self.random.random() < 0.5:
            asked["conversationId"] = branch
        try:
            process.ask("searchConversations", self.owner[root], **asked)
        except Killed:
            self.kills += 1

    def embed_new(self) -> None:
        """Tell a new process what is new. It is killed, or late, or what it is told is lost."""
        told, self.told = self.told, []
        if self.random.random() < 0.2:
            return
        if told and self.random.random() < 0.4:
            self.remove(self.random.choice(told))
        fault = self.random.choice([Fault.KILL, Fault.KILL_AFTER, None, None])
        left = self.random.randint(1, 2)

        def choose(call: Call) -> Fault | None:
            nonlocal left
            put = [one["Put"]["Item"] for one in call.body.get("TransactItems", []) if "Put" in one]
            of = [(one["PK"]["S"], one["c"]["S"]) for one in put if "c" in one]
            left -= bool(of)
            if left or not of:
                return None
            if fault is None:
                self.change_before(*of[0])
            return fault

        process = self.new_process()
        process.faults.begin(choose)
        try:
            for root in dict(told):
                new = {branch for tree, branch in told if tree == root}
                embed(process.table, nearness(), root, self.random.choice([new, None]))
        except Killed:
            self.kills += 1
            self.told += told

    def change_before(self, root: str, branch: str) -> None:
        """Change a tree before a late process puts vectors of a branch there."""
        self.late += 1
        if self.random.random() < 0.3:
            self.random.choice([self.erase_bob, self.delete, self.hand_over])()
        elif len(self.branches[root]) > 1 and branch in self.branches[root]:
            self.remove((root, branch))
        self.prune()

    def restart(self) -> None:
        self.process = self.new_process()

    def recall(self) -> None:
        root, branch = self.pick()
        caller, question = self.random.choice([*USERS, self.owner[root]]), self.text()
        shown = self.process.ask("listEntries", caller, conversationId=branch, limit=1)
        found = self.page(branch, caller, question, None)
        assert found.status == shown.status
        if found.status == 200:
            self.compare(branch, caller, question)

    def compare(self, branch: str, caller: Caller, question: str) -> None:
        expected = {
            one["id"]: round(cosine(question, one["content"][0]["text"]), 4)
            for one in self.shown(branch, caller)
            if one["content"]
        }
        nearest = sorted(expected, key=lambda one: (expected[one], one), reverse=True)
        found: list[Any] = []
        cursor = None
        while True:
            page = self.page(branch, caller, question, cursor).body
            found += page["data"]
            assert page["complete"]
            cursor = page["afterCursor"]
            if cursor is None:
                break
            if self.random.random() < 0.3:  # what comes between two pages is on neither
                asked = {"conversationId": branch, **said(self.text())}
                self.process.ask("appendEntry", caller, **asked)
        assert [one["entryId"] for one in found] == nearest
        assert all(abs(float(one["score"]) - expected[one["entryId"]]) < 0.0002 for one in found)
        self.recalls += 1

    def recall_all(self) -> None:
        is_made_up = not self.with_stream or self.random.random() < 0.5
        if self.with_stream and is_made_up:
            for root in self.branches:
                embed(self.new_process().table, nearness(), root, None)
        caller, question = self.random.choice(USERS), self.text()
        expected = {}
        for branches in self.branches.values():
            for branch in branches:
                listed = self.process.ask("listEntries", caller, conversationId=branch, limit=1_000)
                for one in listed.body["data"] if listed.status == 200 else ():
                    if one["content"]:
                        expected[one["id"]] = cosine(question, one["content"][0]["text"])
        found: list[Any] = []
        cursor = None
        while True:
            answer = self.page(None, caller, question, cursor)
            assert answer.status == 200, answer
            page = answer.body
            assert page["complete"] or not is_made_up
            found += page["data"]
            cursor = page["afterCursor"]
            if cursor is None:
                break
        if not is_made_up:
            seen = {hit["entryId"] for hit in found}
            expected = {one: near for one, near in expected.items() if one in seen}
        scores = [float(one["score"]) for one in found]
        assert scores == sorted(scores, reverse=True)
        assert sorted(one["entryId"] for one in found) == sorted(expected)
        assert all(abs(float(one["score"]) - expected[one["entryId"]]) < 0.02 for one in found)
        self.over_all += 1

    def page(self, branch: str | None, caller: Caller, question: str, cursor: str | None) -> Any:
        more = {} if cursor is None else {"afterCursor": cursor}
        if branch is not None:
            more["conversationId"] = branch
        return self.process.ask(
            "searchConversations",
            caller,
            query=question,
            searchType="semantic",
            limit=self.random.randint(1, LIMIT_MAX),
            **more,
        )

    def shown(self, branch: str, caller: Caller) -> list[Any]:
        answer = self.process.ask("listEntries", caller, conversationId=branch, limit=1_000)
        assert answer.status == 200, answer
        entries: list[Any] = answer.body["data"]
        return entries


@pytest.fixture(params=range(12))
def tree(
    request: pytest.FixtureRequest, store: Store, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tree]:
    """Yield random trees. A search of the index shows so few that recalls need narrower ones."""
    monkeypatch.setattr(over_all, "TOP", [3, 12, over_all.TOP][request.param % 3])
    monkeypatch.setattr(over_all, "ALONE_MAX", [0, 4][request.param % 2])
    monkeypatch.setattr(over_all, "SEARCHES_MAX", 10_000)
    made = Tree(store, random.Random(measure.seed * 100 + request.param), with_stream=request.param % 4 > 1)
    yield made
    measure.count(recalls=made.recalls, over_all=made.over_all, kills=made.kills, late=made.late)


@pytest.mark.failure("killed-embedder")
def test_a_recall_finds_what_brute_force_finds_in_the_branch_and_over_all(tree: Tree, store: Store) -> None:
    for _ in range(STEPS):
        tree.step()
    tree.prune()
    for root, branches in tree.branches.items():
        for branch in branches:
            tree.compare(branch, tree.owner[root], tree.text())
    tree.recall_all()

    assert_intact(store)
    for root, branches in tree.branches.items():
        assert (
            tree.process.ask("deleteConversation", tree.owner[root], conversationId=branches[0]).status == 204
        )
        run_deletion(root)(tree.new_process())
        go_on(root, JobKind.DELETION)(tree.new_process())
        assert not any(key.partition == root for key in store.contents())
    assert_intact(store)
