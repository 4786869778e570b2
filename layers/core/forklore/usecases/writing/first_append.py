"""Create a conversation by an append: a fork, a child or a root that begins with the entries."""

from forklore.domain import ids
from forklore.domain.model import Caller
from forklore.errors import NotFoundError
from forklore.storage.table import Table
from forklore.usecases.branches.children import ChildRequest, start_child
from forklore.usecases.branches.forks import ForkRequest, fork_with_entries
from forklore.usecases.branches.roots import RootRequest, create_root
from forklore.usecases.steps.append_answer import Appended, record_appended
from forklore.usecases.steps.drafts import require_own_context
from forklore.usecases.steps.idempotency import NO_GROUP, raise_if_recorded
from forklore.usecases.steps.syncing import Synced
from forklore.usecases.writing.append_request import Append, Fork, Start


def create_branch(table: Table, *, caller: Caller, request: Append) -> Appended | None:
    """Return what has created the fork or child that the request names.

    None: it names neither, or an id is in use or invalid.
    """
    if request.fork is not None:
        return _fork(table, caller, request, request.fork)
    if request.start is not None:
        return _start_child(table, caller, request, request.start)
    return None


def create_tree(table: Table, *, caller: Caller, request: Append) -> Appended | None:
    """Return what has created a root; None if its id is in use.

    Raises NotFoundError if the request names a source or a parent: `create_branch` found neither.
    Raises ForbiddenError for context from a plain user.
    """
    if request.fork is not None:
        raise NotFoundError("no such conversation to fork")
    if request.start is not None:
        raise NotFoundError("no such conversation to be started by")
    require_own_context(caller, request.drafts, request.context)
    if not request.drafts and request.context is not None and not request.context.content.value:
        return _create_nothing(table, caller, request)
    root = RootRequest(
        root_id=request.conversation_id,
        drafts=request.drafts,
        context=request.context,
        described=request.described,
        if_match=request.if_match,
    )
    return create_root(table, caller=caller, request=root, idempotency_key=request.idempotency_key)


def _fork(table: Table, caller: Caller, request: Append, fork: Fork) -> Appended | None:
    if not ids.is_uuid(fork.source_id):
        return None
    what = ForkRequest(
        source_id=fork.source_id,
        fork_id=request.conversation_id,
        anchor=fork.entry_id,
        position=fork.position,
        title=request.described.title,
        tags=request.described.tags,
        metadata=request.described.metadata,
        agent_id=request.drafts[0].agent_id,
        drafts=request.drafts,
        context=request.context,
        if_match=request.if_match,
        name=request.described.name,
        promotes=fork.promotes,
    )
    return fork_with_entries(table, caller=caller, request=what, idempotency_key=request.idempotency_key)


def _start_child(table: Table, caller: Caller, request: Append, start: Start) -> Appended | None:
    if not ids.is_uuid(start.parent_id):
        return None
    what = ChildRequest(
        parent_id=start.parent_id,
        child_id=request.conversation_id,
        entry_id=start.entry_id,
        drafts=request.drafts,
        context=request.context,
        described=request.described,
        if_match=request.if_match,
    )
    return start_child(table, caller=caller, request=what, idempotency_key=request.idempotency_key)


def _create_nothing(table: Table, caller: Caller, request: Append) -> Appended:
    """Return the answer to an empty context for a conversation that does not exist."""
    answer, key = Appended([], Synced(None, None, epoch_incremented=False)), request.idempotency_key
    record = record_appended(table, key, answer, group_id=NO_GROUP, conversation_id=request.conversation_id)
    refused = table.try_commit(record) if record else None
    if refused is not None:
        raise_if_recorded(table, key, refused, caller=caller)
    return answer
