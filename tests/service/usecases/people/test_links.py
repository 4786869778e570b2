"""What a link shows to who has nothing but its secret, and what ends it."""

from secrets import token_bytes
from typing import Any

import pytest

from forklore_local.fsck.check import check
from forklore_service.domain import keys
from forklore_service.domain.ids import EntryId
from forklore_service.domain.links import RANDOM_BYTES, ReaderLink, read_secret, secret_of
from forklore_service.domain.model import Caller
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidCursorError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from forklore_service.limits import LINKS_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.people import links
from forklore_service.usecases.people.links import LinkRequest
from forklore_service.usecases.people.transfers import finish_rewriting
from forklore_service.usecases.reading import linked
from forklore_service.usecases.reading.entries import EntryPage, PageStart
from tests.service.usecases.builders import (
    ANN,
    BOB,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    create,
    fork,
    say,
    texts,
    thought,
)
from tests.service.usecases.deletion.test_trash import delete, delete_for_good, later, restore, settle
from tests.service.usecases.members import MANAGER, WRITER, Killed, accept, dies, meanwhile, offer, share
from tests.service.usecases.people.test_erasing import erased
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tools.harness.wire import Wire


def made(table: Table, of: str = ROOT, *, by: Caller = ANN, days: int = 7, **what: Any) -> str:
    """Make a link, and return its secret."""
    random = token_bytes(RANDOM_BYTES)
    links.create_link(table, caller=by, request=LinkRequest(of, days, **what), random=random)
    return secret_of(of, random)[0]


def page(table: Table, secret: str, of: str | None = None, **start: Any) -> EntryPage:
    limit = start.pop("limit", 100)
    return linked.list_linked_entries(
        table, secret=secret, conversation_id=of, start=PageStart(**start), limit=limit
    )[1]


def read(table: Table, secret: str, of: str | None = None, **start: Any) -> list[str]:
    return texts(page(table, secret, of, **start).entries)


def listed(table: Table, *, by: Caller = ANN) -> list[ReaderLink]:
    rows = links.list_links(table, caller=by, conversation_id=ROOT, after=None, limit=200).rows
    return list(rows)


def assert_shut(table: Table, secret: str) -> None:
    """Assert that the secret opens nothing, and is answered as one that never was."""
    unknown = secret_of(ROOT, bytes(16))[0]
    told = set()
    for one in (secret, unknown):
        with pytest.raises(NotFoundError) as refused:
            linked.open_link(table, secret=one)
        told.add((str(refused.value), str(refused.value.details)))
        with pytest.raises(NotFoundError) as refused:
            page(table, one)
        told.add((str(refused.value), str(refused.value.details)))
    assert len(told) == 1


def assert_sound(store: Store) -> None:
    assert check(store.contents().values(), now_s=store.process().now_s()) == []


@pytest.fixture
def said(store: Store) -> list[EntryId]:
    """Say three things in a root with context between them, and fork it before the last one."""
    process = store.process()
    create(process)
    first = say(process, ROOT, "one", "two")
    append(process, ROOT, thought("secret plan"), by=PLANNER)
    second = say(process, ROOT, "three")
    fork(process, anchor=second[0])
    say(process, FORK, "otherwise")
    return first + second


def test_it_shows_the_history_up_to_its_making_and_nothing_that_is_said_later(
    store: Store, said: list[EntryId]
) -> None:
    process = store.process()
    secret = made(process)
    later_id = say(process, ROOT, "four")[0]

    assert read(process, secret) == ["one", "two", "three"]
    assert read(process, secret, tail=True, limit=2) == ["two", "three"]
    assert read(process, secret, after=said[0]) == ["two", "three"]
    assert page(process, secret).after is None
    for start in ({"after": later_id}, {"before": later_id}):
        with pytest.raises(InvalidCursorError):
            page(process, secret, **start)
    assert_sound(store)


def test_it_shows_up_to_an_entry(store: Store, said: list[EntryId]) -> None:
    process = store.process()

    assert read(process, made(process, up_to=said[0])) == ["one"]
    assert read(process, made(process, up_to=said[1])) == ["one", "two"]
    assert read(process, made(process, FORK)) == ["one", "two", "otherwise"]


def test_a_link_to_one_branch_shows_no_other_one(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    create(process, OTHER)
    say(process, OTHER, "another tree")
    secret = made(process)

    assert page(process, secret).alternatives == {}
    assert read(process, secret, ROOT) == ["one", "two", "three"]
    for other in (FORK, TWIG, OTHER, "no id"):
        with pytest.raises(NotFoundError, match="no such link"):
            page(process, secret, other)


def test_a_link_to_the_tree_shows_each_branch_and_what_is_said_later(
    store: Store, said: list[EntryId]
) -> None:
    process = store.process()
    create(process, OTHER)
    say(process, OTHER, "another tree")
    secret = made(process, all_forks=True)
    say(process, FORK, "later")

    assert read(process, secret) == ["one", "two", "three"]
    assert read(process, secret, FORK) == ["one", "two", "otherwise", "later"]
    assert page(process, secret).alternatives == {said[2]: [FORK]}
    assert page(process, secret).answering is None
    for other in (TWIG, OTHER, "no id"):
        with pytest.raises(NotFoundError, match="no such link"):
            page(process, secret, other)


def test_who_reads_the_tree_learns_the_title_of_each_branch_which_counts_nothing(
    store: Store, said: list[EntryId]
) -> None:
    process = store.process()
    create(process, OTHER)
    whole, one = made(process, all_forks=True), made(process)

    opened = linked.open_link(process, secret=whole, conversation_id=FORK)
    assert opened.loaded.conversation.conversation_id == FORK
    assert linked.open_link(process, secret=one, conversation_id=ROOT).link.up_to == said[2]
    for secret, other in ((whole, OTHER), (whole, TWIG), (whole, "no id"), (one, FORK)):
        with pytest.raises(NotFoundError, match="no such link"):
            linked.open_link(process, secret=secret, conversation_id=other)
    assert {(link.all_forks, link.opens) for link in listed(process)} == {(True, 0), (False, 0)}


def test_owners_and_managers_make_links_and_nobody_else(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    share(process, "bob", MANAGER)
    share(process, "eve", WRITER)
    secret = made(process, by=BOB)

    assert read(process, secret)
    [link] = listed(process, by=BOB)
    for ask in (
        lambda: made(process, by=EVE),
        lambda: listed(process, by=EVE),
        lambda: links.delete_link(process, caller=EVE, conversation_id=ROOT, link_id=link.link_id),
        lambda: made(process, by=Caller("stranger")),
    ):
        with pytest.raises(ForbiddenError):
            ask()
    links.delete_link(process, caller=ANN, conversation_id=FORK, link_id=link.link_id)
    assert_shut(process, secret)
    with pytest.raises(NotFoundError):
        links.delete_link(process, caller=ANN, conversation_id=ROOT, link_id=link.link_id)


def test_what_would_show_nothing_or_names_a_wrong_entry_is_refused(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    create(process, OTHER)
    context = append(process, ROOT, thought("more"), by=PLANNER)[0].entry_id
    otherwise = say(process, FORK, "more")[0]

    with pytest.raises(ConflictError) as refused:
        made(process, OTHER)
    assert refused.value.details["reason"] == "nothing_to_show"
    for up_to in (context, otherwise):
        with pytest.raises(ValidationError):
            made(process, up_to=up_to)


def test_a_tree_has_at_most_so_many_links(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    for _ in range(LINKS_MAX):
        made(process, days=1)

    with pytest.raises(ConflictError) as refused:
        made(process)
    assert refused.value.details["reason"] == "too_many_links"
    assert read(later(store, 2), made(later(store, 2)))


def test_two_who_make_the_last_link_at_once_make_one(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    for _ in range(LINKS_MAX - 1):
        made(process)
    looks = store.process()
    ran = meanwhile(looks, 3, lambda: made(store.process()))

    with pytest.raises(ConflictError) as refused:
        made(looks)
    assert ran
    assert refused.value.details["reason"] == "too_many_links"
    assert len(listed(process)) == LINKS_MAX


def test_it_ends_with_its_time(store: Store, said: list[EntryId]) -> None:
    secret = made(store.process(), days=2)

    assert read(later(store, 1.9), secret)
    assert_shut(later(store, 2.1), secret)
    assert listed(later(store, 2.1)) == []


def test_the_store_has_the_secret_nowhere(store: Store, said: list[EntryId]) -> None:
    secret = made(store.process())

    stored = repr(store.contents())
    told = read_secret(secret)
    assert told is not None
    assert secret not in stored
    assert told.link_id in stored


def test_it_counts_how_often_it_was_opened_and_fails_for_no_count(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    secret = made(process)
    for _ in range(3):
        linked.open_link(process, secret=secret)
    page(process, secret)
    assert [link.opens for link in listed(process)] == [3]

    def refuse(request: Any) -> None:
        if request.operation == "UpdateItem":
            raise UnavailableError("no answer")

    failing = store.process()
    Wire.of(failing).before(refuse)
    assert linked.open_link(failing, secret=secret).link.conversation_id == ROOT
    assert [link.opens for link in listed(process)] == [3]


def test_a_link_that_is_ended_while_it_is_opened_stays_ended(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    secret = made(process)
    [link] = listed(process)
    ran = meanwhile(
        process,
        2,
        lambda: links.delete_link(store.process(), caller=ANN, conversation_id=ROOT, link_id=link.link_id),
    )

    linked.open_link(process, secret=secret)

    assert ran
    assert listed(process) == []
    assert_sound(store)


def test_what_is_said_after_a_link_to_the_tree_was_ended_is_not_shown(
    store: Store, said: list[EntryId]
) -> None:
    secret = made(store.process(), all_forks=True)
    [link] = listed(store.process())

    def end_and_say() -> None:
        links.delete_link(store.process(), caller=ANN, conversation_id=ROOT, link_id=link.link_id)
        say(store.process(), ROOT, "among ourselves")

    for nth in (2, 3):
        process = store.process()
        ran = meanwhile(process, nth, end_and_say)
        with pytest.raises(NotFoundError):
            page(process, secret)
        if ran:
            return
    raise AssertionError("nothing ran meanwhile")


def test_it_is_closed_in_the_trash_and_opens_again_and_goes_with_the_tree(
    store: Store, said: list[EntryId]
) -> None:
    secret, mailbox = made(store.process()), Mailbox()

    delete(store)
    assert_shut(store.process(), secret)
    restore(store)
    assert read(store.process(), secret) == ["one", "two", "three"]
    delete_for_good(store, mailbox=mailbox)
    assert_shut(store.process(), secret)
    settle(store, mailbox)
    assert not any("LINK" in key.sort for key in store.contents())


@pytest.mark.parametrize("all_forks", [False, True])
def test_it_goes_with_its_branch(store: Store, said: list[EntryId], all_forks: bool) -> None:
    process, mailbox = store.process(), Mailbox()
    secret, stays = made(process, FORK, all_forks=all_forks), made(process, ROOT)

    ended = next(link.link_id for link in listed(process) if link.conversation_id == FORK)

    remove_branch(process, mailbox.queue, caller=ANN, conversation_id=FORK, wait_s=0)
    assert_shut(store.process(), secret)
    assert [link.conversation_id for link in listed(process)] == [ROOT]
    with pytest.raises(NotFoundError):
        links.delete_link(process, caller=ANN, conversation_id=ROOT, link_id=ended)
    settle(store, mailbox)

    assert [link.conversation_id for link in listed(process)] == [ROOT]
    assert read(process, stays) == ["one", "two", "three"]
    assert_sound(store)


def test_it_is_listed_while_its_branch_is_in_the_trash(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    made(process, FORK)

    remove_branch(process, Mailbox().queue, caller=ANN, conversation_id=FORK, days=30, wait_s=0)

    assert [link.conversation_id for link in listed(process)] == [FORK]


def test_a_transfer_ends_it_unless_it_is_to_stay(store: Store, said: list[EntryId]) -> None:
    process = store.process()
    share(process, "bob", WRITER)
    secret, stays = made(process), made(process, stays=True)

    accept(process, offer(process))
    assert_shut(process, secret)
    assert read(process, stays)
    new = made(process, by=BOB)
    accept(process, offer(process, "ann", by=BOB))

    assert_shut(process, secret)
    assert_shut(process, new)
    assert [link.stays for link in listed(process)] == [True]
    assert_sound(store)


def test_a_transfer_that_is_killed_anywhere_ends_it_all_the_same(store: Store, said: list[EntryId]) -> None:
    share(store.process(), "bob", WRITER)
    secret, stays = made(store.process()), made(store.process(), stays=True)
    nth, owners = 0, [ANN, BOB]
    while True:
        nth += 1
        process = store.process()
        offered = offer(store.process(), owners[1].user_id, by=owners[0])
        dies(process, nth, before=nth % 2 == 0)
        try:
            accept(process, offered)
        except Killed:
            is_over = store.process().get([keys.group(ROOT)]).group(ROOT).owner == owners[1].user_id  # type: ignore[union-attr]
            if not is_over:
                accept(store.process(), offered)
            elif secret:
                assert_shut(store.process(), secret)
            finish_rewriting(store.process(), ROOT)
        else:
            break
        assert_shut(store.process(), secret)
        assert read(store.process(), stays)
        assert_sound(store)
        owners.reverse()
        secret = made(store.process(), by=owners[0])
    assert nth > 3


def test_what_an_erased_user_has_said_is_gone_from_it(store: Store) -> None:
    process = store.process()
    create(process)
    share(process, "bob", WRITER)
    say(process, ROOT, "mine")
    say(process, ROOT, "pineapple", by=BOB)
    secret = made(process, user_ids=True)

    erased(store)

    shown = page(store.process(), secret).entries
    assert [entry.is_erased for entry in shown] == [False, True]
    assert "pineapple" not in repr(shown)
    assert "bob" not in repr(shown)
