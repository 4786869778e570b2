"""The record of each line of an export, or the error of a line that no export has."""

from collections.abc import Callable
from typing import Any

from forklore_local.porting.failures import FormatError
from forklore_local.porting.fields import DESCRIPTION, ENTRY
from forklore_local.porting.lines import Line
from forklore_local.porting.records import (
    FORMAT,
    VERSION,
    Branch,
    ContextLine,
    End,
    EntryLine,
    Header,
    Kind,
    Parent,
    Record,
    Removed,
    Total,
    TreeStart,
)
from forklore_service.domain import ids
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Path, Segment, floor_of
from forklore_service.domain.epochs import Epoch
from forklore_service.domain.model import (
    NOTHING,
    Channel,
    Conversation,
    Description,
    Entry,
    EntryRef,
    ForkPoint,
    ForkPosition,
    Head,
    LastEntries,
    Metrics,
    TokenUsage,
    Transfer,
    Turn,
    Words,
)
from forklore_service.domain.names import Name, NameOwner, NameRef, is_name
from forklore_service.domain.tree import ClientContext, Member
from forklore_service.domain.users import is_user_id


def record_of(line: Line, group_id: str = "") -> Record:
    """Return the record of a line. group_id: the tree that it belongs to.

    Raises FormatError for a line that no export has.
    """
    read = _READ.get(line.kind)
    if read is None:
        raise FormatError(f"a line of this format has no type {line.kind[:40]!r}")
    record = read(line, group_id)
    line.end()
    return record


def _header(line: Line, _group_id: str) -> Header:
    if line.text("format") != FORMAT:
        raise FormatError("it is no export of a table")
    version = line.number("version")
    if version != VERSION:
        raise FormatError(f"it has version {version} of the format; this forklore reads version {VERSION}")
    return Header(line.uuid("exportId"), line.time("exportedAt"), _scope(line.object("scope")))


def _scope(line: Line) -> tuple[str, str]:
    for kind in ("owner", "tree"):
        if line.has(kind):
            return kind, line.text(kind)
    line.flag("everything")
    return "everything", ""


def _tree(line: Line, _group_id: str) -> TreeStart:
    return TreeStart(
        line.uuid("id"),
        _user(line, "owner"),
        line.time("createdAt"),
        line.uuid_or_none("currentConversationId"),
        Parent(
            line.uuid("startedByTreeId"),
            line.uuid("startedByConversationId"),
            line.entry_id_or_none("startedByEntryId"),
        )
        if line.has("startedByTreeId")
        else None,
        line.number("version"),
        line.number("promotions"),
        line.time("usedAt") if line.has("usedAt") else None,
    )


def _member(line: Line, _group_id: str) -> Member:
    return Member(
        _user(line, "userId"),
        _one_of(AccessLevel, line, "accessLevel"),
        line.time("createdAt"),
        line.flag("archived"),
    )


def _transfer(line: Line, group_id: str) -> Transfer:
    return Transfer(
        line.entry_id("id"),
        group_id,
        line.uuid("conversationId"),
        _user(line, "fromUserId"),
        _user(line, "toUserId"),
        line.time("createdAt"),
    )


def _name(line: Line, _group_id: str) -> Name:
    owner = NameOwner(_user(line, "userId"), _user(line, "clientId") if line.has("clientId") else None)
    name = line.text("name")
    if not is_name(name):
        raise FormatError("a name of this kind cannot be given")
    return Name(
        ref=NameRef(owner, name),
        conversation_id=line.uuid("conversationId"),
        revision=line.number("revision"),
        created_at=line.time("createdAt"),
        updated_at=line.time("updatedAt"),
        nonce="",
        data=line.raw("data"),
    )


def _branch(line: Line, group_id: str) -> Branch:
    path = _path(line)
    history, context = line.number("ownHistoryEntries"), line.number("ownContextEntries")
    floor = floor_of(path)
    last = line.entry_id_or_none("lastEntryId")
    first = line.entry_id_or_none("firstEntryId")
    if (history + context > 0) != (last is not None) or (first is None) != (last is None):
        raise FormatError("its number of entries does not agree with its first and last entry")
    fork = line.uuid_or_none("forkedAtConversationId")
    conversation = Conversation(
        conversation_id=line.uuid("id"),
        group_id=group_id,
        created_at=line.time("createdAt"),
        described=Description(**DESCRIPTION.read(line)),
        agent_id=line.text_or_none("agentId"),
        client_id=line.text_or_none("clientId"),
        fork_point=ForkPoint(
            fork, line.entry_id_or_none("forkedAtEntryId"), _one_of(ForkPosition, line, "forkedAtPosition")
        )
        if fork
        else None,
        titled_by=_user_or_nobody(line, "titledBy"),
    )
    head = Head(
        owner="",
        changed_at=line.time("changedAt"),
        floor=floor,
        first=first,
        last=last or floor,
        lasts=_lasts(line, "shownLast"),
        history=history,
        context=context,
        metrics=_metrics(line.object("metrics")),
        untitled=line.flag("untitled"),
        preview=Words(line.text("preview"), _user_or_nobody(line, "previewBy"))
        if line.has("preview")
        else None,
    )
    return Branch(conversation, head, path)


def _metrics(line: Line) -> Metrics:
    usage = ("inputTokens", "outputTokens", "cachedInputTokens", "costNanoUsd")
    metrics = Metrics(line.number("entries"), TokenUsage(*map(line.number, usage)))
    line.end()
    return metrics


def _removed(line: Line, group_id: str) -> Removed:
    conversation_id = line.uuid("id")
    created_at = line.time("createdAt") if line.has("createdAt") else None
    if (conversation_id == group_id) != (created_at is None):
        raise FormatError("a removed branch has the time of its creation if it is no root")
    return Removed(conversation_id, created_at, line.time("removedAt"), _path(line))


def _entry(line: Line, _group_id: str) -> EntryLine:
    entry_id, content = line.entry_id("id"), line.raw("content")
    if content is None:
        raise FormatError("an entry without 'content'")
    if line.time("createdAt") != ids.created_at(entry_id):
        raise FormatError("createdAt is not the time in the entry's id")
    channel = _one_of(Channel, line, "channel")
    plain = ENTRY.read(line)
    has_epoch = "epoch" in plain
    if (channel is Channel.CONTEXT) != has_epoch or (has_epoch and "client_id" not in plain):
        raise FormatError("context has a client and an epoch, history has no epoch")
    entry = Entry(
        entry_id=entry_id,
        conversation_id=line.uuid("conversationId"),
        user_id=_user(line, "userId"),
        channel=channel,
        content=content,
        after=_lasts(line, "shownBefore"),
        turn=_turn(line.object("turn")) if line.has("turn") else None,
        merged_from=_reference(line, "mergedFromConversationId", "mergedUpToEntryId"),
        copied_from=_reference(line, "copiedFromConversationId", "copiedFromEntryId"),
        **plain,
    )
    return EntryLine(entry, line.number("answerBytes"))


def _turn(line: Line) -> Turn:
    turn = Turn(
        line.entry_id("firstEntryId"),
        line.entry_id("lastEntryId"),
        _lasts(line, "shownBefore"),
        _lasts(line, "shownAfter"),
    )
    line.end()
    return turn


def _context(line: Line, _group_id: str) -> ContextLine:
    digest = line.digest_or_none("digest")
    epoch = Epoch(line.number("epoch"), line.entry_id("firstEntryId"), digest)
    context = ClientContext(epoch, last=line.entry_id("lastEntryId"), entries=line.number("ownEntries"))
    return ContextLine(line.uuid("conversationId"), _user(line, "clientId"), context)


def _end(line: Line, _group_id: str) -> End:
    return End(line.uuid("id"), line.number("conversations"), line.number("entries"), line.text("sha256"))


def _total(line: Line, _group_id: str) -> Total:
    trees, conversations, entries = map(line.number, ("trees", "conversations", "entries"))
    return Total(trees, conversations, entries, line.text("sha256"))


def _path(line: Line) -> Path:
    segments = []
    for one in line.objects("path"):
        segments.append(Segment(one.uuid("conversationId"), one.entry_id("before")))
        one.end()
    stops = [segment.stop for segment in segments]
    owners = {segment.conversation_id for segment in segments}
    if stops != sorted(set(stops)) or len(owners) < len(segments):
        raise FormatError("the stops of a path ascend, and it names no conversation twice")
    return tuple(segments)


def _lasts(line: Line, name: str) -> LastEntries:
    if not line.has(name):
        return NOTHING
    held = line.object(name)
    lasts = LastEntries(held.entry_id_or_none("history"), held.entry_id_or_none("context"))
    held.end()
    return lasts


def _reference(line: Line, conversation: str, entry: str) -> EntryRef | None:
    conversation_id = line.uuid_or_none(conversation)
    if conversation_id is None:
        return None
    return EntryRef(conversation_id, line.entry_id_or_none(entry))


def _user(line: Line, name: str) -> str:
    value = line.text(name)
    if not is_user_id(value):
        raise FormatError(f"{name} cannot be {value[:60]!r}")
    return value


def _user_or_nobody(line: Line, name: str) -> str:
    return _user(line, name) if line.has(name) else ""


def _one_of(values: Any, line: Line, name: str) -> Any:
    text = line.text(name)
    try:
        return values(text)
    except ValueError as error:
        raise FormatError(f"{name} cannot be {text[:60]!r}") from error


_READ: dict[str, Callable[[Line, str], Record]] = {
    Kind.HEADER: _header,
    Kind.TREE: _tree,
    Kind.MEMBER: _member,
    Kind.TRANSFER: _transfer,
    Kind.NAME: _name,
    Kind.CONVERSATION: _branch,
    Kind.REMOVED: _removed,
    Kind.ENTRY: _entry,
    Kind.CONTEXT: _context,
    Kind.END: _end,
    Kind.TOTAL: _total,
}
