"""The models of query parameters and bodies about attachments.

Docstrings of bodies are descriptions in the API document.
"""

from forklore_service.api import fields
from forklore_service.api.requests import Request


class UploadAttachment(Request):
    """A file. Without `content` the answer says where to send its bytes."""

    name: fields.FileName
    content_type: fields.MediaType
    size: fields.FileSize
    sha256: fields.Sha256
    content: fields.Bytes | None = None


class GetAttachment(Request):
    """`conversationId`: one whose fork tree has an entry that names the attachment."""

    conversation_id: fields.NamedId | None = None
