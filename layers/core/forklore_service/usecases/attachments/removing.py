"""Remove the bytes of an attachment, whoever shows it. For admins."""

from forklore_service.domain import keys
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import let_go, not_found, require_objects


def remove_attachment(table: Table, *, attachment_id: str) -> None:
    """Delete the bytes. Entries that name the attachment stay, and nobody can name it again.

    Raises NotFoundError if there is none, and ConflictError if this deployment keeps none.
    """
    objects = require_objects(table)
    if table.get([keys.file(attachment_id)]).file(attachment_id) is None:
        raise not_found(attachment_id)
    table.try_commit(actions.attachment.remove(attachment_id, at=table.now()))
    objects.delete(attachment_id)
    let_go(table, [attachment_id], waits=False)
