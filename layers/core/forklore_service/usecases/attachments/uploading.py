"""Upload an attachment: its item first, then its bytes.

The same bytes of one user, with the same type, are one attachment.
"""

import hashlib
from io import BytesIO
from typing import NamedTuple

from forklore_service.domain import keys
from forklore_service.domain.attachments import File, when_unnamed
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Caller
from forklore_service.errors import ConflictError, UnavailableError, ValidationError
from forklore_service.storage import actions
from forklore_service.storage.objects import Upload
from forklore_service.storage.table import Table
from forklore_service.usecases.attachments.reading import ReadFile
from forklore_service.usecases.shared.attachments import expected, require_objects
from forklore_service.usecases.shared.optimistic import CHANGE, attempts


class NewFile(NamedTuple):
    """What somebody wants to attach. content: the bytes; None: they are sent to the store."""

    name: str
    content_type: str
    size: int
    sha256: str
    content: bytes | None = None


class Begun(NamedTuple):
    """An attachment, and how to send its bytes; None: they are there."""

    read: ReadFile
    upload: Upload | None = None


def upload(table: Table, *, caller: Caller, request: NewFile, of_user_bytes_max: int = 0) -> Begun:
    """Return the attachment of the caller that has, or will have, these bytes.

    of_user_bytes_max: of all attachments of the caller together; 0: any number.
    Raises ConflictError if this deployment keeps no attachments, or no more of this caller,
    ValidationError if `content` is not what the request says.
    """
    objects = require_objects(table)
    content = request.content
    if content is not None:
        if len(content) != request.size:
            raise ValidationError(f"content has {len(content)} bytes", field="size")
        if hashlib.sha256(content).hexdigest() != request.sha256:
            raise ValidationError("content has another SHA-256", field="sha256")
    for _ in attempts(table, CHANGE):
        file = _file(table, caller, request, of_user_bytes_max)
        if not file.is_pending:
            return Begun(ReadFile.of(file, objects))
        if content is not None:
            objects.store(file.attachment_id, BytesIO(content), expected(file))
        elif not objects.holds(file.attachment_id, expected(file)):
            return Begun(ReadFile.of(file, objects), objects.upload(file.attachment_id, expected(file)))
        if table.update(actions.attachment.arrived(file.attachment_id)):
            return Begun(ReadFile.of(file._replace(is_pending=False), objects))
    raise UnavailableError("the attachment keeps changing; try again")


def _file(table: Table, caller: Caller, request: NewFile, of_user_bytes_max: int) -> File:
    """Return the caller's attachment with these bytes. It is made if there is none to name.

    Raises ValidationError if it has another size, ConflictError if there is no room for it.
    """
    row = keys.user_file(caller.user_id, request.sha256, request.content_type)
    for _ in attempts(table, CHANGE):
        known = table.get([row]).user_file(row)
        if known is not None:
            file = table.get([keys.file(known)]).file(known)
            if file is not None and file.can_be_named:
                if file.size != request.size:
                    told = f"you have said of the same SHA-256 that it has {file.size} bytes"
                    raise ValidationError(told, field="size")
                asked = actions.attachment.ask(file, at=table.now(), due=when_unnamed(table.now_ms()))
                if table.try_commit(asked) is None:
                    return file
                continue
        if of_user_bytes_max:
            _require_room(table, row, caller.user_id, request.size, of_user_bytes_max)
        file = File(
            table.mint_conversation(),
            table.now(),
            caller.user_id,
            request.content_type,
            request.size,
            request.sha256,
            request.name,
            is_pending=True,
            due=when_unnamed(table.now_ms()),
        )
        if table.try_commit(actions.attachment.put(file, caller.user_id, in_place_of=known)) is None:
            return file
    raise UnavailableError("the same bytes are being uploaded right now; try again")


def _require_room(table: Table, row: Key, user_id: str, size: int, bytes_max: int) -> None:
    """Raise ConflictError if the user's attachments and a new one have more bytes than they may.

    row: of the new one, which may stand for one that can be named no more. Several uploads at the
    same time do not see one another.
    """
    together = size
    for key, one in table.read.user_file_sizes(user_id):
        together += one if key != row else 0
        if together > bytes_max:
            break
    if together > bytes_max:
        raise ConflictError(
            f"the attachments of a user have at most {bytes_max:,} bytes together here",
            reason="attachments_full",
            bytesMax=bytes_max,
        )
