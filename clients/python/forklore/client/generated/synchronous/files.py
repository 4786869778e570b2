# Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
"""How files come to the service and back."""

import os
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from typing import IO, Any

from forklore.client.errors import InputError, NoAnswerError, NotFoundError
from forklore.client.files import PAUSES_S, FileGiven, Progress, Source, Target, is_valid, send
from forklore.client.generated import results
from forklore.client.generated.limits import ATTACHMENTS_PER_ENTRY_MAX
from forklore.client.generated.operations import Operations
from forklore.client.messages import elements

Attached = results.Attachment | results.AttachedFile | str
"""An attachment, what an entry says of it, or its id."""


def upload(
    api: Operations,
    file: FileGiven,
    name: str | None,
    content_type: str | None,
    progress: Progress | None,
) -> results.Attachment:
    """Return the attachment that has the bytes of a file."""
    with api.run_blocking(partial(Source.of, file, name, content_type)) as source:
        return _uploaded(api, source, progress)


def named(api: Operations, files: Sequence[FileGiven]) -> list[dict[str, str]]:
    """Return the `attachments` of a message. Files are uploaded; what is uploaded is only named.

    Raises InputError for more than an entry may name. Then nothing is sent.
    """
    given = elements(files, "files")
    if len(given) > ATTACHMENTS_PER_ENTRY_MAX:
        said = f"an entry has at most {ATTACHMENTS_PER_ENTRY_MAX} files, not {len(given)}"
        raise InputError(said, details={"field": "files"})
    attachments: list[dict[str, str]] = []
    for one in given:
        if isinstance(one, results.Attachment | results.AttachedFile):
            attachments.append({"id": one.id, "name": one.name})
        else:
            with api.run_blocking(partial(Source.of, one, None, None)) as source:
                made = _uploaded(api, source, None)
                attachments.append({"id": made.id, "name": source.name})
    return attachments


def _uploaded(api: Operations, source: Source, progress: Progress | None) -> results.Attachment:
    """Return the attachment with these bytes. The service tells whether they have to be sent.

    It is asked after each sending, too: so bytes that have arrived without an answer are found.
    """
    failure = ""
    for pause_s in (*_pauses(api), 0.0, None):
        made = api.upload_attachment(**source.fields())
        if made.upload is None:
            return made
        if pause_s is None:
            break
        address = api.located(made.upload.url)
        failure = api.run_blocking(partial(send, made.upload, address, source, progress, api.options))
        if failure:
            api.pause(pause_s)
    raise NoAnswerError(f"the bytes of {source.name} have not arrived: {failure or 'they are others'}")


def download(
    api: Operations,
    attachment: Attached,
    to: str | os.PathLike[str] | IO[bytes],
    progress: Progress | None,
) -> results.Attachment:
    """Write the bytes of an attachment; return what it is. What is cut off goes on where it was."""
    attachment_id, failure = attachment if isinstance(attachment, str) else attachment.id, ""
    with api.run_blocking(partial(Target, to)) as target:
        for pause_s in (*_pauses(api), 0.0):
            found = api.get_attachment(attachment_id)
            if found.url is None:
                raise NotFoundError(f"the attachment {attachment_id} has no bytes: it is {found.state}")
            address = api.located(found.url)
            failure = api.run_blocking(partial(target.fetch, address, found, progress, api.options))
            if not failure:
                api.run_blocking(partial(target.keep, found))
                return found
            api.pause(pause_s)
    raise NoAnswerError(f"the bytes of the attachment {attachment_id} have not come: {failure}")


def read(api: Operations, attachment: Attached) -> bytes:
    """Return the bytes of an attachment: by the link of its entry, as long as that is valid."""
    content = BytesIO()
    if isinstance(attachment, results.AttachedFile) and attachment.url and is_valid(attachment):
        target, address = Target(content), api.located(attachment.url)
        api.run_blocking(partial(target.fetch, address, attachment, None, api.options))
        if content.tell() == attachment.size:
            return content.getvalue()
        content = BytesIO()
    download(api, attachment, content, None)
    return content.getvalue()


def _pauses(api: Any) -> tuple[float, ...]:
    """Return how long to wait after each sending that may be repeated."""
    return PAUSES_S[: api.options.retries_max]
