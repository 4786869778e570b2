"""What people see of a checkpoint: its new messages, with roles and texts."""

from collections.abc import Sequence
from typing import Any

from forklore.extras import needing

with needing("langgraph"):
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

MESSAGES_MAX = 40
"""Of more new messages the last ones are shown. The checkpoint has all of them."""
TEXT_CHARACTERS_MAX = 160_000
"""Of all messages of a checkpoint together."""
MESSAGE_CHARACTERS_MAX = 8000


def messages_of(values: Any) -> list[BaseMessage]:
    """Return the messages of a state, which are in its channel `messages`."""
    held = values.get("messages")
    return [one for one in held if isinstance(one, BaseMessage)] if isinstance(held, list) else []


Seen = tuple[int, str | None]
"""How many messages a state has, and the id of the last one."""


def seen_of(values: Any) -> Seen:
    """Return what is known of the messages of a state."""
    held = messages_of(values)
    return len(held), held[-1].id if held else None


def shown(values: Any, before: Seen) -> list[dict[str, str]]:
    """Return roles and texts of the new messages of a state. before: what was there already.

    All are new if the last one from before is gone, as after a summary.
    """
    count, last = before
    messages = messages_of(values)
    ids = [one.id for one in messages]
    if last is not None:
        count = ids.index(last) + 1 if last in ids else 0
    fresh = messages[count:][-MESSAGES_MAX:]
    most = min(MESSAGE_CHARACTERS_MAX, TEXT_CHARACTERS_MAX // max(1, len(fresh)))
    return [{**_role(one), "text": _cut(_text(one), most)} for one in fresh]


def _role(message: BaseMessage) -> dict[str, str]:
    for kind, role in (
        (HumanMessage, "USER"),
        (SystemMessage, "SYSTEM"),
        (AIMessage, "AI"),
        (ToolMessage, "AI"),
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


def _cut(text: str, characters_max: int) -> str:
    """Return a text of so many characters at the most, which UTF-8 can express."""
    kept = text if len(text) <= characters_max else text[: characters_max - 1] + "…"
    return kept.encode("utf-8", "replace").decode()
