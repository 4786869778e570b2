"""The actions about attachments, and about what names them (items FILE, REF and USER_FILE)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forklore_service.domain import keys
from forklore_service.domain.attachments import File, Reference
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Entry, JobKind
from forklore_service.storage import items
from forklore_service.storage.actions import action, job
from forklore_service.storage.actions.action import IS_NEW, IS_THERE, NO_VALUES, Action, ActionKind
from forklore_service.storage.items import number, text

_STAYS = "attribute_not_exists(#going)"
_NOT_ASKED = "(attribute_not_exists(#asked) OR #asked < :before)"
_IS_PENDING = "attribute_exists(#pending)"
_NAMES_IT = "#file = :id"
_TRUE = {"BOOL": True}


def put(file: File, owner: str, *, in_place_of: str | None) -> list[Action]:
    """Put a new attachment, as the one that its owner has with these bytes, and its job.

    in_place_of: the one that the owner had with them, which can be named no more; None: there is
    none.
    """
    condition = IS_NEW if in_place_of is None else _NAMES_IT
    return [
        action.put(ActionKind.FILE, items.file_item(file), of=file.attachment_id),
        action.put(
            ActionKind.USER_FILE,
            items.user_file_item(owner, file),
            condition=condition,
            values={":id": text(in_place_of)} if in_place_of is not None else {},
        ),
        *_jobs(file._replace(due=None), file.due),
    ]


def _jobs(file: File, due: str | None, *, since: str | None = None) -> list[Action]:
    """Delete the job of an attachment, and put one that is due then. None: there is none.

    since: since when it is due, if somebody looked at it in vain.
    """
    kind, of = JobKind.UPLOAD, file.attachment_id
    if due == file.due:
        return []
    deleted = [] if file.due is None else [job.delete(kind, of, due=file.due)]
    return [*deleted, *([] if due is None else [job.put(kind, of, at=since or due, due=due)])]


def _change(
    file: File,
    change: str,
    *,
    due: str | None,
    condition: str = "",
    values: Mapping[str, Any] = NO_VALUES,
    removes: Sequence[str] = (),
    since: str | None = None,
) -> list[Action]:
    """Change an attachment and its job, if it has the job that was read. due: of the job then.

    change: assignments. removes: attributes. since: as of `_jobs`.
    """
    is_moved = due != file.due
    sets = [*filter(None, [change]), *(["#due = :due"] if is_moved and due is not None else [])]
    gone = [*(f"#{name}" for name in removes), *(["#due"] if is_moved and due is None else [])]
    parts = [f"SET {', '.join(sets)}" if sets else "", f"REMOVE {', '.join(gone)}" if gone else ""]
    is_read, was = _is_read(file)
    return [
        action.update(
            ActionKind.FILE,
            keys.file(file.attachment_id),
            " ".join(filter(None, parts)),
            of=file.attachment_id,
            condition=" AND ".join(filter(None, [condition, is_read])),
            values={**values, **was, **({":due": text(due)} if is_moved and due is not None else {})},
        ),
        *_jobs(file, due, since=since),
    ]


def _is_read(file: File) -> tuple[str, dict[str, Any]]:
    """Return the condition, with its value, that an attachment still has the job that was read."""
    if file.due is None:
        return f"({IS_THERE} AND attribute_not_exists(#due))", {}
    return "#due = :was", {":was": text(file.due)}


def name(group_id: str, entries: Iterable[Entry]) -> list[Action]:
    """Note that new entries name attachments, if none of these is going."""
    references = [
        Reference(one.attachment_id, group_id, entry.entry_id)
        for entry in entries
        for one in entry.attachments
    ]
    times = Counter(one.attachment_id for one in references)
    last = {one.attachment_id: keys.reference(one).sort for one in references}
    return [
        *(
            action.put(
                ActionKind.REFERENCE, items.reference_item(one), of=f"{one.attachment_id} {one.entry_id}"
            )
            for one in references
        ),
        *(
            action.update(
                ActionKind.FILE,
                keys.file(attachment_id),
                "SET #namedBy = :last REMOVE #pending ADD #named :times",
                of=attachment_id,
                condition=f"{IS_THERE} AND {_STAYS}",
                values={":times": number(count), ":last": text(last[attachment_id])},
            )
            for attachment_id, count in times.items()
        ),
    ]


def ask(file: File, *, at: str, due: str) -> list[Action]:
    """Note that the owner is told that there is an attachment, if it has not begun to go.

    It stays for a while, although no entry may name it. due: when that is looked at, unless it is
    before.
    """
    return _change(file, "#asked = :at", due=file.due or due, values={":at": text(at)})


def arrived(attachment_id: str) -> Action:
    """Note that the bytes of an attachment are there, if it waits for them.

    One that is removed or going waits no more, so bytes that arrive late bring none back.
    """
    return action.update(ActionKind.FILE, keys.file(attachment_id), "REMOVE #pending", condition=_IS_PENDING)


def give_up(file: File, *, asked_before: str, due: str, row: Key | None) -> list[Action]:
    """Let nobody name an attachment any more, if nobody has named it since it was read.

    asked_before: it stays if its owner was told of it since then, unless it is removed. due: of its
    job, which stays until its item is gone. row: names it in the list of its owner, and is deleted.
    What was said of the file is forgotten at once.

    The items of a transaction become visible one by one. So what named it last may not be seen yet
    by a Query, and this transaction checks that it is gone.
    """
    seen = [] if file.named_by is None else [_check_gone(file.named_by)]
    values = {":true": _TRUE, ":seen": number(file.named)}
    condition = "#named = :seen"
    if not file.is_removed:
        condition, values = f"{condition} AND {_NOT_ASKED}", {**values, ":before": text(asked_before)}
    return [
        *seen,
        *_change(
            file,
            "#going = :true",
            due=due,
            condition=condition,
            values=values,
            removes=items.FORGOTTEN_OF_FILE,
        ),
        *([] if row is None else [_unlist(row, file.attachment_id)]),
    ]


def _check_gone(reference: Reference) -> Action:
    return action.check(ActionKind.REFERENCE, keys.reference(reference), IS_NEW)


def remove(file: File, *, due: str) -> list[Action]:
    """Note that the bytes of an attachment are removed, while entries may name it still.

    due: of its job, which is for bytes that arrive later.
    """
    return _change(file, "#removed = :true", due=due, values={":true": _TRUE}, removes=["pending"])


def disown(attachment_id: str, owner: str) -> Action:
    """Forget who has uploaded an attachment."""
    return action.update(
        ActionKind.FILE,
        keys.file(attachment_id),
        "REMOVE #owner",
        of=attachment_id,
        condition="#owner = :user",
        values={":user": text(owner)},
    )


def _unlist(row: Key, attachment_id: str) -> Action:
    """Delete the item that names an attachment among those of its owner."""
    return action.delete(
        ActionKind.USER_FILE, row, of=row.sort, condition=_NAMES_IT, values={":id": text(attachment_id)}
    )


def settle(file: File, *, asked_before: str) -> list[Action]:
    """Delete the job of an attachment that is not going.

    asked_before: when its owner was told of it, unless it is removed.
    """
    if file.is_removed:
        return _change(file, "", due=None)
    return _change(file, "", due=None, condition=_NOT_ASKED, values={":before": text(asked_before)})


def look_later(file: File, *, due: str, since: str | None = None) -> list[Action]:
    """Let the sweep look at an attachment at another time. since: as of a job that is put off."""
    return _change(file, "", due=due, since=since)


def delete(file: File) -> list[Action]:
    """Delete an attachment that is going, and its job. Its id is never used again."""
    is_read, was = _is_read(file)
    return [
        action.delete(ActionKind.FILE, keys.file(file.attachment_id), condition=is_read, values=was),
        *_jobs(file, None),
    ]


def forget_job(attachment_id: str, *, due: str | None) -> Action:
    """Delete a job of an attachment that is not there, or has another one."""
    return job.delete(JobKind.UPLOAD, attachment_id, due=due)
