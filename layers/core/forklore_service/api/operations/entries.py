"""Append entries, and page through what a conversation sees."""

from typing import TYPE_CHECKING, Any

from forklore_service.api import answers, cursors, entry_requests
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.domain import content, ids
from forklore_service.domain.attachments import NamedFile
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import Channel, Description, Entry, EntryRef, ForkPosition, StartedBy
from forklore_service.domain.names import NameMove
from forklore_service.errors import (
    ForkLimitError,
    ForkTooDeepError,
    GroupFullError,
    NameMovedError,
    ValidationError,
)
from forklore_service.usecases.reading import ancestors, comparing, entries, entry_lookup
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append, Fork
from forklore_service.usecases.writing import append

if TYPE_CHECKING:
    from forklore_service.api import admin_requests  # only the functions with administration load it


def append_entry(request: CheckedRequest) -> answers.Appended:
    """Append one entry, or several at once; a conversation that does not exist is created.

    For writers. An unknown conversation is created; with `forkedAtConversationId` as a fork,
    with `startedByConversationId` as a child. `If-Match` appends only behind the entry that it
    names, and `promote` makes the conversation its tree's current branch. Only agents may write to
    the `context` channel, and give `context`: their whole present context, which is synced in the
    same step.
    """
    body: entry_requests.AppendEntry | entry_requests.AppendEntries = request.body.root
    appended = append.append_turn(
        request.table,
        caller=request.caller,
        request=append_of(
            request,
            body,
            conversation_id=_id_that_may_be_new(request),
            key=request.idempotency_key(),
            name=body.name.of(request.caller) if body.name else None,
        ),
    )
    return answers.appended(appended, is_batch=body.is_batch)


def append_of(
    request: CheckedRequest,
    body: entry_requests.AppendFields,
    *,
    conversation_id: str,
    key: IdempotencyKey | None,
    name: NameMove | None = None,
) -> Append:
    """Return the append that a body describes. name: moves to the fork that it creates."""
    parent_id, by = body.started_by_conversation_id, body.started_by_entry_id
    return Append(
        conversation_id=conversation_id,
        drafts=[_draft(request, fields) for fields in body.drafts],
        context=_present(body.context) if body.context else None,
        fork=_fork(body),
        start=None if parent_id is None else StartedBy(parent_id, None if by is None else EntryId(by)),
        described=Description(**body.said),
        name=name,
        promotes=body.promote is True,
        finishes=body.answer_id,
        if_match=None if request.if_match is None else EntryId(request.if_match),
        idempotency_key=key,
    )


def _fork(body: entry_requests.NewByAppend) -> Fork | None:
    if body.forked_at_conversation_id is None:
        return None
    entry_id, key, named = body.forked_at_entry_id, body.forked_at_key, body.forked_at_position
    if entry_id is None and key is None:
        position = ForkPosition.BLANK if named is None else ForkPosition.AFTER
    else:
        position = ForkPosition(named or ForkPosition.BEFORE)
    anchor = None if entry_id is None else EntryId(entry_id)
    return Fork(body.forked_at_conversation_id, anchor, position, key)


_SHARED = frozenset(Entry._fields) - {"channel", "content", "user_id"}
"""The fields of an entry that a body has under the same name and with the same meaning."""


def _said(fields: entry_requests.ContentFields, channel: Channel, **more: Any) -> Draft:
    """Return what is said in the fields. more: what an entry or a draft has by another name."""
    told = fields.__dict__
    shared = {name: told[name] for name in _SHARED if name in told}
    usage = shared.get("usage")
    used = None if usage is None else entry_requests.usage_of(usage)
    texts: dict[str, Any] = {
        name: held.text if isinstance(held, JsonText) else held for name, held in shared.items()
    }
    return Draft.of(channel, content=fields.content, used=used, **texts, **more)


def _present(fields: entry_requests.PresentContext) -> Draft:
    content.check_elements(fields.content.value)
    return _said(fields, Channel.CONTEXT, based_on=fields.based_on_entry_id)


def _draft(request: CheckedRequest, fields: entry_requests.EntryFields) -> Draft:
    request.require_own(fields.user_id)
    channel = fields.channel or Channel.HISTORY
    says_history = fields.channel is None and content.is_history_type(fields.content_type)
    files: list[NamedFile] = []
    if fields.channel is Channel.HISTORY or says_history:
        content.check_history(fields.content_type, fields.content.value)
        files = content.named_files(fields.content.value)
    else:
        content.check_elements(fields.content.value)
    if fields.epoch is not None and channel is not Channel.CONTEXT:
        raise ValidationError("epoch is for the context channel only", field="epoch")
    if fields.indexed_content is not None and channel is not Channel.HISTORY:
        raise ValidationError("indexedContent is for the history channel only", field="indexedContent")
    merged, up_to = fields.merged_from_conversation_id, fields.merged_up_to_entry_id
    merged_from = None if merged is None else EntryRef(merged, None if up_to is None else EntryId(up_to))
    return _said(fields, channel, merged_from=merged_from, files=files)


def list_entries(request: CheckedRequest) -> answers.EntryPage:
    """List what a conversation shows, oldest first; with `allForks` every entry of its fork
    tree.

    For every member. The cursors are ids of entries. `tail` gives the page at the end, still
    the oldest first. Users see the history; agents their own context as well. With
    `alternatives`, each history entry names the conversations that go on differently before it.
    With `view` = `line` each entry has a `line` in place of its content.
    """
    query: entry_requests.ListEntries | admin_requests.AdminListEntries = request.query
    page = entries.list_entries(
        request.table,
        caller=request.caller,
        request=entries.ListEntriesRequest(
            conversation_id=request.conversation_id,
            start=entries.PageStart(
                cursors.to_position(query.after_cursor),
                cursors.to_position(query.before_cursor),
                query.tail,
            ),
            limit=query.limit,
            channel=query.channel,
            epoch=query.epoch or "latest",
            up_to=cursors.to_position(query.up_to_entry_id),
            all_forks=query.all_forks or query.forks is not None,
            own=query.own,
            alternatives=query.alternatives,
            as_lines=query.view == "line",
        ),
    )
    return answers.entry_page(page)


def get_entry(request: CheckedRequest) -> answers.Entry:
    """Show one entry that a conversation shows.

    For every member. Context is shown only to the agent that it belongs to.
    """
    entry = entries.get_entry(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        entry_id=request.path["entryId"],
    )
    return answers.entry(entry)


def compare(request: CheckedRequest) -> answers.Comparison:
    """Compare two conversations of a fork tree: where they part, and how each goes on.

    For every member. `base` is the last history entry that both show. `data` begins after it;
    `listEntries` with `channel=history` goes on from an `afterCursor`.
    """
    query: entry_requests.Compare = request.query
    comparison = comparing.compare(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        other_id=query.with_,
        limit=query.limit,
    )
    return answers.comparison(comparison)


def list_ancestors(request: CheckedRequest) -> answers.Ancestors:
    """List the conversations whose entries a conversation shows, the oldest first, and itself.

    For every member.
    """
    found = ancestors.list_ancestors(
        request.table, caller=request.caller, conversation_id=request.conversation_id
    )
    return {"data": [answers.ancestor(one) for one in found]}


def look_entry_up(request: CheckedRequest) -> answers.Entry:
    """Show the entry that a conversation shows under a key.

    For every member. Of several entries the nearest is shown: one of the conversation itself before
    an inherited one.
    """
    query: entry_requests.EntryOfKey = request.query
    entry = entry_lookup.look_entry_up(
        request.table, caller=request.caller, conversation_id=request.conversation_id, key=query.key
    )
    return answers.entry(entry)


def sync_context(request: CheckedRequest) -> answers.Synced:
    """Bring an agent's stored context to its present one: nothing, the rest, or a new epoch is
    written.

    For agents: authorize with an API key as well (`client`). `content` is the whole present
    context; the service compares it with the stored one and writes the difference.
    """
    body: entry_requests.SyncContext = request.body
    conversation_id = _id_that_may_be_new(request)
    request.require_own(body.user_id)
    synced = append.sync_context(
        request.table,
        caller=request.caller,
        conversation_id=conversation_id,
        draft=_present(body),
        idempotency_key=request.idempotency_key(),
    )
    return answers.synced(synced)


def _id_that_may_be_new(request: CheckedRequest) -> str:
    """Return the conversation in the path, which the request may create."""
    conversation_id = request.path["conversationId"]
    if not ids.is_uuid(conversation_id):
        raise ValidationError("the conversation's id must be a lower-case UUID", field="conversationId")
    return conversation_id


_ONE = "/v1/conversations/{conversationId}"
APPEND_PATH = f"{_ONE}/entries"

OPERATIONS = (
    Operation(
        "appendEntry",
        "POST",
        APPEND_PATH,
        append_entry,
        status=201,
        body=entry_requests.Append,
        errors=(403, 404, 409, 413),
        own_errors=(ForkTooDeepError, ForkLimitError, GroupFullError, NameMovedError),
        takes_if_match=True,
    ),
    Operation(
        "syncContext",
        "POST",
        f"{APPEND_PATH}/sync",
        sync_context,
        body=entry_requests.SyncContext,
        errors=(403, 404, 409, 413),
        own_errors=(GroupFullError,),
    ),
    Operation(
        "lookUpEntry",
        "GET",
        f"{APPEND_PATH}/lookup",
        look_entry_up,
        query=entry_requests.EntryOfKey,
        errors=(403, 404),
    ),
    Operation(
        "listEntries",
        "GET",
        APPEND_PATH,
        list_entries,
        query=entry_requests.ListEntries,
        errors=(403, 404),
    ),
    Operation(
        "getEntry",
        "GET",
        f"{APPEND_PATH}/{{entryId}}",
        get_entry,
        errors=(403, 404),
    ),
    Operation(
        "compareConversations",
        "GET",
        f"{_ONE}/compare",
        compare,
        query=entry_requests.Compare,
        errors=(403, 404),
    ),
    Operation(
        "listAncestors",
        "GET",
        f"{_ONE}/ancestors",
        list_ancestors,
        errors=(403, 404),
    ),
)
