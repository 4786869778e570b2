"""What methods hand on to the operation under them, for type checkers and completion.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class SayArguments(TypedDict, total=False):
    """What `say` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_key: str | None
    forked_at_position: Literal["before", "after", "head"] | None
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    promote: bool | None
    context: Mapping[str, Any] | None
    name: Mapping[str, Any] | None
    agent_id: str | None
    channel: str | None
    user_id: str | None
    epoch: int | None
    indexed_content: str | None
    merged_from_conversation_id: str | None
    merged_up_to_entry_id: str | None


class TurnArguments(TypedDict, total=False):
    """What `turn` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_key: str | None
    forked_at_position: Literal["before", "after", "head"] | None
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    promote: bool | None
    name: Mapping[str, Any] | None
    agent_id: str | None
    channel: str | None
    user_id: str | None
    epoch: int | None
    indexed_content: str | None
    merged_from_conversation_id: str | None
    merged_up_to_entry_id: str | None


class AppendArguments(TypedDict, total=False):
    """What `append` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_key: str | None
    forked_at_position: Literal["before", "after", "head"] | None
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    promote: bool | None
    context: Mapping[str, Any] | None
    name: Mapping[str, Any] | None
    agent_id: str | None
    channel: str | None
    user_id: str | None
    epoch: int | None
    key: str | None
    usage: Mapping[str, Any] | None
    indexed_content: str | None
    merged_from_conversation_id: str | None
    merged_up_to_entry_id: str | None
    idempotency_key: str | None
    if_match: str | None


class AppendAllArguments(TypedDict, total=False):
    """What `append_all` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    forked_at_conversation_id: str | None
    forked_at_entry_id: str | None
    forked_at_key: str | None
    forked_at_position: Literal["before", "after", "head"] | None
    started_by_conversation_id: str | None
    started_by_entry_id: str | None
    promote: bool | None
    context: Mapping[str, Any] | None
    name: Mapping[str, Any] | None
    idempotency_key: str | None
    if_match: str | None


class ForkArguments(TypedDict, total=False):
    """What `fork` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    id: str | None
    user_id: str | None
    agent_id: str | None
    at_key: str | None
    position: Literal["before", "after"] | None
    reset_metrics: bool | None
    idempotency_key: str | None
    if_match: str | None


class EntriesArguments(TypedDict, total=False):
    """What `entries` takes beside its own arguments."""

    up_to_entry_id: str | None
    all_forks: bool | None
    forks: Literal["all"] | None
    own: bool | None
    alternatives: bool | None
    epoch: Literal["latest", "all"] | int | None


class UpdateArguments(TypedDict, total=False):
    """What `update` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    user_id: str | None
    if_match: str | None


class MergeArguments(TypedDict, total=False):
    """What `merge` takes beside its own arguments."""

    after_entry_id: str | None
    up_to_entry_id: str | None
    idempotency_key: str | None
    if_match: str | None


class CopyArguments(TypedDict, total=False):
    """What `copy` takes beside its own arguments."""

    id: str | None
    title: str | None
    up_to_entry_id: str | None
    idempotency_key: str | None


class CreateArguments(TypedDict, total=False):
    """What `create` takes beside its own arguments."""

    title: str | None
    tags: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    id: str | None
    user_id: str | None
    agent_id: str | None
    idempotency_key: str | None


class ConversationsArguments(TypedDict, total=False):
    """What `conversations` takes beside its own arguments."""

    mode: Literal["latest-fork", "current", "roots", "all"] | None
    ancestry: Literal["roots", "children", "all"] | None
    archived: Literal["exclude", "include", "only"] | None
    query: str | None
    agent_id: str | None
    tag: str | None


class SearchArguments(TypedDict, total=False):
    """What `search` takes beside its own arguments."""

    search_type: Literal["auto", "fulltext", "semantic"] | Sequence[Literal["fulltext", "semantic"]] | None
    include_entry: bool | None
