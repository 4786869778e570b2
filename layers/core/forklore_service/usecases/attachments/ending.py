"""The end of an upload: what entries name stays, and what none has named for a day goes.

Bytes can be sent for as long as an upload waits for an entry. So the bytes of what was let go or
removed meanwhile are deleted once more.
"""

from forklore_service.domain import keys
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import a_day_ago, let_go


def end_upload(table: Table, attachment_id: str) -> None:
    """Remove an attachment that no entry names, and end the job of its upload.

    Whoever removes the last entry later finds the attachment by that entry.
    """
    let_go(table, [attachment_id])
    file = table.get([keys.file(attachment_id)]).file(attachment_id)
    if file is not None and file.is_removed:
        if table.objects is None:
            return  # the sweep of a deployment that keeps attachments goes on
        table.objects.delete(attachment_id)
    table.try_commit(actions.attachment.settle(attachment_id, asked_before=a_day_ago(table)))
