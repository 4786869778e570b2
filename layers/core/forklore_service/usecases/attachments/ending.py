"""The end of an upload: what entries name stays, and what none has named for a day goes."""

from forklore_service.domain import keys
from forklore_service.domain.model import JobKind
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import let_go


def end_upload(table: Table, attachment_id: str) -> None:
    """Remove an attachment that no entry names, and end the job of its upload.

    Whoever removes the last entry later finds the attachment by that entry.
    """
    let_go(table, [attachment_id])
    file = table.get([keys.file(attachment_id)]).file(attachment_id)
    if file is None or not file.is_going:
        table.try_commit([actions.job.delete(JobKind.UPLOAD, attachment_id)])
