"""What the sweep does about an attachment: what entries name stays, and what none has named goes.

Bytes may arrive for as long as an address for them is valid, and longer. So the bytes of what was
let go or removed meanwhile are deleted once more.
"""

from contextlib import suppress

from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import PENDING_SECONDS, File
from forklore_service.storage import actions
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.attachments import a_day_ago, let_go

PUT_OFF_SECONDS = 3600
"""After so long what could not be done is tried again. Until then it is in no other job's way."""


def end_upload(table: Table, attachment_id: str, due: str | None) -> None:
    """Do what an attachment's job is for: remove what no entry names, and what was removed.

    The job ends with that, or moves to when there is more to do. Whoever removes the last entry
    later finds the attachment by that entry. due: of the job.
    """
    file = _file(table, attachment_id)
    forget = actions.attachment.forget_job(attachment_id, due=due)
    if file is None or file.due != due:
        table.try_commit([forget])
        return
    if due is None:  # an earlier version has put the job
        table.try_commit([*actions.attachment.look_later(file, due=table.now()), forget])
        return
    let_go(table, [attachment_id])
    file = _file(table, attachment_id)
    if file is None or file.due != due:
        return
    next_look = _next_look(table, file)
    if next_look is None:
        table.try_commit(actions.attachment.settle(file, asked_before=a_day_ago(table)))
    elif next_look != due:
        table.try_commit(actions.attachment.look_later(file, due=next_look))


def put_off(table: Table, attachment_id: str, due: str | None, *, since: str) -> None:
    """Try again in an hour what an attachment's job is for, which has failed.

    due: of the job when it was read; it may have moved. since: since when it is due.
    """
    file = File(attachment_id, "", due=due)
    with suppress(ArithmeticError, LookupError, TypeError, ValueError):  # its item may be damaged
        file = _file(table, attachment_id) or file
    at = ids.timestamp(table.now_ms() + PUT_OFF_SECONDS * 1000)
    table.try_commit(actions.attachment.look_later(file, due=at, since=since))


def _file(table: Table, attachment_id: str) -> File | None:
    return table.get([keys.file(attachment_id)]).file(attachment_id)


def _next_look(table: Table, file: File) -> str | None:
    """Return when there is more to do about an attachment that is there; None: nothing is."""
    if table.objects is None:  # the sweep of a deployment that keeps attachments goes on
        return ids.timestamp(table.now_ms() + PUT_OFF_SECONDS * 1000)
    if file.is_removed or file.is_going:
        table.objects.delete(file.attachment_id)
        return file.next_look(table.now_ms())
    waits_until_ms = ids.milliseconds(file.told_at) + PENDING_SECONDS * 1000
    return ids.timestamp(waits_until_ms) if waits_until_ms > table.now_ms() else None
