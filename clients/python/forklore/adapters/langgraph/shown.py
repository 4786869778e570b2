"""What people see of a checkpoint: its new messages, with roles and texts."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

from forklore.adapters.storable import TEXT_CHARACTERS_MAX, shortened
from forklore.extras import needing

with needing("langgraph"):
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

MESSAGES = "messages"
"""The channel of a state's messages."""
MESSAGES_MAX = 40
"""Of more new messages the last ones are shown. The checkpoint has all of them."""
TEXTS_CHARACTERS_MAX = 160_000
"""Of all messages of a checkpoint together."""


def messages_of(values: Any) -> list[BaseMessage]:
    """Return the messages of a state."""
    held = values.get(MESSAGES)
    return [one for one in held if isinstance(one, BaseMessage)] if isinstance(held, list) else []


Seen = Sequence[int]
"""A digest of each message of a state."""


def seen_of(values: Any) -> Seen:
    """Return what is known of the messages of a state."""
    return array("q", map(_digest, messages_of(values)))


def shown(values: Any, seen: Seen, before: Seen | None) -> list[dict[str, str]]:
    """Return roles and texts of the messages of a state that were not there before.

    A message with a known id and another text is new. seen: of the state. before: None: nothing was
    there.
    """
    known = Counter(before or ())
    fresh = []
    for message, digest in zip(messages_of(values), seen, strict=True):
        if known[digest]:
            known[digest] -= 1
        else:
            fresh.append(message)
    fresh = fresh[-MESSAGES_MAX:]
    most = min(TEXT_CHARACTERS_MAX, TEXTS_CHARACTERS_MAX // max(1, len(fresh)))
    return [{**_role(one), "text": shortened(_text(one), most)} for one in fresh]


def goes_on_from(checkpoint_id: str) -> dict[str, str]:
    """Return the line that people see where a branch begins, which goes on from a checkpoint."""
    return {"role": "SYSTEM", "text": f"[goes on from checkpoint {checkpoint_id}]"}


def _digest(message: BaseMessage) -> int:
    """Return a number of what is shown of a message, and of its id, for this process."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    content = message.content if isinstance(message.content, str) else repr(message.content)
    return hash((message.id, message.type, content, repr(calls) if calls else ""))


def _role(message: BaseMessage) -> dict[str, str]:
    for kind, role in (
        (HumanMessage, "USER"),
        (SystemMessage, "SYSTEM"),
        (AIMessage, "AI"),
        (ToolMessage, "SYSTEM"),
    ):
        if isinstance(message, kind):
            return {"role": role}
    return {}


def _text(message: BaseMessage) -> str:
    said = str(message.text)
    if isinstance(message, ToolMessage):
        return f"[{message.name or 'tool'} returned {said}]"
    calls: Sequence[Any] = message.tool_calls if isinstance(message, AIMessage) else ()
    return "\n".join([*([said] if said else []), *(f"[calls {one['name']} {one['args']}]" for one in calls)])
