"""Arguments that several methods of a conversation take, for type checkers and completion."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from forklore.client.results import Entry

Role = Literal["user", "human", "ai", "assistant", "system"]
"""Who says a message. The service knows three: `user`, `ai` and `system`."""


class NewConversation(TypedDict, total=False):
    """What a conversation is, if the append makes it."""

    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_position: Literal["before", "after", "head"] | None
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    promote: bool | None
    name: Mapping[str, Any] | None


class OneEntry(NewConversation, total=False):
    """What an append of one entry takes in any case."""

    user_id: str | None
    agent_id: str | None
    indexed_content: str | None
    merged_from_conversation_id: str | None
    merged_up_to_entry_id: str | None
    channel: str | None
    epoch: int | None


class Said(OneEntry, total=False):
    """What `say` takes beside its own arguments."""

    context: Mapping[str, Any] | None


class Turned(OneEntry, total=False):
    """What `turn` takes beside its own arguments."""

    key: str | None
    if_last: Entry | str | None
    idempotency_key: str | None


class Appended(OneEntry, total=False):
    """What `append` takes beside its own arguments."""

    context: Mapping[str, Any] | None
    key: str | None
    usage: Mapping[str, Any] | None
    if_match: str | None
    idempotency_key: str | None


class AppendedTogether(NewConversation, total=False):
    """What `append_all` takes beside the entries."""

    context: Mapping[str, Any] | None
    if_match: str | None
    idempotency_key: str | None
