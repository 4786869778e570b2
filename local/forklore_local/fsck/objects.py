"""The bytes of attachments, which lie beside the table."""

from collections.abc import Iterator

from forklore_local.fsck.attachments import RULE
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.source import Source
from forklore_local.fsck.survey import Survey
from forklore_service.domain import keys
from forklore_service.domain.attachments import File
from forklore_service.storage import items
from forklore_service.storage.objects import Expected, Objects


def check(objects: Objects, survey: Survey, source: Source) -> Iterator[Finding]:
    """Yield attachments whose bytes are lost, and bytes of none.

    Both may change meanwhile. So each suspect is looked at again: an attachment that goes says so
    before its bytes go, and its item goes after them.
    """
    listed = dict(objects.all())
    for file in survey.files.values():
        if not _has_bytes(file) or listed.get(file.attachment_id) == file.size:
            continue
        expected = Expected(file.content_type, file.size, file.sha256)
        if objects.holds(file.attachment_id, expected):
            continue
        key = keys.file(file.attachment_id)
        if any(_has_bytes(items.file(item)) for item in source.get([key]).values()):
            yield Finding(key, "missing_object", "its bytes are not there, or are others", RULE)
    strays = {keys.file(one): one for one in sorted(listed.keys() - survey.files.keys())}
    known = survey.unreadable | source.get(strays).keys()
    still = dict(objects.all()) if strays else {}
    for key, object_id in strays.items():
        if key not in known and object_id in still:
            yield Finding(key, "orphan_object", "there are bytes, and no attachment", RULE)


def _has_bytes(file: File) -> bool:
    return file.can_be_named and not file.is_pending
