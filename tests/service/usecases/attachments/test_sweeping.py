"""When the sweep looks at an attachment, and what it does then."""

from collections.abc import Callable, Sequence
from io import BytesIO

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import ADDRESS_SECONDS, PENDING_SECONDS
from forklore_service.domain.model import Caller, JobKind
from forklore_service.errors import UnavailableError
from forklore_service.storage import items
from forklore_service.storage.objects import Expected
from forklore_service.usecases.background import sweeper
from forklore_service.usecases.background.sweeper import Swept, sweep
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from tests.service.usecases.attachments.files import (
    PHOTO,
    assert_intact,
    described,
    left,
    name,
    settle,
    upload,
)
from tests.service.usecases.builders import ANN, BOB, OTHER, ROOT
from tests.support.mailbox import Mailbox
from tests.support.tables import Standing, Store
from tools.harness.service import Process

HOUR_S, DAY_S = 3600, PENDING_SECONDS
ADA = Caller("ada", roles=frozenset({"admin"}))
LOGOS = [f"logo {number}".encode() for number in range(3)]


@pytest.fixture
def clock() -> Standing:
    return Standing(1_772_356_500)


@pytest.fixture
def service(store: Store, clock: Standing) -> Process:
    return Process(store, clock=clock)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


def swept(
    service: Process, failing: Sequence[str] = (), *, how: Callable[[str], Exception] = RuntimeError
) -> Swept:
    """Sweep once. failing: attachments whose bytes cannot be deleted. how: the error says so."""
    objects = service.table.objects
    assert objects is not None
    delete = objects.delete

    def refuse(object_id: str) -> None:
        if object_id in failing:
            raise how(object_id)
        delete(object_id)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(objects, "delete", refuse)
        return sweep(service.table, Mailbox().queue)


def due(service: Process) -> list[str | None]:
    """Return when the sweep looks at what, in order."""
    rows = service.table.query(keys.jobs_range(JobKind.UPLOAD))
    return [keys.in_job(items.key(row).sort).due for row in rows]


def bring(store: Store, attachment_id: str) -> None:
    """Bring the bytes of the photo once more."""
    digest = described()["sha256"]
    store.objects.store(attachment_id, BytesIO(PHOTO), Expected("image/png", len(PHOTO), digest))


def test_what_is_asked_for_every_day_keeps_the_sweep_from_nothing(
    store: Store, service: Process, clock: Standing, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "UPLOADS_ENDED_MAX", len(LOGOS))
    logos = [upload(service, content) for content in LOGOS]
    name(service, *logos)
    clock.now_s += 1
    unnamed, of_deleted = upload(service, b"unnamed", by=BOB), upload(service, b"deleted", by=BOB)
    name(service, of_deleted, to=OTHER, by=BOB)
    upload(service, b"deleted", by=BOB)
    delete_conversation(service.table, mailbox.queue, caller=BOB, conversation_id=OTHER, wait_s=0)
    settle(store, mailbox)
    for _ in range(4):
        clock.now_s += DAY_S // 2
        assert [upload(service, content) for content in LOGOS] == logos
        for _ in range(2):
            swept(service)
    assert not left(store) & {unnamed, of_deleted}
    assert set(logos) <= left(store)
    assert_intact(store)


def test_the_sweep_looks_at_nothing_that_is_not_due(
    store: Store, service: Process, clock: Standing, mailbox: Mailbox
) -> None:
    upload(service)
    clock.now_s += DAY_S // 2
    upload(service)
    clock.now_s += DAY_S // 2 - 1
    assert swept(service).jobs == 0
    clock.now_s += 2
    assert swept(service).jobs == 1  # half a day ago somebody was told of it
    clock.now_s += DAY_S // 2
    assert (swept(service).jobs, due(service), left(store)) == (1, [], set())


def test_an_attachment_that_fails_is_put_off_and_known_by_its_age(
    store: Store, service: Process, clock: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "UPLOADS_ENDED_MAX", len(LOGOS))
    failing = [upload(service, content) for content in LOGOS]
    clock.now_s += 1
    other = upload(service)
    clock.now_s += DAY_S + HOUR_S
    first = swept(service, failing)
    assert (first.failed, round(first.oldest_s, -2)) == (len(LOGOS), HOUR_S)
    assert (swept(service, failing).failed, left(store)) == (0, set(failing))
    assert other not in left(store)
    clock.now_s += 2 * HOUR_S
    later = swept(service, failing)
    assert (later.failed, round(later.oldest_s, -2)) == (len(LOGOS), 3 * HOUR_S)
    clock.now_s += 2 * HOUR_S
    assert (swept(service).failed, left(store), due(service)) == (0, set(), [])
    assert_intact(store)


def test_what_a_store_is_too_busy_for_is_done_by_the_next_sweep(
    store: Store, service: Process, clock: Standing
) -> None:
    mine = upload(service)
    clock.now_s += DAY_S + 1
    assert swept(service, [mine], how=UnavailableError).failed == 0
    clock.now_s += 1
    assert (swept(service).jobs, left(store), due(service)) == (1, set(), [])
    assert_intact(store)


def test_without_a_store_of_objects_all_is_put_off(store: Store, service: Process, clock: Standing) -> None:
    upload(service)
    clock.now_s += DAY_S + 1
    objects, service.table.objects = service.table.objects, None
    for _ in range(2):
        sweep(service.table, Mailbox().queue)
        clock.now_s += 1
    clock.now_s -= 1
    [at] = due(service)
    assert at == ids.timestamp((clock.now_s + HOUR_S) * 1000)
    service.table.objects = objects
    clock.now_s += HOUR_S + 1
    swept(service)
    assert (left(store), due(service)) == (set(), [])
    assert_intact(store)


@pytest.mark.parametrize("is_named", [True, False])
def test_bytes_that_are_sent_again_after_a_removal_are_deleted_when_the_address_has_ended(
    store: Store, service: Process, clock: Standing, is_named: bool
) -> None:
    """And once more an hour later: what was begun in time may take long."""
    mine = upload(service)
    if is_named:
        name(service, mine)
    clock.now_s += 60
    assert service.ask("adminRemoveAttachment", ADA, attachmentId=mine).status == 204
    for later_s in (ADDRESS_SECONDS, HOUR_S):
        bring(store, mine)
        clock.now_s += later_s + 1
        swept(service)
        assert list(store.objects.all()) == []
    assert due(service) == []
    assert (keys.file(mine) in store.contents()) == is_named
    assert_intact(store)


def test_what_was_uploaded_long_ago_is_gone_at_once_when_nothing_names_it(
    store: Store, service: Process, clock: Standing, mailbox: Mailbox
) -> None:
    mine = upload(service)
    name(service, mine)
    clock.now_s += 2 * DAY_S
    swept(service)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    settle_later(store, mailbox, clock)
    assert [key for key in store.contents() if key.partition == keys.file(mine).partition] == []
    assert due(service) == []


def test_nothing_that_was_said_of_a_file_stays_when_it_is_let_go(
    store: Store, service: Process, mailbox: Mailbox, clock: Standing
) -> None:
    mine = upload(service, by=BOB)
    name(service, mine, to=OTHER, by=BOB)
    begun = service.ask("adminEraseUser", ADA, userId="bob")
    assert begun.status == 202
    service.ask("adminRemoveAttachment", ADA, attachmentId=mine)
    settle_later(store, mailbox, clock, begun.body["id"])
    [rest] = [item for key, item in store.contents().items() if key == keys.file(mine)]
    assert rest.keys() - {"PK", "SK"} == {"going", "removed", "createdAt", "named", "namedBy", "due"}
    said = described()
    for value in (said["name"], said["sha256"], "bob", "image/png"):
        assert value not in str(items.plain(rest))
    assert_intact(store)


def settle_later(store: Store, mailbox: Mailbox, clock: Standing, erasure_id: str | None = None) -> None:
    """Do all work that was announced, and the erasure."""
    if erasure_id is not None:
        mailbox.queue.announce([erasure_id], kind=JobKind.ERASURE)
    while mailbox.messages:
        clock.now_s += 61
        for message in mailbox.take():
            message.work(store.process(clock=clock), mailbox.queue, lease_s=100, wait_s=0)


def test_a_job_of_an_earlier_version_is_taken_over(store: Store, service: Process, clock: Standing) -> None:
    named, unnamed = upload(service), upload(service, b"unnamed")
    name(service, named)
    for of in (named, unnamed):
        file = store.item(keys.file(of))
        store.delete(keys.job(JobKind.UPLOAD, of, due=file.pop("due")["S"]))
        store.put(items.job_item(JobKind.UPLOAD, of, created_at=ids.timestamp(0)), file)
    assert_intact(store)
    clock.now_s += DAY_S + 1
    for _ in range(2):
        swept(service)
        clock.now_s += 1
        assert_intact(store)
    assert (left(store), due(service)) == ({named}, [])


def test_jobs_with_a_worker_are_in_no_other_ones_way(
    store: Store, service: Process, mailbox: Mailbox, clock: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "SWEPT_MAX", 2)
    at, until = (ids.timestamp((clock.now_s + later_s) * 1000) for later_s in (0, 900))
    trees = [ids.fresh_id(number, 1) for number in range(5)]
    for number, tree in enumerate(trees):
        held = until if number < 3 else items.FREE
        store.put(items.job_item(JobKind.DELETION, tree, created_at=at, leased_until=held))
    sweep(service.table, mailbox.queue)
    assert {one.group_id for one in mailbox.messages} == set(trees[3:])
    mailbox.take()
    clock.now_s += 901
    firsts = set()
    for _ in range(4):
        sweep(service.table, mailbox.queue)
        firsts.add(mailbox.take()[0].group_id)
        clock.now_s += 1
    assert firsts == set(trees[:2]), "each is announced first once: there may be no time for all"
