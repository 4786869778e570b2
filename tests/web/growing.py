"""Trees for the tests, made by the client."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from forklore import Conversation, Forklore
from forklore.client.generated.results import Entry

BATCH = 50
"""Entries of one append."""


def grow(chat: Conversation, texts: Sequence[str], **more: Any) -> list[Entry]:
    """Append messages in turn, of a user and of an AI, and return their entries."""
    roles = ["USER", "AI"] * len(texts)
    entries = [
        {"contentType": "history", "content": [{"role": role, "text": text}]}
        for role, text in zip(roles, texts, strict=False)
    ]
    made: list[Entry] = []
    for at in range(0, len(entries), BATCH):
        made += chat.append_all(entries[at : at + BATCH], **(more if at == 0 else {}))
    return made


@dataclass(frozen=True)
class Pond:
    """A tree: `main` with four messages, and `side`, which leaves it after the second one."""

    main: Conversation
    side: Conversation
    said: list[Entry]
    answered: list[Entry]


def pond(api: Forklore, *, own: int = 2) -> Pond:
    """Make a tree of two branches. own: how many entries the side branch has of its own."""
    main = api.create(title="Pond")
    said = grow(main, ["Which fish?", "A goldfish.", "How large?", "Ten centimetres."])
    side = main.fork(after=said[1], title="Side arm")
    return Pond(main, side, said, grow(side, [f"Side {number}" for number in range(1, own + 1)]))


def forest(api: Forklore, *, branches: int, entries: int) -> Conversation:
    """Make a tree of so many branches and entries, and return its root.

    A tenth of the branches leaves the root; the others leave those.
    """
    each = entries // branches
    root = api.create(title="Forest")
    trunk = grow(root, [f"Trunk {number}" for number in range(entries - each * (branches - 1))])
    limbs = branches // 10

    def branch(number: int, source: str, at: Entry) -> tuple[str, list[Entry]]:
        fork = api.conversation(str(uuid4()))
        texts = [f"Branch {number}, line {line}" for line in range(each)]
        made = grow(
            fork,
            texts,
            title=f"Branch {number}",
            forked_at_conversation_id=source,
            forked_at_entry_id=at.id,
            forked_at_position="after",
        )
        return fork.id, made

    def limb(number: int) -> tuple[str, list[Entry]]:
        return branch(number, root.id, trunk[number * 7 % len(trunk)])

    def twig(number: int) -> None:
        source, entries = made[number % len(made)]
        branch(number, source, entries[number % each])

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(limb, range(1, limbs)))
        list(pool.map(twig, range(limbs, branches)))
    return root
