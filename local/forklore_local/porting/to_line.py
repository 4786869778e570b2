"""The line of each record of an export. See `docs/formats.md`."""

from typing import Any

from forklore_local.porting.fields import DESCRIPTION, ENTRY
from forklore_local.porting.lines import Raw, written
from forklore_local.porting.records import (
    FORMAT,
    VERSION,
    Branch,
    ContextLine,
    End,
    EntryLine,
    Header,
    Kind,
    Record,
    Removed,
    Total,
    TreeStart,
)
from forklore_service.domain import ids
from forklore_service.domain.ancestry import Path
from forklore_service.domain.model import LastEntries, Transfer, Turn
from forklore_service.domain.names import Name
from forklore_service.domain.tree import Member


def line_of(record: Record) -> bytes:
    """Return the line of a record."""
    match record:
        case Header():
            kind, named = record.scope
            scope = {kind: named or True}
            given = {"exportId": record.export_id, "exportedAt": record.exported_at, "scope": scope}
            return written(Kind.HEADER, {"format": FORMAT, "version": VERSION, **given})
        case TreeStart():
            parent = record.parent
            return written(
                Kind.TREE,
                {
                    "id": record.group_id,
                    "owner": record.owner,
                    "createdAt": record.created_at,
                    "currentConversationId": record.promoted,
                    "startedByTreeId": parent.group_id if parent else None,
                    "startedByConversationId": parent.conversation_id if parent else None,
                    "startedByEntryId": parent.entry_id if parent else None,
                    "version": record.version,
                    "promotions": record.promotions,
                    "usedAt": record.used_at,
                },
            )
        case Member():
            return written(
                Kind.MEMBER,
                {
                    "userId": record.user_id,
                    "accessLevel": record.level,
                    "createdAt": record.created_at,
                    "archived": record.is_archived or None,
                },
            )
        case Transfer():
            return written(
                Kind.TRANSFER,
                {
                    "id": record.transfer_id,
                    "conversationId": record.conversation_id,
                    "fromUserId": record.from_user_id,
                    "toUserId": record.to_user_id,
                    "createdAt": record.created_at,
                },
            )
        case Name():
            return _name_line(record)
        case Branch():
            return written(Kind.CONVERSATION, _branch_members(record))
        case Removed():
            return written(
                Kind.REMOVED,
                {
                    "id": record.conversation_id,
                    "createdAt": record.created_at,
                    "removedAt": record.removed_at,
                    "path": _path_members(record.path),
                },
            )
        case EntryLine():
            return written(Kind.ENTRY, _entry_members(record))
        case ContextLine():
            return written(
                Kind.CONTEXT,
                {
                    "conversationId": record.conversation_id,
                    "clientId": record.client_id,
                    "epoch": record.context.epoch.number,
                    "firstEntryId": record.context.epoch.first,
                    "lastEntryId": record.context.last,
                    "ownEntries": record.context.entries,
                    "digest": record.context.epoch.digest.hex() if record.context.epoch.digest else None,
                },
            )
        case End():
            counts = {"conversations": record.conversations, "entries": record.entries}
            return written(Kind.END, {"id": record.group_id, **counts, "sha256": record.sha256})
        case Total():
            counts = {"conversations": record.conversations, "entries": record.entries}
            return written(Kind.TOTAL, {"trees": record.trees, **counts, "sha256": record.sha256})


def _name_line(name: Name) -> bytes:
    return written(
        Kind.NAME,
        {
            "userId": name.ref.owner.user_id,
            "clientId": name.ref.owner.client_id,
            "name": name.ref.name,
            "conversationId": name.conversation_id,
            "revision": name.revision,
            "createdAt": name.created_at,
            "updatedAt": name.updated_at,
            "data": Raw(name.data) if name.data is not None else None,
        },
    )


def _branch_members(branch: Branch) -> dict[str, Any]:
    one, head = branch.conversation, branch.head
    fork, usage = one.fork_point, head.metrics.usage
    return {
        "id": one.conversation_id,
        **DESCRIPTION.members(one.described),
        "agentId": one.agent_id,
        "clientId": one.client_id,
        "createdAt": one.created_at,
        "forkedAtConversationId": fork.conversation_id if fork else None,
        "forkedAtEntryId": fork.entry_id if fork else None,
        "forkedAtPosition": fork.position if fork else None,
        "path": _path_members(branch.path),
        "changedAt": head.changed_at,
        "untitled": head.untitled or None,
        "titledBy": one.titled_by or None,
        "preview": head.preview.text if head.preview else None,
        "previewBy": (head.preview.by or None) if head.preview else None,
        "firstEntryId": head.first,
        "lastEntryId": head.last if head.own_entries else None,
        "shownLast": _lasts_members(head.lasts),
        "ownHistoryEntries": head.history,
        "ownContextEntries": head.context,
        "metrics": {
            "entries": head.metrics.entries,
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cachedInputTokens": usage.cached_input_tokens,
            "costNanoUsd": usage.cost_nano_usd,
        },
    }


def _path_members(path: Path) -> list[dict[str, str]]:
    return [{"conversationId": segment.conversation_id, "before": segment.stop} for segment in path]


def _lasts_members(lasts: LastEntries) -> dict[str, str]:
    held = {"history": lasts.history, "context": lasts.context}
    return {name: entry_id for name, entry_id in held.items() if entry_id is not None}


def _entry_members(said: EntryLine) -> dict[str, Any]:
    entry, turn = said.entry, said.entry.turn
    merged, copied = entry.merged_from, entry.copied_from
    return {
        "id": entry.entry_id,
        "conversationId": entry.conversation_id,
        "userId": entry.user_id,
        "channel": entry.channel,
        **ENTRY.members(entry),
        "createdAt": ids.created_at(entry.entry_id),
        "content": Raw(entry.content),
        "mergedFromConversationId": merged.conversation_id if merged else None,
        "mergedUpToEntryId": merged.entry_id if merged else None,
        "copiedFromConversationId": copied.conversation_id if copied else None,
        "copiedFromEntryId": copied.entry_id if copied else None,
        "shownBefore": _lasts_members(entry.after),
        "turn": _turn_members(turn) if turn else None,
        "answerBytes": said.size,
    }


def _turn_members(turn: Turn) -> dict[str, Any]:
    held = {"firstEntryId": turn.first, "lastEntryId": turn.last}
    return {**held, "shownBefore": _lasts_members(turn.before), "shownAfter": _lasts_members(turn.after)}
