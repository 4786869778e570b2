"""Remove the bytes of an attachment, whoever shows it. For admins."""

from forklore_service.domain import keys
from forklore_service.errors import UnavailableError
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import let_go, not_found, require_objects
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


def remove_attachment(table: Table, *, attachment_id: str) -> None:
    """Delete the bytes. Entries that name the attachment stay, and nobody can name it again.

    Raises NotFoundError if there is none, and ConflictError if this deployment keeps none.
    """
    objects = require_objects(table)
    for _ in attempts(table, CHANGE):
        file = table.get([keys.file(attachment_id)]).file(attachment_id)
        if file is None:
            raise not_found(attachment_id)
        due = file.next_look(table.now_ms()) or table.now()
        if file.is_going or table.try_commit(actions.attachment.remove(file, due=due)) is None:
            break
    else:
        raise UnavailableError("the attachment keeps changing; try again")
    objects.delete(attachment_id)
    let_go(table, [attachment_id], waits=False)
