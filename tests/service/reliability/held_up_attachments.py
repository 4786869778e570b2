"""Requests and work about attachments that are delayed, while others act on the same one."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

from forklore_service.domain import keys
from forklore_service.domain.attachments import PENDING_SECONDS, File, Reference
from forklore_service.storage import actions
from forklore_service.storage.reads import Reads
from forklore_service.usecases.attachments.ending import end_upload, put_off
from forklore_service.usecases.people.erasing import _disown
from forklore_service.usecases.shared.attachments import let_go
from tests.service.reliability.faults import WRITE, Call, Choose, Fault, Rewrite
from tests.service.reliability.intact import assert_intact
from tests.service.reliability.service import Endpoint, Process
from tests.service.reliability.violation import hold
from tests.service.reliability.world import (
    ANN,
    BOB,
    FORK,
    ROOT,
    ROOT_CALLER,
    attached,
    attached_erasing,
    built,
    later,
    run_deletion,
    showing,
)
from tests.support.tables import Store
from tools.catalogue import PHOTO

SAME = PHOTO | {"contentType": "image/jpeg"}
"""What Bob has uploaded as `unnamed`."""
UPDATE = "UpdateItem"
OLD_SECONDS = 2 * PENDING_SECONDS
"""After so long nothing arrives any more at what was uploaded now."""


def before(operation: str, number: int, act: Callable[[], object]) -> Choose:
    """Return a choice of faults that runs `act` just before the call number `number` of a kind."""
    seen: list[Call] = []

    def choose(call: Call) -> Fault | None:
        if call.operation == operation:
            seen.append(call)
            if len(seen) == number:
                act()
        return None

    return choose


def file_of(process: Process, attachment_id: str) -> File | None:
    return process.table.get([keys.file(attachment_id)]).file(attachment_id)


def due_of(process: Process, attachment_id: str) -> str | None:
    file = file_of(process, attachment_id)
    return file and file.due


def upload_the_same_twice(endpoint: Endpoint, rewrite: Rewrite | None = None, *, removed: bool) -> None:
    """Assert that two uploads of the same bytes at once are one attachment.

    removed: the user has one with them already, which nobody can name any more.
    """
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, first = Process(store, rewrite=rewrite), list[str]()
        given = PHOTO if removed else PHOTO | {"contentType": "image/gif"}
        if removed:
            asked = {"attachmentId": world.made["photo"]}
            assert other.ask("adminRemoveAttachment", ROOT_CALLER, **asked).status == 204

        def upload() -> None:
            first.append(other.ask("uploadAttachment", BOB, **given).id)
            other.ask("appendEntry", BOB, conversationId=ROOT, **showing(first[0]))

        late = Process(store, before(WRITE, 1, upload), rewrite=rewrite)
        hold(late.ask("uploadAttachment", BOB, **given).id == first[0], "two attachments")
        assert_intact(store)


def arrive_when_it_is_gone(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that who brings bytes to what is let go meanwhile is told of another attachment."""
    with built(attached, endpoint).copy(endpoint) as store:
        other = Process(store, rewrite=rewrite)

        def end() -> None:
            listed = other.ask("adminListAttachments", ROOT_CALLER, userId="ann").body["data"]
            let_go(other.table, [one["id"] for one in listed])

        late = Process(store, before(UPDATE, 1, end), rewrite=rewrite)
        anew = late.ask("uploadAttachment", ANN, **PHOTO).id
        named = other.ask("appendEntry", ANN, conversationId=ROOT, **showing(anew))
        hold(named.status == 201, named)
        assert_intact(store)


def name_what_goes(
    endpoint: Endpoint, rewrite: Rewrite | None = None, *, go: Callable[[Process, str], object]
) -> None:
    """Assert that an append is refused that names what was let go meanwhile."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite, clock=later(OLD_SECONDS)), world.made["unnamed"]
        late = Process(store, before(WRITE, 1, lambda: go(other, unnamed)), rewrite=rewrite)
        answer = late.ask("appendEntry", BOB, conversationId=ROOT, **showing(unnamed))
        hold(answer.status == 404, answer)
        assert_intact(store)


def _go(process: Process, attachment_id: str) -> None:
    let_go(process.table, [attachment_id])


def _begin_to_go(process: Process, attachment_id: str) -> None:
    file = file_of(process, attachment_id)
    assert file is not None
    at = process.table.now()
    process.table.commit(actions.attachment.give_up(file, asked_before=at, due=at, row=None))


def let_go_of_what_is_named(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that what an entry begins to name meanwhile stays."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite), world.made["unnamed"]

        def name() -> None:
            assert other.ask("appendEntry", BOB, conversationId=ROOT, **showing(unnamed)).status == 201

        late = Process(store, before(WRITE, 1, name), rewrite=rewrite)
        let_go(late.table, [unnamed])
        _hold_there(store, unnamed)


def let_go_of_what_is_not_seen_yet(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an attachment stays whose REF becomes visible after its FILE."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        late, photo, see = Process(store, rewrite=rewrite), world.made["photo"], Reads.references
        looks: list[str] = []

        def look(self: Reads, attachment_id: str, **more: Any) -> Iterator[Reference]:
            looks.append(attachment_id)
            return iter(()) if len(looks) == 1 else see(self, attachment_id, **more)

        with patch.object(Reads, "references", look):
            let_go(late.table, [photo])
        _hold_there(store, photo)


def _hold_there(store: Store, attachment_id: str) -> None:
    file = file_of(Process(store), attachment_id)
    hold(file is not None and not file.is_going, file)
    assert_intact(store)


def forget_the_owner_of_what_is_gone(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an erasure brings no attachment back whose last entry is removed meanwhile."""
    world = built(attached_erasing, endpoint)
    with world.copy(endpoint) as store:
        other, erasure_id = Process(store, rewrite=rewrite), world.made["erasure"]
        in_two_days = Process(store, rewrite=rewrite, clock=later(OLD_SECONDS))

        def remove() -> None:
            assert other.ask("deleteConversation", ANN, conversationId=ROOT).status == 204
            run_deletion(ROOT)(in_two_days)

        late = Process(store, before(WRITE, 1, remove), rewrite=rewrite)
        erasure = late.table.get([keys.erasure(erasure_id)]).erasure(erasure_id)
        assert erasure is not None
        _disown(late.table, erasure, "bob", world.made["photo"])
        hold(keys.file(world.made["photo"]) not in store.contents(), "it is back")


def let_go_beside_the_next_upload(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that the same bytes which are uploaded anew stay in the list of their owner."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other = Process(store, rewrite=rewrite)

        def upload() -> None:
            anew = other.ask("uploadAttachment", BOB, **SAME).id
            assert other.ask("appendEntry", BOB, conversationId=FORK, **showing(anew)).status == 201

        late = Process(store, before(WRITE, 2, upload), rewrite=rewrite)
        _remove(late, world.made["unnamed"])
        assert_intact(store)


def remove_what_goes(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an admin brings no attachment back that is let go meanwhile."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite, clock=later(OLD_SECONDS)), world.made["unnamed"]
        late = Process(store, before(WRITE, 1, lambda: _go(other, unnamed)), rewrite=rewrite)
        late.ask("adminRemoveAttachment", ROOT_CALLER, attachmentId=unnamed)
        hold(keys.file(unnamed) not in store.contents(), "it is back")
        assert_intact(store)


def ask_for_what_goes(
    endpoint: Endpoint, rewrite: Rewrite | None = None, *, go: Callable[[Process, str], object]
) -> None:
    """Assert that an upload of the same bytes brings nothing back that goes meanwhile."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite, clock=later(OLD_SECONDS)), world.made["unnamed"]
        late = Process(store, before(WRITE, 1, lambda: go(other, unnamed)), rewrite=rewrite)
        hold(late.ask("uploadAttachment", BOB, **SAME).id != unnamed, "it is promised")
        assert_intact(store)


def let_go_of_what_is_asked_for(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that what an upload of the same bytes finds meanwhile can be named."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite), world.made["unnamed"]
        late = Process(
            store, before(WRITE, 1, lambda: other.ask("uploadAttachment", BOB, **SAME)), rewrite=rewrite
        )
        let_go(late.table, [unnamed])
        _hold_there(store, unnamed)


def _delete(store: Store, rewrite: Rewrite | None) -> None:
    """Delete the tree that shows the attachment."""
    process = Process(store, rewrite=rewrite)
    assert process.ask("deleteConversation", ANN, conversationId=ROOT).status == 204
    run_deletion(ROOT)(process)


def settle_what_is_asked_for(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that what an upload of the same bytes finds meanwhile keeps its job."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        in_two_days = later(OLD_SECONDS)
        other = Process(store, rewrite=rewrite, clock=in_two_days)

        def ask() -> None:
            assert other.ask("uploadAttachment", BOB, **PHOTO).id == world.made["photo"]
            _delete(store, rewrite)

        late = Process(store, before(WRITE, 1, ask), rewrite=rewrite, clock=in_two_days)
        end_upload(late.table, world.made["photo"], due_of(late, world.made["photo"]))
        assert_intact(store)


def settle_what_goes(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an attachment whose last entry goes meanwhile keeps its job."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        remove = partial(_delete, store, rewrite)
        late = Process(store, before(WRITE, 1, remove), rewrite=rewrite, clock=later(OLD_SECONDS))
        end_upload(late.table, world.made["photo"], due_of(late, world.made["photo"]))
        assert_intact(store)


def act_while_the_job_moves(
    endpoint: Endpoint, rewrite: Rewrite | None = None, *, act: Callable[[Process, str], object]
) -> None:
    """Assert that attachments keep their jobs when these move while somebody changes them."""
    world = built(attached, endpoint)
    for of in (world.made["photo"], world.made["unnamed"]):
        with world.copy(endpoint) as store:
            move = partial(_put_off, Process(store, rewrite=rewrite), of)
            act(Process(store, before(WRITE, 1, move), rewrite=rewrite, clock=later(OLD_SECONDS)), of)
            assert_intact(store)


def _put_off(process: Process, attachment_id: str) -> None:
    put_off(process.table, attachment_id, due_of(process, attachment_id), since=process.table.now())


def _remove(process: Process, attachment_id: str) -> None:
    process.ask("adminRemoveAttachment", ROOT_CALLER, attachmentId=attachment_id)


def _end(process: Process, attachment_id: str) -> None:
    end_upload(process.table, attachment_id, due_of(process, attachment_id))


def ask_for_what_is_settled(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an attachment has a job again when somebody is told of it while its job ends."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, photo = Process(store, rewrite=rewrite, clock=later(OLD_SECONDS)), world.made["photo"]
        late = Process(store, before(WRITE, 1, lambda: _end(other, photo)), rewrite=rewrite)
        assert late.ask("uploadAttachment", BOB, **PHOTO).id == photo
        _delete(store, rewrite)
        assert_intact(store)


def end_what_is_looked_at_later(endpoint: Endpoint, rewrite: Rewrite | None = None) -> None:
    """Assert that an attachment that goes keeps its job if another process looks at it later."""
    world = built(attached, endpoint)
    with world.copy(endpoint) as store:
        other, unnamed = Process(store, rewrite=rewrite), world.made["unnamed"]
        let_go(other.table, [unnamed], waits=False)
        move = partial(_put_off, other, unnamed)
        _end(Process(store, before(WRITE, 1, move), rewrite=rewrite, clock=later(OLD_SECONDS)), unnamed)
        assert_intact(store)


OF_ATTACHMENTS: Mapping[str, Callable[[Endpoint, Rewrite | None], None]] = {
    "upload the same twice": partial(upload_the_same_twice, removed=False),
    "upload what was removed twice": partial(upload_the_same_twice, removed=True),
    "arrive when it is gone": arrive_when_it_is_gone,
    "name what is gone": partial(name_what_goes, go=_go),
    "name what is going": partial(name_what_goes, go=_begin_to_go),
    "let go of what is named": let_go_of_what_is_named,
    "let go of what is not seen yet": let_go_of_what_is_not_seen_yet,
    "forget the owner of what is gone": forget_the_owner_of_what_is_gone,
    "let go beside the next upload": let_go_beside_the_next_upload,
    "remove what goes": remove_what_goes,
    "settle what goes": settle_what_goes,
    "settle what is asked for": settle_what_is_asked_for,
    "ask for what is gone": partial(ask_for_what_goes, go=_go),
    "ask for what is going": partial(ask_for_what_goes, go=_begin_to_go),
    "let go of what is asked for": let_go_of_what_is_asked_for,
    "let go while the job moves": partial(act_while_the_job_moves, act=_go),
    "remove while the job moves": partial(act_while_the_job_moves, act=_remove),
    "settle while the job moves": partial(act_while_the_job_moves, act=_end),
    "ask for what is settled": ask_for_what_is_settled,
    "end what is looked at later": end_what_is_looked_at_later,
}
