"""What entries name beside conversations: attachments. Who may read one, and when it goes.

Each entry that names an attachment has an item, REF. These items are a set: to put one or to take
one away can be repeated. Whoever removes entries first removes their REFs, then lets go of what
nobody names any more, and then removes the entries, which name the work. So a killed worker only
repeats work.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import PENDING_SECONDS, File, NamedFile, Reference, when_unnamed
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Attached, Caller, EntryLayout
from forklore_service.errors import ConflictError, NotFoundError, UnavailableError, brief
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.objects import Expected, Objects
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

FIELD = "attachments"
"""By it a program knows that the conversation is there, and a file that an entry names is not."""
TREES_MAX = 100
"""Trees looked at for one in which the caller may read an attachment."""


def require_objects(table: Table) -> Objects:
    """Return where the bytes lie. Raises ConflictError if this deployment keeps no attachments."""
    if table.objects is None:
        raise ConflictError(
            "this deployment keeps no attachments; whoever runs it can set Attachments to on",
            reason="attachments_off",
        )
    return table.objects


def with_attachments(
    table: Table, caller: Caller, drafts: Sequence[Draft], *, group_id: str | None
) -> list[Draft]:
    """Return the drafts with what their attachments are. It is no read if they name none.

    group_id: the tree that is looked at first for who may name it: that of the entries, or of the
    parent of a child; None: it has no entries yet.
    Raises ConflictError if this deployment keeps none, NotFoundError for one that the caller may
    not name. An attachment whose bytes nobody has seen is looked for in the store.
    """
    named = {one.attachment_id for draft in drafts for one in draft.files}
    if not named:
        return list(drafts)
    objects = require_objects(table)
    found = table.get(map(keys.file, named))
    files = {one: _nameable(table, objects, caller, group_id, one, found.file(one)) for one in named}
    return [
        draft._replace(
            entry=draft.entry._replace(attachments=tuple(_attached(files, one) for one in draft.files))
        )
        if draft.files
        else draft
        for draft in drafts
    ]


def _attached(files: dict[str, File], named: NamedFile) -> Attached:
    file = files[named.attachment_id]
    return Attached(file.attachment_id, named.name or file.name, file.content_type, file.size)


def _nameable(
    table: Table,
    objects: Objects,
    caller: Caller,
    group_id: str | None,
    attachment_id: str,
    file: File | None,
) -> File:
    if file is None or not file.can_be_named:
        raise not_found(attachment_id, field=FIELD)
    trees = dict.fromkeys((group_id, None))
    if file.owner != caller.user_id and not any(is_shown(table, caller, file, group_id=of) for of in trees):
        raise not_found(attachment_id, field=FIELD)
    if file.is_pending and not objects.holds(attachment_id, expected(file)):
        raise ConflictError(
            f"the bytes of the attachment {brief(attachment_id)} are not there yet; upload them first",
            reason="not_uploaded",
        )
    return file


def expected(file: File) -> Expected:
    """Return what the bytes of an attachment are."""
    return Expected(file.content_type, file.size, file.sha256)


def not_found(attachment_id: str, *, field: str | None = None) -> NotFoundError:
    """Return the error for an attachment that there is not, or that is none of the caller's.

    field: that of the request which names it; None: the path does.
    """
    return NotFoundError(f"no attachment {brief(attachment_id)}", field=field)


def is_shown(table: Table, caller: Caller, file: File, *, group_id: str | None = None) -> bool:
    """Tell whether the caller is a member of a live tree with an entry that names the attachment.

    group_id: the tree to look at; None: the first TREES_MAX that name it.
    """
    of, after = file.attachment_id, None
    for _ in range(TREES_MAX):
        reference = next(table.read.references(of, group_id=group_id, after=after, limit=1), None)
        if reference is None:
            return False
        after = reference.group_id
        found = table.get([keys.group(after), keys.member(after, caller.user_id)])
        group = found.group(after)
        if group is not None and group.is_live and found.member(after, caller.user_id) is not None:
            return True
        if group_id is not None:
            return False
    return False


def references_of(group_id: str, entries: Iterable[EntryLayout]) -> list[Key]:
    """Return the keys of the REFs of entries."""
    return [
        keys.reference(Reference(attachment_id, group_id, one.entry_id))
        for one in entries
        for attachment_id in one.attachment_ids
    ]


def let_go(table: Table, attachment_ids: Iterable[str], *, waits: bool = True) -> None:
    """Remove each attachment that no entry names. Raises UnavailableError.

    waits: whether one stays that its owner was told of in the last day, and may be about to name.
    """
    for _ in table.side_by_side(partial(_let_go, table, waits), dict.fromkeys(attachment_ids)):
        pass


def leave_to_the_sweep(table: Table, attachment_ids: Iterable[str]) -> list[Action]:
    """Return the actions that let the sweep remove in a day what no entry names then.

    For who may not delete bytes. The actions come before the REFs are removed.
    """
    wanted = dict.fromkeys(attachment_ids)
    found, at, due = table.get(map(keys.file, wanted)), table.now(), when_unnamed(table.now_ms())
    files = [file for one in wanted if (file := found.file(one)) is not None and not file.is_going]
    return [one for file in files for one in actions.attachment.ask(file, at=at, due=due)]


def a_day_ago(table: Table) -> str:
    """Return when those must have been told of an attachment who are not waited for."""
    return ids.timestamp(table.now_ms() - PENDING_SECONDS * 1000)


def _let_go(table: Table, waits: bool, attachment_id: str) -> None:
    """Remove an attachment that no entry names, if it is there.

    An entry that begins to name it meanwhile refuses that: it counts in the attachment's item.
    What is killed in between, is done again by the sweep, which finds the job. So is the deletion
    of bytes that may still arrive.
    """
    for _ in attempts(table, CHANGE):
        file = table.get([keys.file(attachment_id)]).file(attachment_id)
        if file is None or next(table.read.references(attachment_id, limit=1), None) is not None:
            return
        if file.is_going and not file.sha256:
            break
        before = a_day_ago(table) if waits else ids.timestamp(ids.MILLISECONDS_MAX)
        if not file.is_removed and file.asked is not None and file.asked >= before:
            return
        due = file.next_look(table.now_ms()) or table.now()
        row = _row(table, file)
        given_up = actions.attachment.give_up(file, asked_before=before, due=due, row=row)
        if table.try_commit(given_up) is None:
            file = File(attachment_id, file.created_at, is_going=True, asked=file.asked, due=due)
            break
    else:
        raise UnavailableError("the attachment keeps changing; try again")
    if table.objects is None:
        return  # the sweep of a deployment that keeps attachments goes on
    table.objects.delete(attachment_id)
    next_look = file.next_look(table.now_ms())
    if next_look is None:
        table.try_commit(actions.attachment.delete(file))
    elif file.due != next_look:
        table.try_commit(actions.attachment.look_later(file, due=next_look))


def _row(table: Table, file: File) -> Key | None:
    """Return what names an attachment in the list of its owner; None: nothing does."""
    if file.owner is None:
        return None
    row = keys.user_file(file.owner, file.sha256, file.content_type)
    return row if table.get([row]).user_file(row) == file.attachment_id else None
