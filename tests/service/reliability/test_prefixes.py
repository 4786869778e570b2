"""What a fork has inherited never changes (docs/architecture.md, invariant 4)."""

import hashlib
import json
from collections.abc import Iterable
from random import Random

from tests.service.model.asking import Request
from tests.service.model.history import MOVES, History
from tests.service.model.oracle import Conversation
from tests.service.reliability.figures import Measure
from tests.service.reliability.histories import ADMINS, World, new_world
from tests.service.reliability.service import Endpoint

STEPS = 80
CHECKED_AT_ONCE = 10
ENTRIES_MAX = 1_000
LATER = {
    name: weight for name, weight in MOVES.items() if not name.startswith(("delete_c", "admin_d", "list"))
}
LATER |= {"fork_conversation": 14, "fork_by_append": 10, "start_child": 5, "create_conversation": 4}


class Watch:
    """The forks of a world. For each, a hash of what it inherited when it was acknowledged."""

    def __init__(self, world: World, random: Random) -> None:
        self._world = world
        self._random = random
        self._hashes: dict[str, str] = {}

    def take_in_new_forks(self) -> int:
        """Hash what each new fork has inherited; return how many forks are new."""
        known = self._world.history.both.oracle.conversations
        new = [c.id for c in known.values() if c.source and c.inherits and c.id not in self._hashes]
        self._hashes |= {conversation_id: self._hash(conversation_id) for conversation_id in new}
        return len(new)

    def check_some(self) -> int:
        """Check the hashes of a few live forks; return how many."""
        known = self._world.history.both.oracle.conversations
        alive = [conversation_id for conversation_id in self._hashes if conversation_id in known]
        some = self._random.sample(alive, min(len(alive), CHECKED_AT_ONCE))
        for conversation_id in some:
            is_same = self._hash(conversation_id) == self._hashes[conversation_id]
            self._world.history.both.hold(
                is_same, f"{conversation_id} does not show the same inherited entries as before"
            )
        return len(some)

    def _hash(self, conversation_id: str) -> str:
        """Return a hash of all inherited entries, of every channel and client."""
        given = {"conversationId": conversation_id, "limit": ENTRIES_MAX}
        service = self._random.choice(self._world.services)
        page = service.answer(Request("adminListEntries", ADMINS[1], given)).body
        assert page["afterCursor"] is None, "the entries do not fit on one page"
        shown = page["data"]
        inherited = [entry for entry in shown if entry["conversationId"] != conversation_id]
        assert shown[: len(inherited)] == inherited, "an inherited entry comes after an own one"
        return hashlib.sha256(json.dumps(inherited, sort_keys=True, default=str).encode()).hexdigest()


def test_what_a_fork_has_inherited_never_changes(endpoint: Endpoint, measure: Measure) -> None:
    """The inherited part of each fork is hashed and checked after every later operation."""
    checks, random = measure.goal(ci=1_200, gate=10_000), measure.random
    deepest = 0
    while measure.counts["checks"] < checks:
        with new_world(endpoint, random, bits=random.getrandbits(32)) as world:
            watch = Watch(world, random)
            world.history.begin()
            for _ in range(STEPS):
                step(world.history, random)
                measure.count(operations=1, forks=watch.take_in_new_forks(), checks=watch.check_some())
            deepest = max([deepest, *map(_depth, world.history.both.oracle.conversations.values())])
    assert deepest >= measure.goal(ci=2, gate=3)


def step(history: History, random: Random) -> None:
    """Make a random step that does not delete a tree with forks of forks."""
    oracle = history.both.oracle
    if random.random() < 0.02:
        young = _young(oracle.conversations.values())
        if young:
            given = {"conversationId": random.choice(young)}
            history.both.ask(Request("adminDeleteConversation", ADMINS[0], given))
            return
    history.move(random.choices(list(LATER), list(LATER.values()))[0])


def _young(known: Iterable[Conversation]) -> list[str]:
    """Return the conversations of trees without a fork of a fork, also in their child trees."""
    everyone = list(known)
    old = {c.tree for c in everyone if _depth(c) > 1}
    while parents := {tree.started_by.tree for tree in old if tree.started_by} - old:
        old |= parents
    return [c.id for c in everyone if c.tree not in old]


def _depth(c: Conversation) -> int:
    return 0 if c.source is None else 1 + _depth(c.source)
