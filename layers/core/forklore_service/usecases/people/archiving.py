"""Archive a fork tree, and unarchive it: for one of its members alone."""

from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.loading import load_conversation
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


def archive_conversation(table: Table, *, caller: Caller, conversation_id: str, is_archived: bool) -> None:
    """Archive the conversation's tree for the caller, or with `is_archived` False unarchive it.

    Nothing is written if it is so already. Raises NotFoundError, ForbiddenError if the caller is
    not a member.
    """
    for _ in attempts(table, CHANGE):
        loaded = load_conversation(table, conversation_id, caller=caller, minimum=AccessLevel.READER)
        if loaded.is_archived is is_archived:
            return
        archive = actions.member.archive(loaded.group, caller.user_id, is_archived=is_archived)
        if table.try_commit(archive) is None:
            return
    raise UnavailableError("the conversation is busy; try again")
