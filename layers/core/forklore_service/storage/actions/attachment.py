"""The actions about attachments, and about what names them (items FILE, REF and USER_FILE)."""

from collections import Counter
from collections.abc import Iterable

from forklore_service.domain import keys
from forklore_service.domain.attachments import File, Reference
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Entry, JobKind
from forklore_service.storage import items
from forklore_service.storage.actions import action, job
from forklore_service.storage.actions.action import IS_NEW, IS_THERE, Action, ActionKind
from forklore_service.storage.items import number, text

_STAYS = "attribute_not_exists(#going)"
_NOT_ASKED = "(attribute_not_exists(#asked) OR #asked < :before)"
_IS_PENDING = "attribute_exists(#pending)"
_NAMES_IT = "#file = :id"


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
        job.put(JobKind.UPLOAD, file.attachment_id, at=file.created_at),
    ]


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


def ask(attachment_id: str, *, at: str) -> list[Action]:
    """Note that the owner is told that there is an attachment, if it is not going.

    It stays for a while, although no entry may name it. The job is for what comes after that.
    """
    return [
        action.update(
            ActionKind.FILE,
            keys.file(attachment_id),
            "SET #asked = :at",
            of=attachment_id,
            condition=f"{IS_THERE} AND {_STAYS}",
            values={":at": text(at)},
        ),
        job.put(JobKind.UPLOAD, attachment_id, at=at),
    ]


def arrived(attachment_id: str) -> Action:
    """Note that the bytes of an attachment are there, if it waits for them.

    One that is removed or going waits no more, so bytes that arrive late bring none back.
    """
    return action.update(ActionKind.FILE, keys.file(attachment_id), "REMOVE #pending", condition=_IS_PENDING)


def give_up(file: File, *, at: str, asked_before: str) -> list[Action]:
    """Let nobody name an attachment any more, if nobody has named it since it was read.

    asked_before: it stays if its owner was told of it since then.

    The items of a transaction become visible one by one. So what named it last may not be seen yet
    by a Query, and this transaction checks that it is gone. The job stays until its item is gone.
    """
    seen = [] if file.named_by is None else [_check_gone(file.named_by)]
    return [
        *seen,
        action.update(
            ActionKind.FILE,
            keys.file(file.attachment_id),
            "SET #going = :true REMOVE #pending",
            condition=f"#named = :seen AND {_NOT_ASKED}",
            values={":true": {"BOOL": True}, ":seen": number(file.named), ":before": text(asked_before)},
        ),
        job.put(JobKind.UPLOAD, file.attachment_id, at=at),
    ]


def _check_gone(reference: Reference) -> Action:
    return action.check(ActionKind.REFERENCE, keys.reference(reference), IS_NEW)


def remove(attachment_id: str, *, at: str) -> list[Action]:
    """Note that the bytes of an attachment are removed, while entries may name it still.

    The job is for bytes that arrive later.
    """
    return [
        action.update(
            ActionKind.FILE,
            keys.file(attachment_id),
            "SET #removed = :true REMOVE #pending",
            condition=IS_THERE,
            values={":true": {"BOOL": True}},
        ),
        job.put(JobKind.UPLOAD, attachment_id, at=at),
    ]


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


def unlist(row: Key, attachment_id: str) -> Action:
    """Delete the item that names an attachment among those of its owner, if it still does."""
    return action.delete(
        ActionKind.USER_FILE, row, of=row.sort, condition=_NAMES_IT, values={":id": text(attachment_id)}
    )


def settle(attachment_id: str, *, asked_before: str) -> list[Action]:
    """Delete the job of an attachment, if it is not going, and its owner was told of it before."""
    return [
        action.check(
            ActionKind.FILE,
            keys.file(attachment_id),
            f"{_STAYS} AND {_NOT_ASKED}",
            values={":before": text(asked_before)},
        ),
        job.delete(JobKind.UPLOAD, attachment_id),
    ]


def delete(attachment_id: str) -> list[Action]:
    """Delete an attachment that is going, and its job. Its id is never used again."""
    return [
        action.delete(ActionKind.FILE, keys.file(attachment_id)),
        job.delete(JobKind.UPLOAD, attachment_id),
    ]
