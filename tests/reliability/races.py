"""Two requests at the same time, and what must be true of them (reliability, C4).

They must come out as if one had been made after the other: both answers and the table, once all work is done,
are as in one of the two orders. And at every moment in between the invariants hold.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tests.reliability.comparing import normal, told
from tests.reliability.crashes import nothing
from tests.reliability.faults import Choose, Rewrite
from tests.reliability.intact import assert_intact
from tests.reliability.schedules import explore
from tests.reliability.service import Answer
from tests.reliability.world import (
    ANN,
    BOB,
    CHILD,
    CODER,
    CROWD,
    EVE,
    FORK,
    GIVEN,
    NEW,
    OPERATIONS,
    OTHER,
    PASSED,
    PLANNER,
    ROOT,
    UNTITLED,
    Operation,
    World,
    append,
    built,
    change,
    crowded,
    delete,
    post,
    said,
    settle,
    thought,
    unfinished,
)
from tests.support.tables import Store

ONE, OTHER_ONE = "one", "other"


@dataclass(frozen=True)
class Pair:
    """Two requests at the same time.

    keys: their Idempotency-Keys; None: without. also: statuses that may come, too, though in turn they do not.
    """

    one: Operation
    other: Operation
    keys: tuple[str | None, str | None] = (None, None)
    also: tuple[tuple[int, int], ...] = ()

    @property
    def of(self) -> Callable[[str], World]:
        """What builds the world of both."""
        assert self.one.of is self.other.of
        return self.one.of


@dataclass
class Race:
    """A pair at an endpoint. rewrite: changes what their processes send."""

    pair: Pair
    endpoint: str
    rewrite: Rewrite | None = None

    @property
    def world(self) -> World:
        return built(self.pair.of, self.endpoint)

    @cached_property
    def in_turn(self) -> list[Any]:
        """The outcomes of the two requests made one after the other, in both orders."""
        return [self._in_turn(order) for order in ((ONE, OTHER_ONE), (OTHER_ONE, ONE))]

    def _in_turn(self, order: tuple[str, str]) -> Any:
        with self.world.copy(self.endpoint) as store:
            actors = self._actors(store, None)
            answers = {name: actors[name](nothing) for name in order}
            return self._outcome(answers, store)

    def run(self) -> int:
        """Hold every schedule to the outcome of one of the two orders; return how many there are."""
        stores: list[Store] = []

        @contextmanager
        def actors() -> Iterator[Mapping[str, Callable[[Choose], Answer]]]:
            with self.world.copy(self.endpoint) as store:
                stores[:] = [store]
                yield self._actors(store, self.rewrite)

        schedules = 0
        for answers in explore(actors):
            assert_intact(stores[0])
            outcome = self._outcome(answers, stores[0])
            if (answers[ONE].status, answers[OTHER_ONE].status) in self.pair.also:
                assert outcome[1] in [contents for _, contents in self.in_turn], outcome[0]
            else:
                assert outcome in self.in_turn, outcome[0]
            schedules += 1
        return schedules

    def _actors(self, store: Store, rewrite: Rewrite | None) -> dict[str, Callable[[Choose], Answer]]:
        def actor(operation: Operation, key: str | None) -> Callable[[Choose], Answer]:
            process = operation.process(store, nothing, in_order=True, rewrite=rewrite)

            def act(choose: Choose) -> Answer:
                process.faults.choose = choose
                return operation.run(process, self.world, key)

            return act

        pair = self.pair
        return {ONE: actor(pair.one, pair.keys[0]), OTHER_ONE: actor(pair.other, pair.keys[1])}

    def _outcome(self, answers: Mapping[str, Answer], store: Store) -> Any:
        settle(store)
        assert_intact(store, settled=self.pair.of is not crowded)
        return told([answers[ONE], answers[OTHER_ONE]]), normal(store.contents().values())


def _by_key(operation: Operation, key: str = "one key") -> Pair:
    """Return the same request twice, as a caller sends it again who has not waited."""
    return Pair(operation, operation, (key, key))


def _more(name: str, **given: Any) -> Operation:
    return replace(OPERATIONS[name], **given)


_DELETE = OPERATIONS["delete"]
_REVOKE = OPERATIONS["remove a member"]
_DOWNGRADE = OPERATIONS["change a level to reader"]
_ACCEPT, _CANCEL, _DECLINE = OPERATIONS["accept"], OPERATIONS["cancel"], OPERATIONS["decline"]
_DELETE_GIVEN = delete("deleteConversation", ANN, conversationId=GIVEN)
_CHILD, _CROWD_CHILD = (
    OPERATIONS["append and start a child"],
    OPERATIONS["append and start a child of a crowd"],
)
_FORK = OPERATIONS["fork before an entry"]
_DELETE_CROWD = delete("deleteConversation", ANN, of=crowded, conversationId=CROWD)
_ADD = OPERATIONS["share"]

PAIRS: dict[str, Pair] = {
    "append, append": Pair(_more("append, known"), append(BOB, entry=said("other"), knows=(ROOT, BOB))),
    "append, append as the first text": Pair(
        append(ANN, to=UNTITLED), append(BOB, to=UNTITLED, entry=said("other"))
    ),
    "append, append to a new one": Pair(append(ANN, to=NEW), append(ANN, to=NEW, entry=said("other"))),
    "append, append of two who do not share": Pair(append(ANN, to=NEW), append(EVE, to=NEW)),
    "append, append with If-Match": Pair(
        append(ANN, if_match="<third>", knows=(ROOT, ANN)), append(BOB, if_match="<third>", knows=(ROOT, BOB))
    ),
    "append, append with one key": _by_key(append(BOB, knows=(ROOT, BOB))),
    "append, delete": Pair(append(BOB, knows=(ROOT, BOB)), _DELETE),
    "append for the first time, delete": Pair(append(BOB, to=FORK), _DELETE),
    "create, create": Pair(post("createConversation", ANN, id=NEW), post("createConversation", BOB, id=NEW)),
    "create, create with one key": _by_key(post("createConversation", ANN, title="t")),
    "create, append": Pair(post("createConversation", ANN, id=NEW), append(ANN, to=NEW)),
    "fork, fork under one id": Pair(_FORK, OPERATIONS["fork at the head"]),
    "fork, fork": Pair(_FORK, post("forkConversation", ANN, conversationId=FORK, id=OTHER)),
    "fork, append": Pair(OPERATIONS["fork at the head"], append(BOB, knows=(ROOT, BOB))),
    "fork, delete": Pair(_FORK, _DELETE),
    "fork by an append, delete": Pair(OPERATIONS["append and fork"], _DELETE),
    "fork, accept": Pair(post("forkConversation", ANN, conversationId=GIVEN, id=NEW), _ACCEPT),
    "fork, revoke": Pair(_FORK, _REVOKE),
    "fork, downgrade": Pair(_FORK, _DOWNGRADE),
    "child, parent's delete": Pair(_CHILD, _DELETE),
    "child, share": Pair(_CHILD, _ADD),
    "child, revoke": Pair(_CHILD, _REVOKE),
    "child, child": Pair(_CHILD, _more("append and start a child")),
    "child, append to the new one": Pair(_CHILD, append(EVE, to=NEW)),
    "child of a crowd, delete": Pair(_CROWD_CHILD, _DELETE_CROWD),
    "child of a crowd, share": Pair(
        _CROWD_CHILD,
        post("shareConversation", ANN, of=crowded, conversationId=CROWD, userId="eve", accessLevel="writer"),
    ),
    "grandchild, delete": Pair(
        post("appendEntry", BOB, conversationId=NEW, **said("new"), startedByConversationId=CHILD), _DELETE
    ),
    "revoke, append": Pair(_REVOKE, append(BOB, knows=(ROOT, BOB))),
    "downgrade, append": Pair(_DOWNGRADE, append(BOB, knows=(ROOT, BOB))),
    "revoke a manager, share by them": Pair(
        delete("removeMembership", ANN, conversationId=ROOT, userId="mia"), OPERATIONS["share as a manager"]
    ),
    "revoke, change": Pair(_REVOKE, OPERATIONS["change"]),
    "revoke, downgrade": Pair(_REVOKE, _DOWNGRADE),
    "revoke, leave": Pair(_REVOKE, OPERATIONS["remove oneself"]),
    "share, share": Pair(_ADD, OPERATIONS["share as a manager"]),
    "share, delete": Pair(_ADD, _DELETE),
    "change a level, change a level": Pair(OPERATIONS["change a level"], _DOWNGRADE),
    "change, change": Pair(
        OPERATIONS["change"], change("updateConversation", ANN, conversationId=ROOT, title="other")
    ),
    "change, append": Pair(
        change("updateConversation", ANN, conversationId=UNTITLED, title=None), append(BOB, to=UNTITLED)
    ),
    "change, delete": Pair(OPERATIONS["change"], _DELETE),
    "offer, offer": Pair(
        OPERATIONS["offer"], post("requestTransfer", ANN, conversationId=ROOT, newOwnerUserId="mia")
    ),
    "offer, revoke the recipient": Pair(OPERATIONS["offer"], _REVOKE),
    "offer, delete": Pair(OPERATIONS["offer"], _DELETE),
    "accept, accept": Pair(_ACCEPT, _more("accept")),
    "accept, accept with one key": _by_key(_ACCEPT),
    "accept, cancel": Pair(_ACCEPT, _CANCEL),
    "accept, decline": Pair(_ACCEPT, _DECLINE),
    "accept, revoke the recipient": Pair(_ACCEPT, OPERATIONS["remove the recipient"]),
    "accept, delete": Pair(_ACCEPT, _DELETE_GIVEN),
    "accept, append by the owner before": Pair(_ACCEPT, append(ANN, to=GIVEN, knows=(GIVEN, ANN))),
    "accept, share": Pair(
        _ACCEPT, post("shareConversation", ANN, conversationId=GIVEN, userId="eve", accessLevel="manager")
    ),
    "cancel, decline": Pair(_CANCEL, _DECLINE),
    "remove the owner before, append by them": Pair(
        OPERATIONS["remove the owner before"], OPERATIONS["append as the owner before"]
    ),
    "remove the owner before, the sweep": Pair(
        OPERATIONS["remove the owner before"], OPERATIONS["the sweep"]
    ),
    "context, context": Pair(append(PLANNER, entry=thought("c")), append(PLANNER, entry=thought("d"))),
    "context, next epoch": Pair(
        append(PLANNER, entry=thought("c")), append(PLANNER, entry=thought("d", epoch=2))
    ),
    "first context, first context": Pair(
        append(CODER, entry=thought("c")), append(CODER, entry=thought("d", epoch=3))
    ),
    "sync, sync": Pair(OPERATIONS["sync more"], OPERATIONS["sync something else"]),
    "sync, sync for the first time": Pair(
        OPERATIONS["sync for the first time"],
        post("syncContext", CODER, conversationId=ROOT, contentType="note", content=["z"]),
    ),
    "sync, sync of a new one": Pair(
        OPERATIONS["sync a new one"],
        post("syncContext", PLANNER, conversationId=NEW, contentType="note", content=["z"]),
    ),
    "sync, context": Pair(OPERATIONS["sync more"], append(PLANNER, entry=thought("d"))),
    "delete, delete": Pair(_DELETE, OPERATIONS["delete by its fork"]),
    "delete, delete of a child": Pair(_DELETE, delete("deleteConversation", ANN, conversationId=CHILD)),
    "delete, the worker": Pair(
        delete("deleteConversation", ANN, of=unfinished, conversationId=PASSED), OPERATIONS["the sweep"]
    ),
    "the worker, the worker": Pair(OPERATIONS["the worker"], OPERATIONS["the worker"]),
    "go on with a child, go on with it": Pair(
        OPERATIONS["go on with a child that was begun"], _more("go on with a child that was begun")
    ),
}
