"""Attachments: uploads, entries that name them, who may read them, and when they are gone."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.model import Caller, JobKind
from forklore_service.storage.actions import Action, ActionKind, ConditionFailed
from forklore_service.storage.objects import Expected, Link
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import erasing, erasure_requests
from forklore_service.usecases.shared import attachments
from forklore_service.usecases.shared.attachments import let_go
from tests.service.usecases.attachments.files import (
    PHOTO,
    assert_intact,
    described,
    in_two_days,
    left,
    name,
    send,
    settle,
    shown,
    upload,
)
from tests.service.usecases.builders import ANN, BOB, EVE, FORK, OTHER, ROOT, TWIG, conversation
from tests.service.usecases.members import Killed, dies
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tools.harness.service import Answer, Process
from tools.harness.wire import Wire

ADA = Caller("ada", roles=frozenset({"admin"}))
COPY = conversation(88)


@pytest.fixture
def service(store: Store) -> Process:
    return Process(store)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


def get(service: Process, attachment_id: str, by: Caller = ANN, **more: Any) -> Answer:
    return service.ask("getAttachment", by, attachmentId=attachment_id, **more)


# Uploads


def test_an_upload_says_where_to_send_the_bytes_and_is_ready_when_they_are_there(
    store: Store, service: Process
) -> None:
    begun = service.ask("uploadAttachment", ANN, **described())
    assert (begun.status, begun.body["state"], begun.body["upload"]["method"]) == (201, "pending", "PUT")
    assert "url" not in begun.body
    send(store, begun.id, PHOTO)
    again = service.ask("uploadAttachment", ANN, **described(name="another.png"))
    assert (again.id, again.body["state"], again.body["name"]) == (begun.id, "ready", "cat.png")
    assert "upload" not in again.body
    assert "url" in again.body


def test_the_same_bytes_are_one_attachment_for_each_user_and_type(service: Process) -> None:
    first = upload(service)
    assert upload(service) == first
    assert len({first, upload(service, by=BOB), upload(service, contentType="image/jpeg")}) == 3


def test_content_must_be_what_is_said_of_it(service: Process) -> None:
    wrong = described(size=3, content="AAAA", sha256="0" * 64)
    assert service.ask("uploadAttachment", ANN, **wrong).body["details"]["field"] == "sha256"
    assert service.ask("uploadAttachment", ANN, **wrong | {"size": 4}).body["details"]["field"] == "size"


@pytest.mark.parametrize("hostile", ["../x", "a/b", "a\\b", "a\0b", "..", "a\u202eb", "é" * 128, ""])
def test_a_hostile_name_is_refused(service: Process, hostile: str) -> None:
    assert service.ask("uploadAttachment", ANN, **described(name=hostile)).status == 400
    mine = upload(service)
    content = [{"text": "x", "attachments": [{"id": mine, "name": hostile}]}]
    said: dict[str, Any] = {"contentType": "history", "content": content}
    assert service.ask("appendEntry", ANN, conversationId=ROOT, **said).status == 400


def test_an_upload_that_no_entry_names_is_gone_after_a_day(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    forgotten, named = upload(service), upload(service, b"kept")
    begun = service.ask("uploadAttachment", ANN, **described(b"never sent"))
    name(service, named)
    sweep(service.table, mailbox.queue)
    assert left(store) == {forgotten, named, begun.id}
    sweep(in_two_days(store), mailbox.queue)
    assert left(store) == {named}
    assert upload(service) != forgotten
    assert_intact(store)


def test_without_a_store_everything_about_attachments_is_refused(store: Store) -> None:
    service = Process(store)
    mine = upload(service)
    service.table.objects = None
    refused = [service.ask("uploadAttachment", ANN, **described()), get(service, mine), name(service, mine)]
    assert [one.body["details"]["reason"] for one in refused] == ["attachments_off"] * 3


def test_the_same_bytes_have_one_size(service: Process) -> None:
    service.ask("uploadAttachment", ANN, **described() | {"size": 5})
    for more in ({}, {"content": b64encode(PHOTO).decode()}):
        refused = service.ask("uploadAttachment", ANN, **described(**more))
        assert (refused.status, refused.body["details"]["field"]) == (400, "size")


# Entries that name them


def test_an_entry_shows_what_its_content_names(service: Process) -> None:
    mine = upload(service)
    content = [
        {
            "text": "look",
            "attachments": [
                {"id": mine, "name": "photo.png"},
                {"href": "/x", "contentType": "a/b", "id": "no"},
            ],
        }
    ]
    said = service.ask("appendEntry", ANN, conversationId=ROOT, contentType="history", content=content)
    assert said.body["content"] == content
    [file] = said.body["attachments"]
    assert file.pop("url")
    assert file.pop("urlExpiresAt")
    assert file == {"id": mine, "name": "photo.png", "contentType": "image/png", "size": len(PHOTO)}
    [listed] = service.ask("listEntries", ANN, conversationId=ROOT).body["data"]
    assert listed["attachments"][0]["name"] == "photo.png"
    assert get(service, mine).body["name"] == "cat.png"


def test_an_entry_without_text_is_shown_by_the_names_of_its_uploads(service: Process) -> None:
    photo, plan = upload(service), upload(service, b"plan", name="plan.pdf")
    linked = [{"href": "/", "contentType": "x/y", "name": name} for name in ("", "far.pdf")]
    files = [{"id": photo}, *linked, {"id": plan, "name": "a.pdf"}]
    message = {"role": "USER", "attachments": files}
    said: dict[str, Any] = {"channel": "history", "contentType": "history", "content": [message]}
    made = service.ask("appendEntry", ANN, conversationId=ROOT, **said)
    at = {"forkedAtConversationId": ROOT, "forkedAtEntryId": made.id}
    service.ask("appendEntry", ANN, conversationId=OTHER, **said, **at)
    by_anchor = {"atEntryId": made.id, "position": "after"}
    service.ask("forkConversation", ANN, conversationId=ROOT, id=FORK, **by_anchor)
    service.ask("copyConversation", ANN, conversationId=ROOT, id=COPY, upToEntryId=made.id)
    found = [service.ask("getConversation", ANN, conversationId=one) for one in (ROOT, OTHER, FORK, COPY)]
    assert [one.body["lastMessagePreview"] for one in found] == ["cat.png, far.pdf, a.pdf"] * 4


def test_an_entry_is_found_by_the_names_of_its_files(service: Process) -> None:
    mine = upload(service, name="Straßenkarte 2026.PNG")
    first = name(service, mine)
    content = [{"text": "look", "attachments": [{"id": mine, "name": "map.png"}]}]
    second = service.ask("appendEntry", ANN, conversationId=ROOT, contentType="history", content=content)

    for query, found, highlights in (
        ("+strassenkarte +.png", first.id, ["Straßenkarte 2026.PNG"]),
        ("+MAP +look", second.id, ["look", "map.png"]),
    ):
        [hit] = service.ask("searchConversations", ANN, query=query).body["data"]
        assert (hit["entryId"], hit["highlights"]) == (found, highlights)


def test_only_what_is_answered_is_signed(
    store: Store, service: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed, sign = list[str](), store.objects.link

    def link(attachment_id: str, **more: Any) -> Link:
        signed.append(attachment_id)
        return sign(attachment_id, **more)

    monkeypatch.setattr(store.objects, "link", link)
    first, *_ = [name(service, upload(service)).id for _ in range(3)]
    before = {"atEntryId": first, "position": "before"}
    service.ask("forkConversation", ANN, conversationId=ROOT, id=FORK, **before)
    found = {"query": "look", "limit": 1, "includeEntry": True}
    for operation, more, answered in (
        ("copyConversation", {"conversationId": ROOT}, 0),
        ("mergeConversation", {"conversationId": FORK, "fromConversationId": ROOT}, 3),
        ("searchConversations", found, 1),
        ("searchConversations", found | {"includeEntry": False}, 0),
    ):
        signed.clear()
        service.ask(operation, ANN, **more)
        assert len(signed) == answered, operation


def test_who_has_uploaded_it_names_it_first_and_then_who_is_shown_it(service: Process) -> None:
    mine = upload(service)
    assert name(service, mine, to=OTHER, by=BOB).status == 404
    assert get(service, mine, by=BOB).status == 404
    name(service, mine)
    assert name(service, mine, to=OTHER, by=BOB).status == 404
    service.ask("shareConversation", ANN, conversationId=ROOT, userId="bob", accessLevel="reader")
    assert get(service, mine, by=BOB).status == 200
    assert name(service, mine, to=OTHER, by=BOB).status == 201
    service.ask("removeMembership", ANN, conversationId=ROOT, userId="bob")
    assert get(service, mine, by=BOB).status == 200, "an own entry names it"
    assert get(service, mine, by=BOB, conversationId=ROOT).status == 404
    assert get(service, mine, by=BOB, conversationId=OTHER).status == 200
    assert get(service, mine, by=EVE).status == 404


def test_a_conversation_that_is_not_there_comes_before_an_attachment_that_is_not(service: Process) -> None:
    name(service, upload(service))
    unknown = "00000000-0000-7000-8000-000000000001"
    assert name(service, unknown, by=EVE).status == 403
    assert name(service, unknown).body["details"]["field"] == "attachments"


@pytest.mark.parametrize("finishes", [None, OTHER])
def test_what_another_process_has_said_comes_before_an_attachment_or_an_answer_that_is_not(
    store: Store, service: Process, finishes: str | None
) -> None:
    last = name(service).id
    newer = name(Process(store)).id

    told = name(service, *([] if finishes else [OTHER]), if_match=last, answerId=finishes)
    assert (told.status, told.body["details"]["lastEntryId"]) == (409, newer)


def test_what_was_not_sent_or_is_not_what_was_said_cannot_be_named(store: Store, service: Process) -> None:
    begun = service.ask("uploadAttachment", ANN, **described())
    assert name(service, begun.id).body["details"]["reason"] == "not_uploaded"
    send(store, begun.id, PHOTO[::-1])
    assert name(service, begun.id).body["details"]["reason"] == "not_uploaded"
    send(store, begun.id, PHOTO)
    assert name(service, begun.id).status == 201
    assert get(service, begun.id).body["state"] == "ready"


def test_an_entry_names_ten_attachments_and_no_more(service: Process) -> None:
    ten = [upload(service, bytes([at])) for at in range(10)]
    assert name(service, *ten, ten[0]).status == 201
    assert shown(service) == [ten]
    assert name(service, *ten, upload(service, b"one more")).status == 400


def test_every_way_to_make_entries_names_attachments(store: Store, service: Process) -> None:
    mine = upload(service)
    first = name(service, mine, key="first")
    name(service, mine, to=FORK, forkedAtConversationId=ROOT, forkedAtEntryId=first.id)
    name(service, mine, to=TWIG, startedByConversationId=ROOT)
    said: dict[str, Any] = {
        "contentType": "history",
        "content": [{"text": "x", "attachments": [{"id": mine}]}],
    }
    assert service.ask("appendEntryByName", ANN, name="n", **said).status == 201
    service.ask("mergeConversation", ANN, conversationId=FORK, fromConversationId=ROOT)
    service.ask("copyConversation", ANN, conversationId=ROOT, id=OTHER)
    assert [shown(service, one) for one in (ROOT, FORK, TWIG, OTHER)] == [
        [[mine]],
        [[mine], [mine]],
        [[mine]],
        [[mine]],
    ]
    references = service.table.read.references(mine, limit=100)
    assert len(list(references)) == 6
    assert_intact(store)


def test_the_same_request_under_a_key_is_answered_again_when_the_attachment_is_gone(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    mine = upload(service)
    said = name(service, mine, idempotency_key="k")
    again = name(service, mine, idempotency_key="k")
    assert again.body == said.body


def test_who_sees_the_tree_names_what_it_shows_however_many_others_do(
    service: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, in_other_trees = upload(service), [conversation(0), conversation(5)]
    *_, first = [name(service, mine, to=of) for of in (*in_other_trees, ROOT)]
    service.ask("shareConversation", ANN, conversationId=ROOT, userId="bob", accessLevel="writer")
    monkeypatch.setattr(attachments, "TREES_MAX", 1)

    made = [
        name(service, mine, by=BOB),
        name(service, mine, to=FORK, by=BOB, forkedAtConversationId=ROOT, forkedAtEntryId=first.id),
        name(service, mine, to=TWIG, by=BOB, startedByConversationId=ROOT),
    ]
    assert [one.status for one in made] == [201] * 3
    assert name(service, mine, to=OTHER, by=BOB).status == 404
    assert name(service, mine, to=ROOT, by=EVE).status == 403


# When they are gone


def test_an_attachment_is_there_as_long_as_an_entry_names_it(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    mine, own = upload(service), upload(service, b"of the fork")
    first = name(service, mine)
    name(service, own, mine, to=FORK, forkedAtConversationId=ROOT, forkedAtEntryId=first.id)
    copied = service.ask("copyConversation", ANN, conversationId=ROOT)
    remove_branch(service.table, mailbox.queue, caller=ANN, conversation_id=FORK, wait_s=0)
    settle(store, mailbox)
    assert left(store) == {mine}
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    settle(store, mailbox)
    assert left(store) == {mine}
    assert_intact(store)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=copied.id, wait_s=0)
    settle(store, mailbox)
    assert left(store) == set()
    assert_intact(store)


def test_what_a_fork_shows_of_a_removed_branch_keeps_its_attachments(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    mine, unseen = upload(service), upload(service, b"after the fork")
    first = name(service, mine)
    name(service, unseen)
    service.ask("forkConversation", ANN, conversationId=ROOT, id=FORK, atEntryId=first.id, position="after")
    remove_branch(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    settle(store, mailbox)
    assert left(store) == {mine}
    assert shown(service, FORK) == [[mine]]
    assert_intact(store)


def test_what_an_upload_has_just_found_waits_for_its_entry(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    mine, unused = upload(service), upload(service, b"unused")
    name(service, mine, unused)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    assert [upload(service), upload(service, b"unused")] == [mine, unused]
    settle(store, mailbox)
    assert left(store) == {mine, unused}
    assert name(service, mine, to=OTHER).status == 201
    assert_intact(store)
    sweep(in_two_days(store), mailbox.queue)
    assert left(store) == {mine}
    assert list(service.table.read.jobs(JobKind.UPLOAD)) == []
    assert_intact(store)


def test_a_copy_that_takes_another_over_leaves_its_attachments_to_the_sweep(
    store: Store, service: Process, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who answers requests may not delete bytes."""
    ten = [upload(service, bytes([at])) for at in range(10)]
    for _ in range(5):
        name(service, *ten)
    service.ask("createConversation", ANN, id=OTHER)
    killed = Process(store)
    dies(killed.table, 4, before=False)
    with pytest.raises(Killed):
        killed.ask("copyConversation", ANN, conversationId=ROOT, id=COPY)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    settle(store, mailbox)
    assert left(store) == set(ten)

    with monkeypatch.context() as patched:
        patched.setattr(store.objects, "delete", None)
        assert service.ask("copyConversation", ANN, conversationId=OTHER, id=COPY).status == 201
    assert_intact(store)
    sweep(in_two_days(store), mailbox.queue)
    assert left(store) == set()
    assert_intact(store)


@pytest.mark.failure("attachment-race")
def test_who_names_it_while_the_last_entry_goes_keeps_it(
    store: Store, service: Process, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = upload(service)
    name(service, mine)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    [message] = mailbox.take()
    worker, named = store.process(), list[int]()
    commit = worker.try_commit

    def beside(writes: Sequence[Action]) -> ConditionFailed | None:
        if not named and any(one.kind is ActionKind.FILE for one in writes):
            named.append(name(service, mine, to=OTHER).status)
        return commit(writes)

    monkeypatch.setattr(worker, "try_commit", beside)
    monkeypatch.setattr(worker, "within", lambda *_args, **_more: worker)
    message.work(worker, mailbox.queue)
    assert named == [201]
    assert left(store) == {mine}
    assert get(service, mine).body["state"] == "ready"
    assert_intact(store)


def test_who_names_it_while_it_goes_is_told_that_there_is_none(store: Store, service: Process) -> None:
    name(service)
    mine = upload(service)
    Wire.of(service.table).just_before(
        "TransactWriteItems", lambda: let_go(store.process(), [mine], waits=False)
    )
    told = name(service, mine)
    assert (told.status, told.body["details"]["field"]) == (404, "attachments")
    assert_intact(store)


def test_who_names_it_after_it_was_given_up_is_told_that_there_is_none(
    store: Store, service: Process, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before the bytes are deleted, and a sweep goes on."""
    mine = upload(service)

    def dies(_object_id: str) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store.objects, "delete", dies)
        with pytest.raises(Killed):
            let_go(service.table, [mine])
    assert name(service, mine).status == 404
    assert upload(service) != mine
    sweep(in_two_days(store), mailbox.queue)
    assert mine not in left(store)
    assert_intact(store)


@pytest.mark.failure("late-bytes")
def test_bytes_that_arrive_after_it_is_gone_are_deleted(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    gone, removed = upload(service), upload(service, b"removed")
    name(service, gone, removed)
    name(service, removed, to=OTHER)
    service.ask("adminRemoveAttachment", ADA, attachmentId=removed)
    delete_conversation(service.table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    settle(store, mailbox)
    for late in gone, removed:
        store.objects.store(late, BytesIO(PHOTO), Expected("image/png", len(PHOTO), described()["sha256"]))
    assert_intact(store)
    sweep(in_two_days(store), mailbox.queue)
    assert list(store.objects.all()) == []
    assert len(service.table.get([keys.file(gone), keys.job(JobKind.UPLOAD, removed)])) == 0
    assert_intact(store)


def test_an_upload_that_is_removed_while_it_arrives_is_made_anew(
    store: Store, service: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, keep = service.ask("uploadAttachment", ANN, **described()).id, store.objects.store

    def removed_meanwhile(*arguments: Any) -> None:
        keep(*arguments)
        monkeypatch.undo()
        assert service.ask("adminRemoveAttachment", ADA, attachmentId=begun).status == 204

    monkeypatch.setattr(store.objects, "store", removed_meanwhile)
    anew = upload(service)
    assert anew != begun
    assert name(service, anew).status == 201
    assert_intact(store)


# Erasure and administration


def test_an_erasure_frees_what_only_the_user_named_and_forgets_whose_the_rest_was(
    store: Store, service: Process, mailbox: Mailbox
) -> None:
    name(service, upload(service, b"of Bob", by=BOB), by=BOB, to=OTHER)
    service.ask("shareConversation", BOB, conversationId=OTHER, userId="ann", accessLevel="writer")
    mine, passed_on, pending = upload(service), upload(service, b"passed on"), upload(service, b"unnamed")
    name(service, mine, passed_on, to=OTHER)
    name(service, passed_on, to=OTHER, by=BOB)
    erasure_requests.erase_user(service.table, mailbox.queue, caller=ADA, user_id="ann", idempotency_key=None)
    settle(store, mailbox)
    assert not left(store) & {mine, pending}
    assert shown(service, OTHER, BOB)[1] == []
    assert get(service, passed_on, BOB).status == 200
    file = service.table.get([keys.file(passed_on)]).file(passed_on)
    assert file is not None
    assert file.owner is None
    assert_intact(store)


@pytest.mark.failure("killed-erasure")
def test_an_erasure_that_is_killed_behind_the_references_is_no_damage(
    store: Store, service: Process, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    name(service, upload(service, b"of Bob", by=BOB), by=BOB, to=OTHER)
    service.ask("shareConversation", BOB, conversationId=OTHER, userId="ann", accessLevel="writer")
    name(service, upload(service), to=OTHER)
    erasure_requests.erase_user(service.table, mailbox.queue, caller=ADA, user_id="ann", idempotency_key=None)

    def dies(*_given: Any, **of_the_user: Any) -> None:
        if not of_the_user:
            raise Killed

    monkeypatch.setattr(erasing, "let_go", dies)
    with pytest.raises(Killed):
        settle(store, mailbox)
    assert_intact(store)


def test_an_admin_removes_the_bytes_and_nobody_names_them_again(store: Store, service: Process) -> None:
    mine = upload(service)
    name(service, mine)
    asked = {"attachmentId": mine}
    assert service.ask("adminRemoveAttachment", ANN, **asked).status == 403
    assert service.ask("adminRemoveAttachment", ADA, **asked).status == 204
    assert list(store.objects.all()) == []
    assert get(service, mine).body["state"] == "removed"
    assert name(service, mine).status == 404
    assert shown(service) == [[mine]]
    copied = service.ask("copyConversation", ANN, conversationId=ROOT)
    assert shown(service, copied.id) == [[mine]]
    assert upload(service) != mine
    assert_intact(store)


def test_an_admin_lists_the_attachments_of_a_user_page_by_page(service: Process) -> None:
    mine = {upload(service, bytes([at])) for at in range(5)}
    upload(service, by=BOB)
    found, cursor = [], None
    while True:
        after: dict[str, str] = {} if cursor is None else {"afterCursor": cursor}
        page = service.ask("adminListAttachments", ADA, userId="ann", limit=2, **after).body
        found += page["data"]
        cursor = page["afterCursor"]
        if cursor is None:
            break
    assert {one["id"] for one in found} == mine
    assert [one["sha256"] for one in found] == sorted(one["sha256"] for one in found)
    assert {one["userId"] for one in found} == {"ann"}
    assert service.ask("adminGetAttachment", ADA, attachmentId=found[0]["id"]).body["userId"] == "ann"
