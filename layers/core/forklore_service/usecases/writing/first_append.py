"""Create a conversation by an append: a fork, a child or a root that begins with the entries."""

from forklore_service.domain import ids
from forklore_service.domain.model import Caller
from forklore_service.errors import NotFoundError
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.children import start_child
from forklore_service.usecases.branches.forks import fork_with_entries
from forklore_service.usecases.branches.roots import create_root
from forklore_service.usecases.shared.appended import Appended, record_appended
from forklore_service.usecases.shared.drafts import require_own_context
from forklore_service.usecases.shared.idempotency import NO_GROUP, Once
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.shared.syncing import Synced


def create_branch(table: Table, *, caller: Caller, request: Append) -> Appended | None:
    """Return what has created the fork or child that the request names.

    None: it names neither, or an id is in use or invalid.
    """
    fork, start = request.fork, request.start
    if fork is not None and ids.is_uuid(fork.source_id):
        return fork_with_entries(table, caller=caller, request=request, fork=fork)
    if start is not None and ids.is_uuid(start.conversation_id):
        return start_child(table, caller=caller, request=request, start=start)
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
    if not request.drafts and request.context is not None and not request.context.value:
        return _create_nothing(table, caller, request)
    return create_root(table, caller=caller, request=request)


def _create_nothing(table: Table, caller: Caller, request: Append) -> Appended:
    """Return the answer to an empty context for a conversation that does not exist."""
    nothing = Synced(None, None, epoch_incremented=False, last=None)
    answer, once = Appended([], nothing), Once(table, caller, request.idempotency_key)
    record = record_appended(once, answer, group_id=NO_GROUP, conversation_id=request.conversation_id)
    refused = table.try_commit(record) if record else None
    if refused is not None:
        once.raise_if_recorded(refused)
    return answer
