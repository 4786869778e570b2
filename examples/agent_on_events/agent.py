"""An agent that answers what a user says: one answer for each append, however often it is told.

`handler` runs on Lambda, for a rule of EventBridge. `at_home` gets the same events on your machine:
`forklore serve --on-event agent:at_home`. Replace `reply` by a call of your model.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from os import environ
from typing import Any

from forklore import (
    ConflictError,
    Conversation,
    ForbiddenError,
    Forklore,
    MismatchError,
    NotFoundError,
    role_of,
    text_of,
)

CLIENT = "answering-agent"
"""The client that the agent is on Lambda. Its memory belongs to this client."""
MESSAGES_MAX = 50
"""How many messages the model sees. One append has at most as many."""
MEMORY_MAX = 400
TRIES = 100


def reply(messages: Sequence[tuple[str, str]]) -> str:
    """Return the answer to the last messages. messages: roles and texts, the oldest first.

    This stands for your model. It needs no network.
    """
    said = [text for role, text in messages if role == "user"]
    return f"You have said {len(said)} thing{'s' * (len(said) > 1)}. The last is: {said[-1]}"


def handler(event: Mapping[str, Any], _context: object) -> str | None:
    """Answer an event that a rule hands over. An error makes Lambda try again."""
    return answer(event, lambda user: _on_lambda().acting_as(user, CLIENT))


def at_home(event: Mapping[str, Any]) -> str | None:
    """Answer an event of the local server. An error makes the server try again."""
    return answer(event, _over_http)


def answer(event: Mapping[str, Any], connect: Callable[[str], Forklore]) -> str | None:
    """Answer what a person says in the event; return the id of the answer. None: nothing to say.

    An append of several messages gets one answer, to all of them.

    connect: returns a client that acts for a user, and is this agent.
    """
    detail = event["detail"]
    asked = [entry for entry in detail.get("entries", ()) if is_said_by_a_person(entry)]
    if event["detail-type"] != "EntriesAppended" or not asked:
        return None
    said = [entry["entryId"] for entry in asked]
    chat = connect(asked[-1]["userId"]).conversation(detail["conversationId"])
    try:
        return _answer(chat, said, detail["eventId"])
    except (ForbiddenError, NotFoundError) as gone:  # deleted, shared no more, or another agent's
        print(f"no answer to {said[-1]}: {gone.code}")
        return None


def is_said_by_a_person(entry: Mapping[str, Any]) -> bool:
    """Tell whether a user said it here and now: no agent wrote it, and it is no copy.

    So no answer is answered, be it by this agent.
    """
    is_message = entry["channel"] == "history" and entry.get("role") == "USER"
    return is_message and "clientId" not in entry and "copiedFromConversationId" not in entry


def _answer(chat: Conversation, asked: Sequence[str], event_id: str) -> str:
    """Append the answer with the agent's memory, in one write; return its id.

    asked: the ids of the entries of one append, in order. The key is made of the last one.

    The key of the entry is what makes a second answer impossible, for ever. The event's id as the
    Idempotency-Key does so for 24 hours, and lets a repeated append have the same answer.
    """
    key = f"answer-to-{asked[-1]}"
    if (known := _entry_of(chat, key)) is not None:
        return known
    newest = chat.entries(channel="history", backward=True, up_to_entry_id=asked[-1])
    shown = newest.list(limit=MESSAGES_MAX)[::-1]
    messages = [(role_of(entry) or "", text_of(entry) or "") for entry in shown]
    said = [{"user": text_of(entry) or ""} for entry in shown if entry.id in asked]
    text = reply(messages)
    for _ in range(TRIES):
        last = chat.entries(channel="history", backward=True).first()
        memory = [*chat.context.latest(), *said, {"ai": text}]
        if len(memory) > MEMORY_MAX:
            memory = memory[-MEMORY_MAX // 2 :]
        try:
            return chat.turn("ai", text, context=memory, key=key, if_last=last, idempotency_key=event_id).id
        except MismatchError:  # an earlier run has answered, perhaps in other words
            break
        except ConflictError as error:
            if error.reason == "key_in_use":  # the same, more than 24 hours ago
                break
            if error.reason not in ("stale", "context_moved"):
                raise
            # Somebody has spoken or remembered meanwhile: read both again.
    known = _entry_of(chat, key)
    if known is None:
        raise RuntimeError("the conversation moves too fast; the event comes again")
    return known


def _entry_of(chat: Conversation, key: str) -> str | None:
    try:
        return chat.entry_of(key).id
    except NotFoundError:
        return None


@cache
def _on_lambda() -> Forklore:
    return Forklore.on_lambda(environ["FORKLORE_FUNCTION"], user="nobody", client=CLIENT)


@cache
def _over_http(user: str) -> Forklore:
    """Return a client of the local server, where the token is the user's id."""
    key = environ.get("FORKLORE_CLIENT_KEY", "local-key")
    return Forklore(environ["FORKLORE_URL"], token=user, client_key=key)
