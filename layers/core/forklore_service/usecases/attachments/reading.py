"""Read an attachment, and list a user's."""

from typing import NamedTuple

from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import File
from forklore_service.domain.model import Caller
from forklore_service.storage.objects import Link, Objects
from forklore_service.storage.table import Table
from forklore_service.usecases.shared import cursors
from forklore_service.usecases.shared.attachments import is_shown, not_found, require_objects
from forklore_service.usecases.shared.cursors import InvalidCursor, PageOf
from forklore_service.usecases.shared.loading import look_up


class ReadFile(NamedTuple):
    """An attachment, and where its bytes are; None: they are not there."""

    file: File
    link: Link | None

    @classmethod
    def of(cls, file: File, objects: Objects) -> "ReadFile":
        if file.is_pending or file.is_removed:
            return cls(file, None)
        name, content_type = file.name, file.content_type
        return cls(file, objects.link(file.attachment_id, name=name, content_type=content_type))


def get_attachment(
    table: Table, *, caller: Caller, attachment_id: str, conversation_id: str | None = None
) -> ReadFile:
    """Return an attachment that the caller has uploaded, or that an entry shows to them.

    conversation_id: of the tree with that entry; None: any tree that the caller is a member of.
    Raises NotFoundError for any other, and ConflictError if this deployment keeps none.
    """
    objects = require_objects(table)
    file = table.get([keys.file(attachment_id)]).file(attachment_id)
    if file is None or file.is_going or not _may_read(table, caller, file, conversation_id):
        raise not_found(attachment_id)
    return ReadFile.of(file, objects)


def _may_read(table: Table, caller: Caller, file: File, conversation_id: str | None) -> bool:
    if caller.bypasses_membership or file.owner == caller.user_id:
        return True
    if conversation_id is None:
        return is_shown(table, caller, file)
    if not ids.is_uuid(conversation_id):
        return False
    loaded = look_up(table, conversation_id, caller=caller).loaded
    if loaded is None or loaded.level is None:
        return False
    group_id = loaded.group.group_id
    return any(table.read.references(file.attachment_id, group_id=group_id, limit=1))


def list_attachments(
    table: Table, *, user_id: str, after: str | InvalidCursor | None, limit: int
) -> PageOf[File, str]:
    """Return a page of the attachments that a user has uploaded, in the order of their hashes.

    after: the `resume` of the page before. Raises InvalidCursorError for an invalid one.
    """
    rows = list(table.read.user_files(user_id, after=cursors.valid(after), limit=limit + 1))
    found = table.get(keys.file(attachment_id) for _, attachment_id in rows[:limit])
    files = [file for _, attachment_id in rows[:limit] if (file := found.file(attachment_id)) is not None]
    return PageOf(files, rows[limit - 1][0].sort if len(rows) > limit else None)
