"""Each thing that happens is told by one event, and everything else by none."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import check_value
from forklore_service.domain.model import Caller, Channel, StartedBy
from forklore_service.domain.notes import Note
from forklore_service.events.event import BYTES_MAX, Content, size_of
from forklore_service.events.from_changes import ENTRIES_MAX
from forklore_service.storage import items
from forklore_service.storage.table import Table
from forklore_service.usecases.branches import copying
from forklore_service.usecases.branches.copying import Copy
from forklore_service.usecases.deletion import branch_removal
from forklore_service.usecases.deletion.tree_deletion import delete_conversation
from forklore_service.usecases.people import erasure_requests, notes, transfers
from forklore_service.usecases.people.notes import NoteRequest
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.shared.vectors import nearest
from forklore_service.usecases.writing import conversations
from forklore_service.usecases.writing.append import append_entries
from forklore_service.usecases.writing.conversations import Patch
from tests.service.events.recording import Recorded, events_in, told
from tests.service.usecases import members
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    create,
    fork,
    large,
    promote,
    said,
    say,
    show,
    thought,
    turn,
)
from tests.service.usecases.members import Killed, dies
from tests.support.mailbox import Mailbox, run_deletion, run_prune
from tests.support.meaning import nearness
from tests.support.tables import Store

MEMBER = {"treeId": ROOT, "type": "MembershipChanged", "userId": "bob"}


def child(table: Table, child_id: str = OTHER, *, of: str = ROOT, by: Caller = ANN) -> None:
    append_entries(table, caller=by, request=Append(child_id, [said("start")], start=StartedBy(of, None)))


def entry_of(entry_id: EntryId, **more: Any) -> dict[str, Any]:
    named = {"entryId": entry_id, "channel": "history", "role": "USER", "contentType": "history"}
    return {**named, "userId": "ann", "createdAt": keys.position(entry_id).partition("#")[0], **more}


def test_a_new_conversation_is_told_as_a_root(recorded: Recorded, table: Table) -> None:
    assert recorded.told(lambda: create(table, title="not told", tags={"not": "told"})) == [
        {
            "type": "ConversationCreated",
            "treeId": ROOT,
            "conversationId": ROOT,
            "kind": "root",
            "ownerUserId": "ann",
            "createdAt": show(table).conversation.created_at,
        }
    ]


def test_a_first_append_is_told_as_a_creation_and_an_append(recorded: Recorded, table: Table) -> None:
    made, appended = recorded.told(lambda: say(table, ROOT, "a secret", by=PLANNER))

    [entry_id] = [EntryId(appended["lastEntryId"])]
    assert (made["type"], made["kind"], made["clientId"]) == ("ConversationCreated", "root", "planner")
    assert appended == {
        "type": "EntriesAppended",
        "treeId": ROOT,
        "conversationId": ROOT,
        "ownerUserId": "ann",
        "lastEntryId": entry_id,
        "entryCount": 1,
        "entries": [entry_of(entry_id, clientId="planner")],
    }


def test_an_append_is_told_once_with_all_its_entries(recorded: Recorded, table: Table) -> None:
    [before] = say(table, ROOT, "first", by=PLANNER)

    def write() -> None:
        append(table, ROOT, said("one", agent_id="solver"), thought("two"), "three", by=PLANNER)

    [appended] = recorded.told(write)
    one, two, three = appended["entries"]
    assert (appended["afterEntryId"], appended["entryCount"]) == (before, 3)
    assert (one["agentId"], two["channel"], two["epoch"]) == ("solver", "context", 1)
    assert "role" not in two
    assert three["entryId"] == appended["lastEntryId"]


def test_a_sync_is_told_as_an_append_of_context_and_a_sync_of_nothing_new_not_at_all(
    recorded: Recorded, table: Table
) -> None:
    say(table, ROOT, "hello", by=PLANNER)
    [appended] = recorded.told(lambda: turn(table, ROOT, "again", context=["all", "of", "it"]))
    assert [entry["channel"] for entry in appended["entries"]] == ["history", "context"]
    assert recorded.told(lambda: turn(table, ROOT, context=["all", "of", "it"])) == []


def test_a_fork_names_where_it_leaves(recorded: Recorded, table: Table) -> None:
    first, second = say(table, ROOT, "one", "two")
    members.share(table, "bob")
    [made] = recorded.told(lambda: fork(table, anchor=second, by=BOB))
    assert made == {
        "type": "ConversationCreated",
        "treeId": ROOT,
        "conversationId": FORK,
        "kind": "fork",
        "ownerUserId": "ann",
        "createdAt": show(table, FORK).conversation.created_at,
        "forkedAtConversationId": ROOT,
        "forkedAtEntryId": second,
        "forkedAtPosition": "before",
    }
    created, appended = recorded.told(lambda: append(table, TWIG, "other", fork=(FORK, first), by=BOB))
    assert (created["kind"], created["forkedAtConversationId"]) == ("fork", FORK)
    assert [entry["userId"] for entry in appended["entries"]] == ["bob"]
    assert "afterEntryId" not in appended


def test_equal_forks_are_told_one_by_one_and_the_promoted_one_is_promoted(
    recorded: Recorded, table: Table
) -> None:
    say(table, ROOT, "one")
    forked = recorded.told(lambda: fork(table, fork_id=None, times=3))
    assert [one["kind"] for one in forked] == ["fork"] * 3
    assert len({one["conversationId"] for one in forked}) == 3
    assert recorded.told(lambda: fork(table, promotes=True))[1] == {
        "type": "BranchPromoted",
        "treeId": ROOT,
        "conversationId": FORK,
        "previousConversationId": ROOT,
    }


def test_a_child_names_what_started_it_and_its_members_are_not_told(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "one")
    members.share(table, "bob")
    made, appended = recorded.told(lambda: child(table))
    assert (made["kind"], made["treeId"], made["startedByConversationId"]) == ("child", OTHER, ROOT)
    assert appended["type"] == "EntriesAppended"


def test_a_staged_child_is_told_once_it_is_live(
    recorded: Recorded, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forklore_service.usecases.branches.children.TRANSACTION_WRITES_MAX", 12)
    say(table, ROOT, "one")
    for at in range(4):
        members.share(table, f"user-{at}")
    assert [one["type"] for one in recorded.told(lambda: child(table))] == [
        "ConversationCreated",
        "EntriesAppended",
    ]


def test_a_copy_is_told_with_its_number_of_entries_and_the_first_of_them(
    recorded: Recorded, table: Table
) -> None:
    for _ in range(3):
        say(table, ROOT, *["x"] * 40)
    request = Copy(ROOT, OTHER)
    made, appended = recorded.told(lambda: copying.copy_conversation(table, caller=ANN, request=request))
    assert (made["kind"], appended["entryCount"]) == ("root", 120)
    assert len(appended["entries"]) == ENTRIES_MAX
    assert {one["copiedFromConversationId"] for one in appended["entries"]} == {ROOT}


def test_a_copy_that_takes_another_over_names_nothing_that_the_other_has_copied(
    recorded: Recorded, store: Store, table: Table
) -> None:
    """What the first has put, and the second has erased, is still in the batch."""
    for _ in range(3):
        say(table, ROOT, *["secret"] * 40)
    say(table, FORK, "one", "two")
    killed = store.process()
    dies(killed, 4, before=False)

    def begin() -> None:
        with pytest.raises(Killed):
            copying.copy_conversation(killed, caller=ANN, request=Copy(ROOT, OTHER))

    ghosts = [one for one in recorded.changes(begin) if one.key.partition == OTHER]
    real = recorded.changes(lambda: copying.copy_conversation(table, caller=ANN, request=Copy(FORK, OTHER)))
    put = [change for change in real if change.new is not None]
    entries = [one for one in put if one.key.sort[0].isdigit()]
    rest = [one for one in put if one not in entries]

    batches = [[*ghosts, *put], [*ghosts[-1:], *entries[1:], *rest], [*entries, *rest]]
    for batch in batches:
        _, appended = map(told, events_in(batch, store.process(), content=Content.HISTORY))
        assert appended["entryCount"] == 2
        texts = [entry["content"][0]["text"] for entry in appended["entries"]]
        assert texts == ["one", "two"]
    assert len(ghosts) > 80


def test_a_patch_is_told_once_and_an_append_that_sets_the_title_is_no_patch(
    recorded: Recorded, table: Table
) -> None:
    create(table)
    [appended] = recorded.told(lambda: say(table, ROOT, "the title"))
    assert appended["type"] == "EntriesAppended"
    patch = Patch({"title": "secret", "tags": {"a": "b"}})
    [changed] = recorded.told(
        lambda: conversations.update_conversation(table, caller=ANN, conversation_id=ROOT, change=patch)
    )
    assert changed == {
        "type": "ConversationChanged",
        "treeId": ROOT,
        "conversationId": ROOT,
        "ownerUserId": "ann",
        "updatedAt": show(table).head.updated_at,
    }


def test_a_promotion_is_told_if_the_current_branch_is_another_one(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "one")
    fork(table)
    ids = set[str]()
    for to, was in ((FORK, ROOT), (ROOT, FORK), (FORK, ROOT)):
        [event] = recorded.events(lambda to=to: promote(table, to))  # type: ignore[misc]
        assert json.loads(event.detail)["previousConversationId"] == was
        ids.add(event.event_id)
    assert len(ids) == 3
    assert recorded.told(lambda: promote(table, FORK)) == []


def test_each_change_of_a_membership_is_told_with_the_level_before_it(
    recorded: Recorded, table: Table
) -> None:
    create(table)
    steps: list[tuple[Callable[[], object], dict[str, str]]] = [
        (lambda: members.share(table, "bob", AccessLevel.READER), {"accessLevel": "reader"}),
        (
            lambda: members.update(table, "bob", AccessLevel.WRITER),
            {"accessLevel": "writer", "previousAccessLevel": "reader"},
        ),
        (
            lambda: members.update(table, "bob", AccessLevel.READER),
            {"accessLevel": "reader", "previousAccessLevel": "writer"},
        ),
        (
            lambda: members.update(table, "bob", AccessLevel.WRITER),
            {"accessLevel": "writer", "previousAccessLevel": "reader"},
        ),
        (lambda: members.remove(table, "bob", by=BOB), {"previousAccessLevel": "writer"}),
    ]
    ids = set[str]()
    for write, levels in steps:
        [event] = recorded.events(write)
        assert json.loads(event.detail) == {**{k: v for k, v in MEMBER.items() if k != "type"}, **levels} | {
            "eventId": event.event_id
        }
        ids.add(event.event_id)
    assert len(ids) == len(steps)


def test_a_level_that_stays_is_not_told(recorded: Recorded, table: Table) -> None:
    create(table)
    members.share(table, "bob", AccessLevel.WRITER)
    assert recorded.told(lambda: members.update(table, "bob", AccessLevel.WRITER)) == []


def test_a_transfer_is_told_once_when_it_is_accepted(recorded: Recorded, table: Table) -> None:
    create(table)
    members.share(table, "bob")
    offered: list[str] = []
    assert recorded.told(lambda: offered.append(members.offer(table).transfer_id)) == []
    accept = lambda: transfers.accept_transfer(table, caller=BOB, transfer_id=offered[0])  # noqa: E731
    assert recorded.told(accept) == [
        {"type": "OwnershipTransferred", "treeId": ROOT, "fromUserId": "ann", "toUserId": "bob"}
    ]


def test_the_end_of_an_offer_is_not_told(recorded: Recorded, table: Table) -> None:
    create(table)
    members.share(table, "bob")
    offer = members.offer(table)
    assert (
        recorded.told(lambda: transfers.delete_transfer(table, caller=ANN, transfer_id=offer.transfer_id))
        == []
    )


def test_a_deletion_is_told_by_one_event_with_its_forks_children_and_members(
    recorded: Recorded, table: Table
) -> None:
    queue = Mailbox().queue
    say(table, ROOT, "one", "two")
    fork(table)
    members.share(table, "bob")
    child(table)
    child(table, TWIG, of=OTHER)

    def work() -> None:
        for tree in (ROOT, OTHER, TWIG):
            assert run_deletion(table, queue, tree, wait_s=0)

    delete = lambda: delete_conversation(table, queue, caller=ANN, conversation_id=ROOT)  # noqa: E731
    [deleted] = recorded.told(delete)
    assert (deleted["type"], deleted["treeId"], deleted["ownerUserId"]) == ("TreeDeleted", ROOT, "ann")
    assert recorded.told(work) == []


def test_a_child_that_is_deleted_itself_is_told(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "one")
    child(table)
    events = recorded.told(
        lambda: delete_conversation(table, Mailbox().queue, caller=ANN, conversation_id=OTHER, wait_s=0)
    )
    assert [(one["type"], one["treeId"]) for one in events] == [("TreeDeleted", OTHER)]


def test_a_removed_branch_is_told_once_and_its_pruning_not(recorded: Recorded, table: Table) -> None:
    queue = Mailbox().queue
    say(table, ROOT, "one")
    fork(table)
    say(table, FORK, "two")
    child(table, of=FORK)
    [removed] = recorded.told(
        lambda: branch_removal.remove_branch(table, queue, caller=ANN, conversation_id=FORK, wait_s=0)
    )
    assert (removed["type"], removed["conversationId"]) == ("BranchDeleted", FORK)
    assert recorded.told(lambda: run_prune(table, queue, ROOT, FORK, wait_s=0)) == []


def test_the_removal_of_the_current_branch_tells_the_next_one(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "one")
    fork(table, promotes=True)
    events = recorded.told(
        lambda: branch_removal.remove_branch(
            table, Mailbox().queue, caller=ANN, conversation_id=FORK, wait_s=0
        )
    )
    assert {one["type"]: one["conversationId"] for one in events} == {
        "BranchDeleted": FORK,
        "BranchPromoted": ROOT,
    }


def test_the_removal_of_the_last_branch_is_a_deletion_of_the_tree(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "one")
    events = recorded.told(
        lambda: branch_removal.remove_branch(
            table, Mailbox().queue, caller=ANN, conversation_id=ROOT, wait_s=0
        )
    )
    assert [one["type"] for one in events] == ["TreeDeleted"]


def test_an_entry_that_is_changed_afterwards_tells_nothing(
    recorded: Recorded, store: Store, table: Table
) -> None:
    [entry_id] = say(table, ROOT, "one")
    assert recorded.told(lambda: store.change(keys.entry(ROOT, entry_id), userId=items.text("gone"))) == []


def test_a_note_is_told_once_and_its_deletion_not(recorded: Recorded, table: Table) -> None:
    [entry_id] = say(table, ROOT, "one")
    made: list[Note] = []

    def write() -> None:
        made.append(notes.add_note(table, caller=ANN, request=NoteRequest(ROOT, entry_id, "so so", 0.5)))

    [event] = recorded.told(write)
    [note] = made
    assert event == {
        "type": "NoteAdded",
        "treeId": ROOT,
        "conversationId": ROOT,
        "entryId": entry_id,
        "noteId": note.ref.note_id,
        "userId": "ann",
        "score": 0.5,
        "createdAt": note.created_at,
    }
    [with_text] = recorded.events(write, content=Content.HISTORY)
    assert told(with_text)["text"] == "so so"
    gone = {"conversation_id": ROOT, "entry_id": entry_id, "note_id": note.ref.note_id}
    assert recorded.told(lambda: notes.delete_note(table, caller=ANN, **gone)) == []

    def pin() -> None:
        notes.add_note(table, caller=ANN, request=NoteRequest(ROOT, entry_id, pinned=True))

    [pinned] = recorded.told(pin)
    assert (pinned["type"], pinned["pinned"], "score" in pinned) == ("NoteAdded", True, False)
    assert recorded.told(pin) == []


def test_vectors_tell_nothing(recorded: Recorded, table: Table) -> None:
    say(table, ROOT, "The inn.")
    model = nearness()
    table.by_meaning = True

    def embed() -> None:
        nearest(table, model, ROOT, caller=ANN, question="lodging")

    assert any(key.sort.startswith("VEC#") for key, *_ in recorded.changes(embed))
    say(table, ROOT, "A hotel.")
    assert recorded.events(embed, content=Content.HISTORY) == []


def test_events_hold_the_content_of_the_history_exactly_if_it_is_wanted(
    recorded: Recorded, table: Table
) -> None:
    text = '[{"role": "user", "text": "é", "n": 1.0e2, "m": 12345678901234567890123}]'
    draft = Draft.of(Channel.HISTORY, "history", check_value(text))
    create(table, by=PLANNER)
    write = lambda: append(table, ROOT, draft, thought("private"), by=PLANNER)  # noqa: E731
    [event] = recorded.events(write, content=Content.HISTORY)
    assert f'"content":{text}' in event.detail
    assert "private" not in event.detail
    first, second = json.loads(event.detail)["entries"]
    assert first["role"] == "USER"
    assert "contentOmitted" not in second


def test_content_that_does_not_fit_is_left_out_with_a_mark(recorded: Recorded, table: Table) -> None:
    create(table)
    write = lambda: append(table, ROOT, "small", large(BYTES_MAX), "after")  # noqa: E731
    [event] = recorded.events(write, content=Content.HISTORY)
    small, too_large, after = json.loads(event.detail)["entries"]
    assert "content" in small
    assert too_large["contentOmitted"]
    assert "content" in after
    assert event.size <= BYTES_MAX


@pytest.mark.parametrize("missing", [0, 1])
def test_content_fits_to_the_last_byte(recorded: Recorded, table: Table, missing: int) -> None:
    create(table)
    [event] = recorded.events(lambda: say(table, ROOT, "x"), content=Content.HISTORY)
    # What an entry holds beside its content is the same for both; a mark is reserved besides.
    room = BYTES_MAX - event.size - len(',"contentOmitted":true') - len(f',"afterEntryId":"{ROOT}"') - 1
    text = "x" * (1 + room + missing)
    [event] = recorded.events(lambda: say(table, ROOT, text), content=Content.HISTORY)
    [entry] = json.loads(event.detail)["entries"]
    assert ("content" in entry) is (missing == 0)
    assert event.size == size_of(event.detail_type, event.detail) <= BYTES_MAX


def test_no_event_holds_content_by_default(recorded: Recorded, table: Table) -> None:
    def write() -> None:
        create(table, title="secret title", tags={"secret": "tag"}, metadata='{"secret":1}')
        say(table, ROOT, "secret text")

    assert "secret" not in "".join(event.detail for event in recorded.events(write))


def test_a_large_entry_is_told_with_its_role(recorded: Recorded, table: Table) -> None:
    create(table)
    noise = random.Random(1).randbytes(60_000).hex()
    [appended] = recorded.told(lambda: say(table, ROOT, noise))
    assert appended["entries"][0]["role"] == "USER"


def test_the_append_of_a_deleted_tree_is_told_with_what_is_left(
    recorded: Recorded, store: Store, table: Table
) -> None:
    queue = Mailbox().queue
    [first] = say(table, ROOT, "one")
    changes = recorded.changes(lambda: say(table, ROOT, "two"))
    delete_conversation(table, queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    run_deletion(table, queue, ROOT, wait_s=0)
    heads = [change for change in changes if change.key.sort.startswith("HEAD#")]
    [whole], [rest] = (events_in(some, store.process()) for some in (changes, heads))
    assert rest.event_id == whole.event_id
    assert told(rest) == {**told(whole), "entries": []}
    assert told(rest)["afterEntryId"] == first


def test_the_erasure_of_a_user_tells_the_end_of_a_membership_and_nothing_of_entries(
    recorded: Recorded, store: Store, table: Table
) -> None:
    say(table, ROOT, "mine")
    members.share(table, "bob")
    appended = recorded.changes(lambda: say(table, ROOT, "of bob", by=BOB))

    def erase() -> None:
        mailbox = Mailbox()
        erasure_requests.erase_user(table, mailbox.queue, caller=ANN, user_id="bob")
        for message in [*mailbox.take(), *mailbox.take()]:
            message.work(store.process(), mailbox.queue)

    [ended] = recorded.told(erase)

    assert (ended["type"], ended["previousAccessLevel"]) == ("MembershipChanged", "writer")
    heads = [change for change in appended if change.key.sort.startswith("HEAD#")]
    [late] = events_in(heads, store.process(), content=Content.HISTORY)
    [entry] = told(late)["entries"]
    assert entry["erased"]
    assert entry["userId"] != "bob"
    assert not {"role", "content", "contentOmitted"} & entry.keys()
