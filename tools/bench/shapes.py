"""Makes fork trees of any length, width and depth, through the service itself."""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from forklore_service.domain.model import Caller
from forklore_service.storage.clock import Clock, system_ms
from tools.harness.service import Answer, Process
from tools.harness.tables import Store, fresh_store

ANN, BOB, EVE = Caller("ann"), Caller("bob"), Caller("eve")
"""The owner of every tree, a writer, and a stranger."""
PLANNER = Caller("ann", "planner")
ADMIN = Caller("root", None, frozenset({"admin"}))
BATCH_ENTRIES = 50
EPOCH_ENTRIES = 20
"""How many entries of the conversation one epoch spans; half of them are context entries."""
OWN_ENTRIES = 2
"""How many entries each fork of a chain has of its own."""
OTHER_TREES = 25
"""How many other conversations the owner has, for the lists to show: one of each hour."""
CHILDREN = 20
MEMBERS = 3
"""The members of a shape's tree: its owner and two writers."""


@dataclass(frozen=True)
class Shape:
    """The size of a tree.

    entries: of the root, half history and half context. forks: of the root, after its middle entry.
    chain: the length of a chain of forks, in which each is made at the head of the one before and
    has OWN_ENTRIES of its own. entry_bytes: the size of an entry's text.
    """

    entries: int = 100
    forks: int = 10
    chain: int = 0
    entry_bytes: int = 1024

    def __str__(self) -> str:
        forks = f"chain of {self.chain:,}" if self.chain else f"{self.forks:,} forks"
        return f"{self.entries:,} entries of {self.entry_bytes // 1024} KB, {forks}"


BASE = Shape()
_COMMON = """
the of and to in is that for it with as on you be are this have at or from by not can but was an we will if
all one your their more has they which when what there about would out so some other how into up time them
who may its these my do than use like no make been her people only then over also
""".split()  # noqa: SIM905 (a text is easier to read)
_LETTERS = "eeeeeetttttaaaaooooiiiinnnnssssrrrhhhlllddducmfgpwybvk"


class Texts:
    """Makes up text that compresses as well as text that people write: 1 KB to about 54 %.

    Half of the words are the most common words of English, the other half are random letters. For
    comparison: messages of 1 KB in the OpenAssistant trees compress to 51 %.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rare = ["".join(random.choices(_LETTERS, k=random.randint(2, 9))) for _ in range(2_000)]

    def of(self, size: int) -> str:
        """Return a text of `size` bytes."""
        words: list[str] = []
        left = size
        while left > 0:
            words.append(self._random.choice(_COMMON if self._random.random() < 0.5 else self._rare))
            left -= len(words[-1]) + 1
        return " ".join(words)[:size]


def conversation_id(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


class _Earlier(Clock):
    """A clock of some hours ago, which learns nothing."""

    def __init__(self, hours: int) -> None:
        super().__init__(lambda: system_ms() - hours * 3_600_000)

    def learn(self, date: str | None, *, sent_ms: int) -> None:  # noqa: ARG002
        self.was_compared = True


@dataclass
class World:
    """A table with a tree of a shape, and with the owner's other conversations.

    subject: the conversation that the requests name: the root, or the end of the chain.
    entry_ids: of the subject's history, oldest first. forks: the forks of the root.
    """

    store: Store
    shape: Shape
    random: Random
    texts: Texts
    root: str = ""
    subject: str = ""
    entry_ids: Sequence[str] = ()
    forks: Sequence[str] = ()

    def new_id(self) -> str:
        return conversation_id(self.random)

    def said(self, size: int | None = None) -> dict[str, Any]:
        """Return the fields of a message for an append.

        size: bytes of its text; None: as in the shape.
        """
        text = self.texts.of(size or self.shape.entry_bytes)
        return {"contentType": "history", "content": [{"role": "USER", "text": text}]}

    def thought(self, epoch: int | None = None) -> dict[str, Any]:
        """Return the fields of a context entry for an append."""
        held = {
            "channel": "context",
            "contentType": "note",
            "content": [self.texts.of(self.shape.entry_bytes)],
        }
        return held if epoch is None else {**held, "epoch": epoch}

    def ask(self, name: str, caller: Caller = ANN, /, **given: Any) -> Answer:
        """Return the answer of a process that is not measured. The request must succeed."""
        return self.ask_earlier(0, name, caller, **given)

    def ask_earlier(self, hours: int, name: str, caller: Caller = ANN, /, **given: Any) -> Answer:
        """Return the same of a process whose clock is so many hours behind."""
        answer = Process(self.store, clock=_Earlier(hours) if hours else None).ask(name, caller, **given)
        assert answer.status < 300, answer
        time.sleep(0.001)  # What is asked next has a later time: a tree's row is moved by what is later.
        return answer


@contextmanager
def world(endpoint: str | None, shape: Shape, *, seed: int = 6) -> Iterator[World]:
    """Yield a table that holds a tree of the shape."""
    random = Random(seed)
    with fresh_store(endpoint=endpoint) as store:
        made = World(store, shape, random, Texts(random))
        for hours in range(OTHER_TREES, 0, -1):
            made.ask_earlier(hours, "appendEntry", conversationId=made.new_id(), **made.said())
        made.root, made.forks = grow(made)
        made.subject = deepen(made) if shape.chain else made.root
        for user in (BOB.user_id, "mia"):
            made.ask("shareConversation", conversationId=made.root, userId=user, accessLevel="writer")
        for _ in range(CHILDREN):
            made.ask(
                "appendEntry",
                conversationId=made.new_id(),
                startedByConversationId=made.subject,
                **made.said(),
            )
        made.entry_ids = shown(made)
        yield made


def grow(of: World) -> tuple[str, list[str]]:
    """Make the root of the shape, and its forks; return their ids."""
    root, forks = of.new_id(), [of.new_id() for _ in range(of.shape.forks)]
    process = Process(of.store)
    ids: list[str] = []
    for first in range(0, of.shape.entries, BATCH_ENTRIES):
        numbers = range(first, min(first + BATCH_ENTRIES, of.shape.entries))
        entries = [of.said() if n % 2 else of.thought(1 + n // EPOCH_ENTRIES) for n in numbers]
        made = process.ask("appendEntry", PLANNER, conversationId=root, entries=entries)
        assert made.status == 201, made
        ids += [entry["id"] for entry in made.body["data"]]
    for fork in forks:
        forked = {"forkedAtConversationId": root, "forkedAtEntryId": ids[len(ids) // 2 | 1]}
        assert process.ask("appendEntry", ANN, conversationId=fork, **forked, **of.said()).status == 201
    return root, forks


def deepen(of: World) -> str:
    """Make the chain of forks; return the id of the last one."""
    process, above = Process(of.store), of.root
    for _ in range(of.shape.chain):
        below = of.new_id()
        assert process.ask("forkConversation", ANN, conversationId=above, id=below).status == 201
        entries = [of.said(), of.thought()][:OWN_ENTRIES]
        assert process.ask("appendEntry", PLANNER, conversationId=below, entries=entries).status == 201
        above = below
    return above


def shown(of: World) -> list[str]:
    """Return the ids of the subject's history."""
    ids: list[str] = []
    process = Process(of.store)
    after: dict[str, str] = {}
    while True:
        page = process.ask("listEntries", ANN, conversationId=of.subject, limit=1_000, **after)
        assert page.status == 200, page
        ids += [entry["id"] for entry in page.body["data"]]
        if page.body["afterCursor"] is None:
            return ids
        after = {"afterCursor": page.body["afterCursor"]}
