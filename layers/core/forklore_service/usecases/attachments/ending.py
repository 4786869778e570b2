"""The end of an upload: what entries name stays, and what none has named for a day goes."""

from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import let_go


def end_upload(table: Table, attachment_id: str) -> None:
    """Remove an attachment that no entry names, and end the job of its upload."""
    let_go(table, [attachment_id])
    table.try_commit(actions.attachment.settle(attachment_id))
