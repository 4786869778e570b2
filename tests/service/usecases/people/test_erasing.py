"""The erasure of a user: nothing in the table names the user or holds the user's words."""

import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.api import answers
from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.erasures import PSEUDONYM_PREFIX, Erasure
from forklore_service.domain.jsontext import text_of, to_json
from forklore_service.domain.keys import Key
from forklore_service.domain.model import (
    Answering,
    Caller,
    Channel,
    Entry,
    ForkPosition,
    JobKind,
    StartedBy,
    Words,
)
from forklore_service.domain.names import NameMove, NameRef
from forklore_service.errors import ForbiddenError, NotFoundError
from forklore_service.storage import bodies, items
from forklore_service.storage.table import Table
from forklore_service.usecases.answers.writing import Beginning, append_part, begin_answer
from forklore_service.usecases.background.sweeper import sweep
from forklore_service.usecases.background.worker import Outcome
from forklore_service.usecases.branches import copying
from forklore_service.usecases.branches.copying import Copy
from forklore_service.usecases.deletion import tree_deletion
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.people import erasure_requests
from forklore_service.usecases.people.pinning import pin_conversation
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey, IdempotentReplay
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing import conversations, merging, names
from forklore_service.usecases.writing.append import append_entries
from forklore_service.usecases.writing.conversations import Patch
from forklore_service.usecases.writing.merging import Merge
from tests.service.usecases.builders import (
    ANN,
    BOB,
    FORK,
    OTHER,
    ROOT,
    TWIG,
    H,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    page,
    said,
    say,
    show,
    thought,
    turn,
)
from tests.service.usecases.members import (
    Killed,
    accept,
    dies,
    include,
    listed,
    meanwhile,
    members,
    offer,
    pending,
    share,
)
from tests.support.mailbox import Mailbox
from tests.support.tables import Store, fresh_store
from tests.support.torn import tear
from tools.harness.wire import Request, Wire

ADMIN = Caller("root", bypasses_membership=True)
BOBS_PLANNER = Caller("bob", "planner")
WORDS = "the secret of bob"
BESIDE = {"key": "bob-1", "indexed_content": f"{WORDS} to find", "metadata": f'{{"a":"{WORDS}"}}'}
"""What of an entry goes with its author, beside the content."""
"""Is in everything that Bob writes here."""
DRAINS_MAX = 40
INSTANTS_MIN = 10
"""So much text that it is kept in chunks."""
OWN, CHILD, COPY = conversation(21), conversation(22), conversation(23)


def secret(what: str, **more: Any) -> Draft:
    text = f"{WORDS}: {what}"
    return Draft.of(H, "history", text_of([{"role": "USER", "text": text}]), **more)


def point(table: Table, conversation_id: str, *, by: Caller) -> None:
    """Give the caller a name for a conversation."""
    move = NameMove(NameRef.of(by, f"of {by.user_id}"), None, None)
    names.set_name(table, caller=by, conversation_id=conversation_id, move=move)


def shown_key(key: str, shown: Callable[[Any], Any]) -> IdempotencyKey:
    """Return a key of Ann's whose record holds the answer as the API shows it."""
    return idempotency_key(key)._replace(render=lambda made: to_json(shown(made)))


def erase(table: Table, mailbox: Mailbox, user_id: str = "bob") -> Erasure:
    return erasure_requests.erase_user(table, mailbox.queue, caller=ADMIN, user_id=user_id)


def drain(store: Store, mailbox: Mailbox) -> None:
    """Do what the messages ask for, and what follows of it."""
    for _ in range(DRAINS_MAX):
        taken = mailbox.take()
        if not taken:
            return
        for message in taken:
            message.work(store.process(), mailbox.queue)
    raise AssertionError("the work does not end")


def erased(store: Store, user_id: str = "bob") -> Erasure:
    """Erase a user, and return the erasure as it is when it is done."""
    mailbox = Mailbox()
    begun = erase(store.process(), mailbox, user_id)
    drain(store, mailbox)
    return ended(store, begun)


def ended(store: Store, begun: Erasure) -> Erasure:
    done = erasure_requests.get_erasure(store.process(), erasure_id=begun.erasure_id)
    assert done.is_done
    assert keys.job(JobKind.ERASURE, begun.erasure_id) not in store.contents()
    return done


def traces(store: Store, *words: str) -> list[str]:
    """Return what is stored and holds one of the words, whatever it is packed in."""
    return [
        found
        for item in store.contents().values()
        for found in _texts(item)
        if any(w in found for w in words)
    ]


def _texts(held: Any) -> list[str]:
    match held:
        case dict():
            return [found for name, value in held.items() for found in [*_texts(value), name]]
        case bytes():
            return [_unpacked(held)]
        case _:
            return [str(held)]


def _unpacked(body: bytes) -> str:
    try:
        return bodies.decode(body)
    except (ValueError, UnicodeDecodeError):
        return body.hex()


def intact(store: Store) -> bool:
    findings = check(store.contents().values(), now_s=store.process().now_s())
    assert findings == []
    return True


@pytest.fixture
def shared(store: Store) -> Store:
    """Ann's tree, in which Bob has written everything that a user can write, and Bob's own."""
    table = store.process()
    say(table, ROOT, "hello", by=ANN)
    share(table, "bob")
    share(table, "eve", AccessLevel.READER)
    say(table, ROOT, secret("a message"), by=BOB)
    append(table, ROOT, secret("with a key", **BESIDE), by=BOB)
    append(
        table,
        ROOT,
        Draft.of(H, "history", text_of([{"text": WORDS + "x" * 3 + str(list(range(90_000)))}])),
        by=BOB,
    )
    append(table, ROOT, thought(f"{WORDS}: a note"), by=BOBS_PLANNER)
    turn(table, ROOT, secret("a turn"), context=[f"{WORDS}: a note", "b"], by=BOBS_PLANNER)
    fork(table, ROOT, FORK, by=ANN)
    say(table, FORK, "mine again", by=ANN)
    append(table, TWIG, secret("a title"), by=BOB, fork=(ROOT, None))
    say(table, OWN, secret("my own"), by=BOB)
    share(table, "ann", by=BOB, of=OWN)
    point(table, ROOT, by=BOB)
    pin_conversation(table, caller=BOB, conversation_id=ROOT, after_id=None)
    return store


def test_nothing_names_an_erased_user_or_holds_their_words(shared: Store) -> None:
    assert traces(shared, WORDS)

    done = erased(shared)

    assert traces(shared, "bob", WORDS) == []
    assert intact(shared)
    assert (done.trees, done.memberships, done.entries) == (1, 1, 7)
    assert done.pseudonym.startswith(PSEUDONYM_PREFIX)
    assert len(done.pseudonym) == len(PSEUDONYM_PREFIX) + 32


def test_an_erased_entry_keeps_its_place_and_everything_that_is_counted(shared: Store) -> None:
    table = shared.process()
    before = {of: page(table, of, by=ANN).entries for of in (ROOT, FORK, TWIG)}
    heads = {of: show(table, of).head for of in before}

    pseudonym = erased(shared).pseudonym

    def kept(was: Entry) -> Entry:
        nothing: dict[str, Any] = dict.fromkeys(BESIDE)
        gone = was._replace(user_id=pseudonym, content="[]", is_erased=True, **nothing)
        return gone if was.user_id == "bob" else was

    for of, entries in before.items():
        assert page(shared.process(), of, by=ANN).entries == [kept(entry) for entry in entries]
        assert (show(table, of).head)._replace(preview=None) == heads[of]._replace(preview=None)


def test_conversations_lose_the_titles_and_previews_that_an_erased_entry_gave_them(store: Store) -> None:
    table = store.process()
    create(table, ROOT, by=ANN)
    share(table, "bob")
    say(table, ROOT, secret("first"), by=BOB)
    fork(table, ROOT, FORK)
    say(table, FORK, "an answer")
    fork(table, ROOT, TWIG)
    conversations.update_conversation(
        table, caller=ANN, conversation_id=TWIG, change=Patch({"title": "chosen by ann"})
    )
    assert show(table, FORK).conversation.described.title == f"{WORDS}: first"[:40]

    erased(store)

    shown = {of: show(store.process(), of) for of in (ROOT, FORK, TWIG)}
    assert {of: (one.conversation.described.title, one.head.preview) for of, one in shown.items()} == {
        ROOT: (None, None),
        FORK: (None, Words("an answer", "ann")),
        TWIG: ("chosen by ann", None),
    }


def test_a_title_of_40_characters_and_a_preview_of_100_are_found(store: Store) -> None:
    table = store.process()
    create(table, ROOT, by=ANN)
    share(table, "bob")
    say(table, ROOT, secret("x" * 200), by=BOB)

    erased(store)

    shown = show(store.process())
    assert (shown.conversation.described.title, shown.head.preview) == (None, None)


@pytest.mark.parametrize("length", [5, 20, 100_000])
def test_words_without_an_author_go_with_the_texts_that_may_have_given_them(
    store: Store, length: int
) -> None:
    """Older versions wrote no authors. Exports and folders of theirs may still come."""
    table = store.process()
    create(table, ROOT)
    share(table, "bob")
    say(table, ROOT, secret("".join(map(str, range(length)))), by=BOB)
    fork(table, ROOT, FORK)
    create(table, OTHER, title="of another tree")
    for of in (ROOT, FORK):
        _take_author(store, keys.conversation(ROOT, of), "titledBy")
        _take_author(store, keys.head(ROOT, of), "previewBy")

    erased(store)

    assert traces(store, "bob", WORDS) == []
    assert show(store.process(), OTHER).conversation.described.title == "of another tree"
    assert intact(store)


def test_a_title_that_is_chosen_beside_an_erasure_stays(store: Store) -> None:
    table, mailbox = store.process(), Mailbox()
    create(table, ROOT)
    share(table, "bob")
    say(table, ROOT, secret("one"), by=BOB)
    _take_author(store, keys.conversation(ROOT, ROOT), "titledBy")
    begun, worker = erase(table, mailbox), store.process()
    [message] = mailbox.take()
    change = Patch({"title": "chosen"})

    def choose(request: Request) -> None:
        if request.operation == "TransactWriteItems" and "attribute_not_exists(#titledBy)" in str(
            request.body
        ):
            conversations.update_conversation(table, caller=ANN, conversation_id=ROOT, change=change)

    Wire.of(worker).before(choose)

    message.work(worker, mailbox.queue)
    drain(store, mailbox)

    ended(store, begun)
    assert show(store.process()).conversation.described.title == "chosen"
    assert traces(store, "bob", WORDS) == []


def _take_author(store: Store, of: Key, author: str) -> None:
    """Let the item be as older versions wrote it."""
    item = store.item(of)
    del item[author]
    store.put(item)


def test_copies_of_an_erased_entry_are_erased_too(shared: Store) -> None:
    done = erased(shared)
    table = shared.process()
    merged = merging.merge_branch(table, caller=ANN, request=Merge(FORK, TWIG)).entries
    copying.copy_conversation(table, caller=ANN, request=Copy(ROOT, COPY))

    for entries in (merged, page(table, COPY).entries):
        theirs = [entry for entry in entries if entry.user_id == done.pseudonym]
        assert theirs
        assert all(entry.is_erased and entry.content == "[]" for entry in theirs)
    assert intact(shared)


@pytest.mark.parametrize("others", ["bobby", "Bob", "bo", "bob%", "bob#1"])
def test_users_with_similar_ids_keep_everything(store: Store, others: str) -> None:
    table, other = store.process(), Caller(others)
    say(table, ROOT, "mine")
    share(table, others)
    say(table, ROOT, "theirs", by=other)
    say(table, OTHER, "their own", by=other)
    point(table, OTHER, by=other)
    before = store.contents()

    done = erased(store)

    assert (done.trees, done.memberships, done.entries) == (0, 0, 0)
    record = keys.erasure(done.erasure_id)
    assert {key: item for key, item in store.contents().items() if key != record} == before


def test_the_record_of_a_finished_erasure_has_the_counts_and_not_the_user(shared: Store) -> None:
    done = erased(shared)

    item = shared.contents()[keys.erasure(done.erasure_id)]
    assert item.keys() - {"PK", "SK"} == {
        *("pseudonym", "createdAt", "finishedAt", "trees", "memberships", "entries", "passes")
    }
    assert "bob" not in str(item)


def test_two_erasures_of_the_same_user_have_different_pseudonyms(shared: Store) -> None:
    mailbox = Mailbox()
    first, second = erase(shared.process(), mailbox), erase(shared.process(), mailbox)
    drain(shared, mailbox)

    both = [ended(shared, one) for one in (first, second)]
    assert first.pseudonym != second.pseudonym
    assert sum(one.entries for one in both) == 7
    assert sum(one.memberships for one in both) == 1
    assert traces(shared, "bob", WORDS) == []


def test_who_comes_back_under_the_same_id_is_a_new_user(shared: Store) -> None:
    erased(shared)
    table = shared.process()

    say(table, OTHER, "here again", by=BOB)

    assert listed(table, BOB) == {OTHER}
    with pytest.raises(ForbiddenError):
        show(table, ROOT, by=BOB)
    assert intact(shared)


def test_offers_to_and_of_an_erased_user_end(store: Store) -> None:
    table = store.process()
    for of, owner, other in ((ROOT, ANN, BOB), (OWN, BOB, ANN)):
        say(table, of, "a", by=owner)
        share(table, other.user_id, by=owner, of=of)
        offer(table, other.user_id, by=owner, of=of)

    erased(store)

    assert traces(store, "bob") == []
    assert members(store.process()) == {"ann": "owner"}
    assert pending(store.process(), by=ANN) == []
    assert intact(store)


def test_who_has_let_others_into_the_children_is_erased(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "a")
    share(table, "bob", AccessLevel.MANAGER)
    for child in (CHILD, OTHER):
        append_entries(table, caller=ANN, request=Append(child, [said("task")], start=StartedBy(ROOT, None)))
    process = store.process()
    dies(process, 4, before=False)
    with pytest.raises(Killed):
        include(process, "eve", by=BOB)
    group = items.group(store.item(keys.group(ROOT)))
    assert group.spreading is not None
    assert group.member_change is not None
    assert group.member_change.by == "bob"

    erased(store)

    assert traces(store, "bob") == []
    assert intact(store)


def test_a_previous_owner_whom_heads_still_name_is_erased(store: Store) -> None:
    table = store.process()
    say(table, ROOT, secret("a"), by=BOB)
    share(table, "ann", by=BOB)
    offered = offer(table, "ann", by=BOB)
    process = store.process()
    dies(process, 4, before=True)
    with pytest.raises(Killed):
        accept(process, offered)
    assert items.group(store.item(keys.group(ROOT))).rewriting == "bob"

    erased(store)

    assert traces(store, "bob", WORDS) == []
    assert show(store.process()).owner == "ann"
    assert intact(store)


def test_what_stays_of_a_removed_branch_is_erased(shared: Store) -> None:
    table, mailbox = shared.process(), Mailbox()
    fork(table, TWIG, OTHER)
    remove_branch(table, mailbox.queue, caller=ANN, conversation_id=TWIG, wait_s=0)
    drain(shared, mailbox)

    erased(shared)

    assert traces(shared, "bob", WORDS) == []
    assert len(page(shared.process(), OTHER).entries) == 1
    assert intact(shared)


def test_a_tree_that_the_user_started_from_anothers_goes_and_its_parent_stays(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "parent")
    share(table, "bob")
    request = Append(CHILD, [said("task")], start=StartedBy(ROOT, None))
    append_entries(table, caller=BOB, request=request)
    mailbox = Mailbox()
    handed = offer(table, "bob", by=ANN, of=CHILD) if show(table, CHILD).owner == "ann" else None
    if handed:
        accept(table, handed)

    begun = erase(table, mailbox)
    drain(store, mailbox)

    assert ended(store, begun).trees == 1
    assert show(store.process()).owner == "ann"
    assert traces(store, "bob") == []
    assert intact(store)


# Recorded answers


def test_recorded_answers_that_show_the_user_or_their_words_are_deleted(store: Store) -> None:
    table = store.process()
    create(table, ROOT, by=ANN)
    share(table, "bob", idempotency_key=shown_key("shared", answers.membership))
    append(table, ROOT, secret("first"), by=BOB, idempotency_key=idempotency_key("said", by=BOB))
    append(table, ROOT, "mine", idempotency_key=idempotency_key("mine"))
    fork(table, ROOT, FORK, idempotency_key=shown_key("forked", answers.conversation))
    create(table, OTHER, title="other", idempotency_key=shown_key("other", answers.conversation))

    erased(store)

    assert traces(store, "bob", WORDS) == []
    left = {key for key in store.contents() if keys.is_idempotency(key)}
    kept = [shown_key("other", answers.conversation), idempotency_key("mine")]
    assert left == {*(one.key for one in kept), idempotency_key("said", by=BOB).key}
    again = append(table, ROOT, "mine", idempotency_key=idempotency_key("mine"))
    assert [entry.content for entry in again] == [page(table).entries[-1].content]


def test_recorded_answers_about_a_tree_that_was_deleted_before_go(store: Store) -> None:
    table, mailbox = store.process(), Mailbox()
    create(table, ROOT, by=ANN)
    share(table, "bob")
    append(table, ROOT, secret("first"), by=BOB)
    fork(table, ROOT, FORK, idempotency_key=shown_key("forked", answers.conversation))
    tree_deletion.delete_conversation(table, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0)
    drain(store, mailbox)

    erased(store)

    assert traces(store, "bob", WORDS) == []


def test_a_recorded_answer_about_no_conversation_stays(store: Store) -> None:
    table, mailbox, key = store.process(), Mailbox(), shown_key("erased", answers.erasure)
    erasure_requests.erase_user(table, mailbox.queue, caller=ADMIN, user_id="carol", idempotency_key=key)

    erased(store)

    assert key.key in store.contents()


def test_the_record_of_the_request_stays_for_the_first_pass_only(store: Store) -> None:
    """Its hash is made of the user's id, so it would lead from the id to the pseudonym."""
    table, mailbox, key = store.process(), Mailbox(), shown_key("erased", answers.erasure)

    def ask() -> Erasure:
        return erasure_requests.erase_user(
            table, mailbox.queue, caller=ADMIN, user_id="bob", idempotency_key=key
        )

    def work() -> Erasure:
        for message in mailbox.take():
            message.work(store.process(), mailbox.queue)
        return erasure_requests.get_erasure(table, erasure_id=begun.erasure_id)

    begun = ask()
    assert (work().passes, key.key in store.contents()) == (2, True)
    with pytest.raises(IdempotentReplay):
        ask()
    assert (work().is_done, key.key in store.contents()) == (True, False)


# Other requests at the same time


@pytest.mark.failure("write-amid-erasure")
@pytest.mark.parametrize("request_of", ["fork", "fork before", "copy", "merge", "append", "pin"])
def test_a_request_that_read_before_the_erasure_and_writes_after_it_leaves_nothing(
    store: Store, request_of: str
) -> None:
    table, mailbox = store.process(), Mailbox()
    create(table, ROOT)
    share(table, "bob")
    first, second = [*say(table, ROOT, secret("one"), by=BOB), *say(table, ROOT, "two")]
    fork(table, ROOT, FORK, first)
    begun = erase(table, mailbox)
    slow = store.process()
    [message] = mailbox.take()
    Wire.of(slow).just_before("TransactWriteItems", lambda: message.work(store.process(), mailbox.queue))

    match request_of:
        case "fork":
            fork(slow, ROOT, TWIG)
        case "fork before":
            fork(slow, ROOT, TWIG, second)
        case "copy":
            copying.copy_conversation(slow, caller=ANN, request=Copy(ROOT, COPY))
        case "merge":
            merging.merge_branch(slow, caller=ANN, request=Merge(FORK, ROOT))
        case "append":
            say(slow, ROOT, "three")
        case "pin":
            pin_conversation(slow, caller=BOB, conversation_id=ROOT, after_id=None)

    assert not erasure_requests.get_erasure(table, erasure_id=begun.erasure_id).is_done
    drain(store, mailbox)
    ended(store, begun)
    assert traces(store, "bob", WORDS) == []
    assert intact(store)


Hold = Callable[[Table, Callable[[], object]], object]
HELD: dict[str, Hold] = {
    "after the source": lambda table, act: Wire.of(table).just_before("Query", act),
    "amid the source": lambda table, act: tear(table, early=lambda key: key.sort != "GROUP", between=act),
}
"""When a request is held up while it reads: after it has read its source, and in the middle."""


@pytest.mark.failure("write-amid-erasure", "torn-read")
@pytest.mark.parametrize(
    ("request_of", "held_up"),
    [("copy", "after the source"), ("copy", "amid the source"), ("fork", "amid the source")],
)
def test_a_request_that_reads_partly_before_the_erasure_leaves_nothing(
    store: Store, request_of: str, held_up: str
) -> None:
    table, mailbox = store.process(), Mailbox()
    create(table, ROOT)
    share(table, "bob")
    say(table, ROOT, secret("one"), by=BOB)
    begun = erase(table, mailbox)
    slow = store.process()
    [message] = mailbox.take()
    HELD[held_up](slow, lambda: message.work(store.process(), mailbox.queue))

    if request_of == "fork":
        fork(slow, ROOT, TWIG)
    else:
        copying.copy_conversation(slow, caller=ANN, request=Copy(ROOT, COPY))

    assert not erasure_requests.get_erasure(table, erasure_id=begun.erasure_id).is_done
    drain(store, mailbox)
    ended(store, begun)
    assert traces(store, "bob", WORDS) == []
    assert intact(store)


def test_answers_that_the_user_writes_end_and_go_and_those_of_others_stay(store: Store) -> None:
    table = store.process()
    say(table, ROOT, "Why?", by=ANN)
    share(table, "bob")
    fork(table, ROOT, FORK, by=ANN)
    for of, answer_id, by, pieces in ((ROOT, OWN, BOB, 60), (FORK, CHILD, ANN, 2)):
        begin_answer(table, caller=by, request=Beginning(of, answer_id))
        for after in range(pieces):
            text = f'["{WORDS if by is BOB else ""}"]'
            append_part(table, caller=by, conversation_id=of, answer_id=answer_id, after=after, content=text)
    create(table, OTHER, by=ANN)
    long_ago = Answering(COPY, None, "bob", "2026-01-01T00:00:00.000Z")
    store.put(store.item(keys.head(OTHER, OTHER)) | items.answering(long_ago))

    erased(store)

    assert traces(store, "bob", WORDS) == []
    assert intact(store)
    assert [show(table, one).answering is None for one in (ROOT, FORK, OTHER)] == [True, False, True]
    of_bob = [key for key in store.contents() if keys.is_part(key) and keys.in_answer(key) == (ROOT, OWN)]
    assert of_bob == [keys.part(ROOT, OWN, 61)]  # the end


def test_words_are_erased_from_a_tree_that_has_none_of_the_users_entries(store: Store) -> None:
    """A blank fork has its source's title. So has a copy of it, in a tree of its own."""
    table = store.process()
    create(table, ROOT)
    share(table, "bob")
    say(table, ROOT, secret("one"), by=BOB)
    fork(table, ROOT, FORK, None, ForkPosition.BLANK)
    copying.copy_conversation(table, caller=ANN, request=Copy(FORK, COPY))
    assert show(table, COPY).conversation.title == Words(f"{WORDS}: one", "bob")

    erased(store)

    assert traces(store, "bob", WORDS) == []
    assert intact(store)


@pytest.mark.failure("write-amid-erasure")
@pytest.mark.long
@pytest.mark.parametrize("act", ["append", "fork", "title", "remove", "delete"])
def test_requests_at_any_instant_of_an_erasure_leave_nothing(act: str) -> None:
    nth, ran = 0, [0]
    while ran:
        nth += 1
        with fresh_store(f"instant-{nth}") as world:
            ran = _with_another_request(world, act, nth)
    assert nth > INSTANTS_MIN


def _with_another_request(store: Store, act: str, nth: int) -> list[int]:
    table, mailbox = store.process(), Mailbox()
    create(table, ROOT)
    share(table, "bob")
    say(table, ROOT, secret("one"), by=BOB)
    fork(table, ROOT, FORK)
    say(table, FORK, secret("two"), by=BOB)
    begun = erase(table, mailbox)
    other, worker = store.process(), store.process()

    def at_once() -> None:
        match act:
            case "append":
                say(other, ROOT, "three")
            case "fork":
                fork(other, FORK, TWIG)
            case "title":
                change = Patch({"title": "chosen"})
                conversations.update_conversation(other, caller=ANN, conversation_id=FORK, change=change)
            case "remove":
                remove_branch(other, mailbox.queue, caller=ANN, conversation_id=FORK, wait_s=0)
            case "delete":
                tree_deletion.delete_conversation(
                    other, mailbox.queue, caller=ANN, conversation_id=ROOT, wait_s=0
                )

    ran = meanwhile(worker, nth, at_once)
    for _ in range(DRAINS_MAX):
        for message in mailbox.take():
            message.work(worker, mailbox.queue)
    ended(store, begun)
    assert traces(store, "bob", WORDS) == []
    assert intact(store)
    return ran


# Passes


@pytest.mark.failure("write-amid-erasure")
def test_each_pass_but_the_first_waits_for_the_requests_that_run(shared: Store) -> None:
    table, mailbox = shared.process(), Mailbox()
    begun = erase(table, mailbox)

    [message] = mailbox.take()
    message.work(shared.process(), mailbox.queue, wait_s=35)
    [again] = [one for one in mailbox.take() if one.kind == JobKind.ERASURE]
    assert again.delay_s == 36
    assert again.work(shared.process(), mailbox.queue, wait_s=35) is Outcome.LEFT

    shown = erasure_requests.get_erasure(table, erasure_id=begun.erasure_id)
    assert (shown.passes, shown.entries, shown.is_done) == (2, 7, False)
    assert mailbox.messages[-1].delay_s in (34, 35)


@pytest.mark.failure("killed-erasure")
def test_a_worker_whose_time_is_up_goes_on_where_it_was(shared: Store) -> None:
    mailbox = Mailbox()
    begun = erase(shared.process(), mailbox)
    calls = Random(2).randrange
    for _ in range(DRAINS_MAX):
        for message in mailbox.take():
            process = shared.process()
            dies(process, calls(4, 40), before=True)
            with contextlib.suppress(Killed):
                message.work(process, mailbox.queue)
        sweep(shared.process(), mailbox.queue)
        if erasure_requests.get_erasure(shared.process(), erasure_id=begun.erasure_id).is_done:
            break

    assert ended(shared, begun).entries == 7
    assert traces(shared, "bob", WORDS) == []


@pytest.mark.failure("killed-erasure")
def test_of_two_workers_one_goes_on(shared: Store) -> None:
    mailbox = Mailbox()
    begun = erase(shared.process(), mailbox)
    [message] = mailbox.take()
    worker = shared.process()
    meanwhile(worker, 6, lambda: message.work(shared.process(), mailbox.queue))

    message.work(worker, mailbox.queue)
    drain(shared, mailbox)

    assert ended(shared, begun).entries == 7
    assert traces(shared, "bob", WORDS) == []
    assert intact(shared)


def test_an_agent_syncs_its_whole_context_again_after_a_part_of_it_was_erased(store: Store) -> None:
    table, mias_planner = store.process(), Caller("mia", "planner")
    create(table, ROOT)
    share(table, "bob")
    share(table, "mia")
    turn(table, ROOT, "a", context=["x"], by=BOBS_PLANNER)
    turn(table, ROOT, "b", context=["x", "y"], by=mias_planner)
    erased(store)

    synced = turn(store.process(), ROOT, "c", context=["x", "y"], by=mias_planner).synced

    assert synced is not None
    assert synced.epoch_incremented
    assert [
        entry.content for entry in page(store.process(), by=mias_planner, channel=Channel.CONTEXT).entries
    ] == ['["x","y"]']
    assert intact(store)


def test_an_unknown_erasure_is_404(store: Store) -> None:
    for erasure_id in (ROOT, "no uuid"):
        with pytest.raises(NotFoundError):
            erasure_requests.get_erasure(store.process(), erasure_id=erasure_id)


def test_a_repeated_request_begins_one_erasure(store: Store) -> None:
    table, mailbox = store.process(), Mailbox()

    def ask() -> Erasure:
        key = idempotency_key(by=ADMIN)
        return erasure_requests.erase_user(
            table, mailbox.queue, caller=ADMIN, user_id="bob", idempotency_key=key
        )

    first = ask()
    with pytest.raises(IdempotentReplay):
        ask()
    assert [message.group_id for message in mailbox.messages] == [first.erasure_id]
