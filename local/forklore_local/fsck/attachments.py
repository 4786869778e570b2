"""Attachments, the entries that name them, and the lists of their owners."""

from collections import Counter
from collections.abc import Iterable, Iterator

from forklore_local.fsck.finding import Finding
from forklore_local.fsck.survey import Survey
from forklore_service.domain import keys
from forklore_service.domain.attachments import File, Reference
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind

RULE = 21
"""An attachment is there as long as an entry names it, and no longer."""


def check(survey: Survey) -> Iterator[Finding]:
    """Yield where entries, attachments and lists do not agree."""
    named: set[Reference] = set()
    # Who erases an entry first removes its REFs.
    erased = {one.user_id for one in survey.erasures.values() if not one.is_done}
    for tree in survey.trees.values():
        for entry_id, attachment_ids in tree.naming.items():
            references = [Reference(one, tree.group_id, entry_id) for one in attachment_ids]
            named.update(references)
            is_going = tree.is_doomed(entry_id) or tree.naming_by[entry_id] in erased
            if tree.keeps_entries and not tree.was_never_live and not is_going:
                yield from _missing(survey, references, tree.group_id)
    for reference in survey.references - named:
        detail = "its tree has no entry that names the attachment"
        yield Finding(keys.reference(reference), "orphan_ref", detail, RULE, reference.group_id)
    counts = Counter(one.attachment_id for one in survey.references)
    still_named = {one.attachment_id for one in named}
    for attachment_id, file in survey.files.items():
        key = keys.file(attachment_id)
        job = _job(file)
        is_settled = counts[attachment_id] > 0 and not file.is_going and file.due is None
        if counts[attachment_id] > file.named:
            yield Finding(key, "wrong_file", "more entries name it than ever have", RULE)
        if not is_settled and job not in survey.outside and attachment_id not in still_named:
            yield Finding(key, "missing_job", "nothing names it, and nobody looks at it", 10)
        yield from _listed(survey, file)
    for row, attachment_id in survey.user_files.items():
        if attachment_id not in survey.files and keys.file(attachment_id) not in survey.unreadable:
            yield Finding(row, "orphan_user_file", "there is no such attachment", RULE)


def _missing(survey: Survey, references: list[Reference], group_id: str) -> Iterator[Finding]:
    for reference in references:
        if reference not in survey.references and keys.reference(reference) not in survey.unreadable:
            yield Finding(keys.reference(reference), "missing_ref", "an entry names it", RULE, group_id)
        file = keys.file(reference.attachment_id)
        if reference.attachment_id not in survey.files and file not in survey.unreadable:
            yield Finding(file, "missing_file", "an entry names it", RULE, group_id)


def _listed(survey: Survey, file: File) -> Iterator[Finding]:
    """Yield a missing or wrong item that names an attachment among those of its owner."""
    if file.owner is None or not file.can_be_named:
        return
    row = keys.user_file(file.owner, file.sha256, file.content_type)
    if survey.user_files.get(row) != file.attachment_id and row not in survey.unreadable:
        key = keys.file(file.attachment_id)
        yield Finding(key, "missing_user_file", "its owner's list lacks it", RULE)
    elif survey.user_file_sizes.get(row, file.size) != file.size:
        yield Finding(row, "wrong_user_file", "the attachment has another number of bytes", RULE)


def jobs(files: Iterable[File]) -> Iterator[Key]:
    """Yield the jobs that attachments may have."""
    return map(_job, files)


def _job(file: File) -> Key:
    return keys.job(JobKind.UPLOAD, file.attachment_id, due=file.due)
