"""Answers: domain values as fields of JSON objects. Content keeps the spelling that was sent."""

from collections.abc import Sequence
from typing import Any

from forklore.domain import ids
from forklore.domain.erasures import Erasure
from forklore.domain.jsontext import JsonText
from forklore.domain.model import Caller, Conversation, Entry, EntryRef, ForkPoint, Metrics, Transfer
from forklore.usecases.ancestors import Ancestor
from forklore.usecases.appended import Appended
from forklore.usecases.comparing import Comparison
from forklore.usecases.entries import EntryPage
from forklore.usecases.loading import ConversationDetails
from forklore.usecases.names import ShownName
from forklore.usecases.search import Hit
from forklore.usecases.sharing import Membership
from forklore.usecases.syncing import Synced


def _present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _text(json_text: str) -> JsonText:
    return JsonText(json_text, None)


def entry(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry."""
    return _present(
        id=entry.entry_id,
        conversationId=entry.conversation_id,
        userId=entry.user_id,
        clientId=entry.client_id,
        agentId=entry.agent_id,
        channel=entry.channel,
        epoch=entry.epoch,
        key=entry.key,
        contentType=entry.content_type,
        content=_text(entry.content),
        erased=entry.is_erased or None,
        usage=_text(entry.usage_json) if entry.usage_json else None,
        **_ref(entry.merged_from, "mergedFromConversationId", "mergedUpToEntryId"),
        **_ref(entry.copied_from, "copiedFromConversationId", "copiedFromEntryId"),
        createdAt=ids.created_at(entry.entry_id),
    )


def _ref(ref: EntryRef | None, conversation: str, entry: str) -> dict[str, Any]:
    """Return what an entry names under these names; nothing if it names nothing."""
    return {} if ref is None else _present(**{conversation: ref.conversation_id, entry: ref.entry_id})


def hit(hit: Hit, *, with_entry: bool) -> dict[str, Any]:
    """Return the fields of what a search has found. with_entry: whether they hold the entry."""
    return {
        "conversationId": hit.conversation.conversation_id,
        "conversationTitle": hit.conversation.title,
        "entryId": hit.entry.entry_id,
        "createdAt": ids.created_at(hit.entry.entry_id),
        "highlights": hit.highlights,
        **({"entry": entry(hit.entry)} if with_entry else {}),
    }


def entry_page(page: EntryPage) -> dict[str, Any]:
    """Return the fields of a page of entries."""
    return {
        "data": [
            {**entry(one), **_present(alternatives=page.alternatives.get(one.entry_id))}
            for one in page.entries
        ],
        "afterCursor": page.after,
        "beforeCursor": page.before,
        **_present(alternativesAtEnd=page.alternatives_at_end),
    }


def comparison(comparison: Comparison) -> dict[str, Any]:
    """Return the fields of a comparison of two conversations."""
    return {
        "base": {"entryId": comparison.base},
        "branches": [
            {
                "conversationId": branch.conversation_id,
                "data": [entry(one) for one in branch.entries],
                "afterCursor": branch.after,
            }
            for branch in comparison.branches
        ],
    }


def ancestor(ancestor: Ancestor) -> dict[str, Any]:
    """Return the fields of an ancestor."""
    return _present(
        conversationId=ancestor.conversation_id,
        title=ancestor.title,
        removed=ancestor.is_removed or None,
        inheritedUpToEntryId=ancestor.up_to,
    )


def appended(appended: Appended, *, is_batch: bool) -> dict[str, Any]:
    """Return the fields of an append's result. is_batch: whether the request had `entries`."""
    data = [entry(one) for one in appended.entries]
    context = {} if appended.synced is None else {"context": synced(appended.synced)}
    return {**({"data": data} if is_batch else data[0]), **context}


def synced(synced: Synced) -> dict[str, Any]:
    """Return the fields of a sync's result."""
    return {
        "epoch": synced.epoch,
        "noOp": synced.no_op,
        "epochIncremented": synced.epoch_incremented,
        "entry": None if synced.entry is None else entry(synced.entry),
    }


def _metrics(metrics: Metrics) -> dict[str, Any]:
    return {
        "entries": metrics.entries,
        "inputTokens": metrics.usage.input_tokens,
        "outputTokens": metrics.usage.output_tokens,
        "cachedInputTokens": metrics.usage.cached_input_tokens,
        "costUsd": _text(_dollars(metrics.usage.cost_nano_usd)),
    }


def _dollars(nano: int) -> str:
    """Return dollars as exact decimal text. nano: billionths of a dollar.

    >>> _dollars(1_500_000_000), _dollars(3), _dollars(2_000_000_000)
    ('1.5', '0.000000003', '2')
    """
    whole, rest = divmod(nano, 10**9)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _fork_point(point: ForkPoint | None) -> dict[str, Any]:
    if point is None:
        return {}
    return _present(
        forkedAtConversationId=point.conversation_id,
        forkedAtEntryId=point.entry_id,
        forkedAtPosition=point.position,
    )


def conversation_for(caller: Caller, details: ConversationDetails) -> dict[str, Any]:
    """Return a conversation's fields for a member or an administrator.

    An administrator also sees the client that the conversation's context is bound to.
    """
    if not caller.bypasses_membership:
        return conversation(details)
    return {**conversation(details), **_present(clientId=details.conversation.client_id)}


def conversation(details: ConversationDetails) -> dict[str, Any]:
    """Return a conversation's fields for a member. They include no group id and no client id."""
    c, head = details.conversation, details.head
    return {
        "id": c.conversation_id,
        "title": c.title,
        "ownerUserId": details.owner,
        "accessLevel": details.level,
        "isCurrent": details.is_current,
        **_present(agentId=c.agent_id),
        "tags": dict(c.tags),
        "metadata": _text(c.metadata),
        "createdAt": c.created_at,
        "updatedAt": head.updated_at,
        **_present(lastMessagePreview=head.preview),
        **_fork_point(c.fork_point),
        **(
            _present(
                startedByConversationId=c.started_by.conversation_id,
                startedByEntryId=c.started_by.entry_id,
            )
            if c.started_by
            else {}
        ),
        "metrics": _metrics(head.metrics),
    }


def conversation_alone(made: Sequence[ConversationDetails]) -> dict[str, Any]:
    """Return the fields of the one conversation that was made."""
    [details] = made
    return conversation(details)


def conversations(made: Sequence[ConversationDetails]) -> dict[str, Any]:
    """Return the fields of several conversations that were made together."""
    return {"data": [conversation(details) for details in made]}


def membership(membership: Membership) -> dict[str, Any]:
    """Return the fields of a membership."""
    return {
        "conversationId": membership.conversation_id,
        "userId": membership.member.user_id,
        "accessLevel": membership.member.level,
        "createdAt": membership.member.created_at,
    }


def transfer(transfer: Transfer) -> dict[str, Any]:
    """Return the fields of a pending transfer."""
    return {
        "id": transfer.transfer_id,
        "conversationId": transfer.conversation_id,
        "fromUserId": transfer.from_user_id,
        "toUserId": transfer.to_user_id,
        "createdAt": transfer.created_at,
    }


def name_for(caller: Caller, shown: ShownName) -> dict[str, Any]:
    """Return a name's fields. An administrator also sees whose it is."""
    if not caller.bypasses_membership:
        return name(shown)
    owner = shown.name.ref.owner
    return {**name(shown), "userId": owner.user_id, **_present(clientId=owner.client_id)}


def name(shown: ShownName) -> dict[str, Any]:
    """Return the fields of a name."""
    name = shown.name
    return {
        "name": name.ref.name,
        "conversationId": name.conversation_id,
        "revision": name.revision,
        "data": _text(name.data or "{}"),
        "createdAt": name.created_at,
        "updatedAt": name.updated_at,
        **({"deleted": True} if shown.is_deleted else {}),
    }


def erasure(erasure: Erasure) -> dict[str, Any]:
    """Return the fields of an erasure. They never name the user."""
    return _present(
        id=erasure.erasure_id,
        state="done" if erasure.is_done else "running",
        pseudonym=erasure.pseudonym,
        trees=erasure.trees,
        memberships=erasure.memberships,
        entries=erasure.entries,
        passes=erasure.passes,
        createdAt=erasure.created_at,
        finishedAt=erasure.finished_at,
    )


def fork(conversation: Conversation, *, is_current: bool) -> dict[str, Any]:
    """Return a conversation's fields in a list of forks."""
    return {
        "conversationId": conversation.conversation_id,
        "title": conversation.title,
        **_fork_point(conversation.fork_point),
        "isCurrent": is_current,
        "createdAt": conversation.created_at,
    }
