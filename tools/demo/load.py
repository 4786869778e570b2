"""Write a plan through the API: one append for each message, in the tree's order."""

from collections.abc import Callable
from dataclasses import dataclass

from tools.demo.client import Client
from tools.demo.plan import Plan


@dataclass(frozen=True, slots=True)
class LoadedTree:
    """conversation_ids: one for each conversation of the plan. entry_ids: one for each message."""

    plan: Plan
    conversation_ids: tuple[str, ...]
    entry_ids: tuple[str, ...]


def load_tree(
    client: Client, plan: Plan, *, new_id: Callable[[], str], on_append: Callable[[], None]
) -> LoadedTree:
    """Append every message of the tree. Returns when the server has confirmed all of them.

    new_id: makes a fresh lower-case UUID; used for conversations and for Idempotency-Keys.
    on_append: called after each append.
    Raises a ClientError of the append that failed; what was written before stays written.
    """
    conversation_ids = tuple(new_id() for _ in plan.conversations)
    entry_ids: list[str] = []
    for index, message in enumerate(plan.tree.messages):
        number = plan.conversation_of[index]
        conversation = plan.conversations[number]
        fork_of = fork_before = None
        if conversation.fork_point is not None and conversation.messages[0] == index:
            fork_of = conversation_ids[conversation.fork_point.conversation]
            fork_before = entry_ids[conversation.fork_point.before]
        entry_ids.append(
            client.append(
                conversation_ids[number],
                role=message.role,
                text=message.text,
                key=new_id(),
                fork_of=fork_of,
                fork_before=fork_before,
            )
        )
        on_append()
    return LoadedTree(plan, conversation_ids, tuple(entry_ids))
