"""Attachments: upload one, read one, and list and remove them as an admin."""

from typing import TYPE_CHECKING

from forklore_service.api import answers, attachment_requests, cursors
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.domain import ids
from forklore_service.errors import NotFoundError, ValidationError, brief
from forklore_service.usecases.attachments import reading, removing, uploading

if TYPE_CHECKING:
    from forklore_service.api import admin_requests  # only the functions with administration load it


def upload_attachment(request: CheckedRequest) -> answers.UploadedAttachment:
    """Begin to upload a file, or upload a small one at once.

    The answer has an id, which an entry then names among the `attachments` of its content. Without
    `content` in the request it says, in `upload`, where to send the bytes. What no entry names is
    gone after a day. The same bytes again, with the same type, are the same attachment.
    """
    body: attachment_requests.UploadAttachment = request.body
    most = request.service.attachment_bytes_max
    if body.size > most:
        raise ValidationError(f"an attachment here has at most {most:,} bytes", field="size")
    begun = uploading.upload(
        request.table,
        caller=request.caller,
        request=uploading.NewFile(body.name, body.content_type, body.size, body.sha256, body.content),
        of_user_bytes_max=request.service.user_attachment_bytes_max,
    )
    return answers.uploaded_attachment(begun)


def get_attachment(request: CheckedRequest) -> answers.Attachment:
    """Show an attachment, with a link to its bytes that is valid for some minutes.

    For who has uploaded it, and for every member of a fork tree with an entry that names it. Of 100
    trees that name it one is found; `conversationId` says which one.
    """
    query: attachment_requests.GetAttachment | admin_requests.Justified = request.query
    of = query.conversation_id if isinstance(query, attachment_requests.GetAttachment) else None
    shown = reading.get_attachment(
        request.table,
        caller=request.caller,
        attachment_id=_attachment_id(request),
        conversation_id=of,
    )
    return answers.attachment_for(request.caller, shown)


def get_content(request: CheckedRequest) -> answers.Attachment:
    """Lead to the bytes of an attachment.

    `Location` is the link that `getAttachment` shows, and `ETag` the `sha256` of the bytes. Only by
    HTTP. 404 also if the bytes are not there.
    """
    shown = get_attachment(request)
    if shown.get("url") is None:
        raise NotFoundError(f"the attachment {brief(_attachment_id(request))} has no bytes")
    return shown


def list_attachments(request: CheckedRequest) -> answers.AdminAttachmentPage:
    """List the attachments that a user has uploaded, in the order of their `sha256`."""
    query: admin_requests.ListAttachments = request.query
    resource = f"admin/attachments/{query.user_id}"
    page = reading.list_attachments(
        request.table,
        user_id=query.user_id,
        after=cursors.to_user_file(resource, query.after_cursor),
        limit=query.limit,
    )
    return {
        "data": [answers.admin_attachment(reading.ReadFile(file, None)) for file in page.rows],
        "afterCursor": cursors.of_user_file(resource, page.resume),
    }


def remove_attachment(request: CheckedRequest) -> None:
    """Delete the bytes of an attachment, whoever shows it.

    Entries that name it stay as they are. Nobody can name it any more.
    """
    removing.remove_attachment(request.table, attachment_id=_attachment_id(request))


def _attachment_id(request: CheckedRequest) -> str:
    """Return the attachment in the path. Raises NotFoundError for a text that cannot be an id."""
    attachment_id = request.path["attachmentId"]
    if not ids.is_uuid(attachment_id):
        raise NotFoundError(f"no attachment {brief(attachment_id)}")
    return attachment_id


_ALL = "/v1/attachments"
ONE = f"{_ALL}/{{attachmentId}}"

OPERATIONS = (
    Operation(
        "uploadAttachment",
        "POST",
        _ALL,
        upload_attachment,
        status=201,
        body=attachment_requests.UploadAttachment,
        errors=(409,),
        repeats=True,
    ),
    Operation(
        "getAttachment",
        "GET",
        ONE,
        get_attachment,
        query=attachment_requests.GetAttachment,
        errors=(404, 409),
    ),
)

CONTENT_ROUTES = tuple(
    one._replace(name=f"{one.name}Content", path=f"{one.path}/content", run=get_content, status=302)
    for one in OPERATIONS
    if one.path == ONE
)
"""The second route of an operation: it leads to the bytes."""
