"""Merging: copies of what another branch shows, and entries that sum a branch up."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import Caller, Channel, Entry, EntryRef, StartedBy, TokenUsage, Words
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkloreError,
    NotFoundError,
    PayloadTooLargeError,
    ValidationError,
)
from forklore_service.limits import APPEND_ENTRIES_MAX, ELEMENTS_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.deletion.branch_removal import remove_branch
from forklore_service.usecases.shared import view_pages
from forklore_service.usecases.shared.appended import Appended
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.shared.idempotency import IdempotencyKey
from forklore_service.usecases.shared.requests import Append
from forklore_service.usecases.writing.append import append_entries, sync_context
from forklore_service.usecases.writing.merging import Merge, merge_branch
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BLANK,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    large,
    page,
    read,
    said,
    say,
    show,
    texts,
    thought,
)
from tests.service.usecases.members import WRITER, meanwhile, share
from tests.support.mailbox import Mailbox
from tests.support.tables import Store
from tools.harness.wire import Wire

NO_ENTRY = EntryId("00000000-0000-7000-8000-000000000001")


def merge(
    table: Table,
    into: str = ROOT,
    of: str = FORK,
    *,
    by: Caller = ANN,
    after: str | None = None,
    up_to: str | None = None,
    again: bool = False,
    if_match: EntryId | None = None,
    idempotency_key: IdempotencyKey | None = None,
) -> list[Entry]:
    request = Merge(into, of, after, up_to, again, if_match=if_match)
    return merge_branch(table, caller=by, request=request, idempotency_key=idempotency_key).entries


def bring(table: Table, of: str = FORK, *, by: Caller = PLANNER, **more: Any) -> Appended:
    """Merge a branch into the root, together with the memory of an agent."""
    return merge_branch(table, caller=by, request=Merge(ROOT, of, with_context=True, **more))


@pytest.fixture
def tree(store: Store) -> Table:
    """A root that shows a, b, c, and a fork after b that shows a, b, x, y."""
    table = store.process()
    _, b, _ = say(table, ROOT, "a", "b", "c")
    fork(table, ROOT, FORK, b, AFTER)
    say(table, FORK, "x", "y")
    return table


def fails(error: type[ForkloreError], action: Callable[[], object], *, field: str | None = None) -> None:
    with pytest.raises(error) as raised:
        action()
    assert raised.value.details.get("field") == field


# Copies


def test_a_merge_copies_what_the_branch_shows_after_the_base(tree: Table) -> None:
    made = merge(tree)

    assert texts(made) == ["x", "y"]
    assert read(tree, ROOT) == ["a", "b", "c", "x", "y"]
    assert read(tree, FORK) == ["a", "b", "x", "y"]
    originals = page(tree, FORK).entries[2:]
    assert [entry.copied_from for entry in made] == [EntryRef(FORK, one.entry_id) for one in originals]
    assert [entry.conversation_id for entry in made] == [ROOT, ROOT]
    assert page(tree, ROOT).entries[3:] == made


def test_a_root_is_merged_into_its_fork_as_well(tree: Table) -> None:
    assert texts(merge(tree, FORK, ROOT)) == ["c"]
    assert read(tree, FORK) == ["a", "b", "x", "y", "c"]


def test_forks_of_a_fork_merge_what_they_do_not_share(tree: Table) -> None:
    fork(tree, FORK, TWIG)
    say(tree, TWIG, "t")
    fork(tree, FORK, OTHER)
    say(tree, OTHER, "o")

    assert texts(merge(tree, TWIG, OTHER)) == ["o"]
    assert texts(merge(tree, ROOT, TWIG)) == ["x", "y", "t", "o"]


def test_a_copy_of_a_copy_names_the_entry_that_was_copied(tree: Table) -> None:
    copied = merge(tree)
    fork(tree, ROOT, TWIG, copied[0].entry_id, AFTER)
    fork(tree, ROOT, OTHER, None, BLANK)

    again = merge(tree, OTHER, TWIG, after=copied[0].copied_from and page(tree).entries[2].entry_id)

    assert [entry.copied_from for entry in again] == [EntryRef(ROOT, copied[0].entry_id)]


def test_a_blank_fork_gets_the_whole_history(tree: Table) -> None:
    fork(tree, ROOT, TWIG, None, BLANK)

    merge(tree, TWIG, FORK)

    assert read(tree, TWIG) == ["a", "b", "x", "y"]


def test_a_copy_keeps_the_authors_and_the_content_but_not_the_usage(store: Store, tree: Table) -> None:
    share(tree, "bob", WRITER)
    used = said("bob's", agent_id="helper", used=TokenUsage(3, 4), usage='{"inputTokens":3}', metadata="{}")
    odd = large(40_000)
    say(tree, FORK, used, odd, by=Caller("bob", "planner"))

    *_, copied, body = merge(tree, by=CODER)

    assert (copied.user_id, copied.client_id, copied.agent_id) == ("bob", "planner", "helper")
    assert (copied.usage, copied.metadata) == (None, "{}")
    assert body.content == odd.content.text
    metrics = show(tree).head.metrics
    assert (metrics.entries, metrics.usage) == (7, TokenUsage())


def test_context_is_not_copied(tree: Table) -> None:
    append(tree, FORK, thought("t"), "z", by=PLANNER)

    assert texts(merge(tree, by=PLANNER)) == ["x", "y", "z"]


def test_after_and_up_to_choose_a_part_of_the_branch(tree: Table) -> None:
    a, b, x, y = (entry.entry_id for entry in page(tree, FORK).entries)

    assert texts(merge(tree, up_to=x)) == ["x"]
    assert texts(merge(tree, after=x)) == ["y"]
    assert merge(tree, after=a, up_to=x) == []
    assert texts(merge(tree, after=a, up_to=x, again=True)) == ["b", "x"]
    assert merge(tree, after=y) == merge(tree, up_to=b) == merge(tree, after=y, up_to=x) == []


def test_nothing_to_copy_changes_nothing(store: Store, tree: Table) -> None:
    before = store.contents()

    assert merge(tree, ROOT, ROOT) == []
    fork(tree, ROOT, TWIG)
    before = store.contents()
    assert merge(tree, ROOT, TWIG) == []

    assert store.contents() == before


def test_a_merge_names_and_shows_an_untitled_conversation(store: Store) -> None:
    table = store.process()
    create(table, ROOT)
    fork(table, ROOT, FORK, None, AFTER)
    say(table, FORK, "first words", "last words")

    merge(table)

    shown = show(table)
    assert (shown.conversation.title, shown.head.preview) == (
        Words("first words", "ann"),
        Words("last words", "ann"),
    )


def test_the_chain_of_the_copies_is_right(tree: Table) -> None:
    c = page(tree).entries[-1].entry_id
    one, other = merge(tree)

    assert (one.after.history, other.after.history) == (c, one.entry_id)


def test_a_branch_of_another_tree_or_of_none_is_400(store: Store, tree: Table) -> None:
    say(tree, OTHER, "another tree")

    for of in (OTHER, conversation(99), "x", ""):
        fails(ValidationError, lambda of=of: merge(tree, of=of), field="fromConversationId")  # type: ignore[misc]
    fails(NotFoundError, lambda: merge(tree, into=conversation(99)))


def test_an_entry_that_the_branch_does_not_show_is_400(tree: Table) -> None:
    c = page(tree, ROOT).entries[2].entry_id

    for entry_id in (c, NO_ENTRY, "x"):
        fails(ValidationError, lambda e=entry_id: merge(tree, after=e), field="afterEntryId")  # type: ignore[misc]
        fails(ValidationError, lambda e=entry_id: merge(tree, up_to=e), field="upToEntryId")  # type: ignore[misc]


def test_an_entry_of_another_clients_context_is_400(store: Store, tree: Table) -> None:
    (mine,) = say(tree, FORK, thought("t"), by=PLANNER)
    say(tree, FORK, "z")

    for by in (ANN, CODER):
        with store.unchanged():
            fails(ValidationError, lambda c=by: merge(tree, after=mine, by=c), field="afterEntryId")  # type: ignore[misc]
            fails(ValidationError, lambda c=by: merge(tree, up_to=mine, by=c), field="upToEntryId")  # type: ignore[misc]
            fails(
                ValidationError,
                lambda c=by: append(tree, ROOT, summary(up_to=mine), by=c),  # type: ignore[misc]
                field="mergedUpToEntryId",
            )
    [made] = append(tree, ROOT, summary(up_to=mine), by=PLANNER)
    assert made.merged_from == EntryRef(FORK, mine)
    assert texts(merge(tree, after=mine, by=PLANNER)) == ["z"]


def test_if_match_is_the_last_entry_of_the_conversation(tree: Table) -> None:
    b, c = (entry.entry_id for entry in page(tree).entries[1:])

    with pytest.raises(ConflictError) as raised:
        merge(tree, if_match=b)
    assert raised.value.details["lastEntryId"] == c
    assert texts(merge(tree, if_match=c)) == ["x", "y"]
    fails_now = pytest.raises(ConflictError)
    with fails_now:
        merge(tree, ROOT, ROOT, if_match=c)


@pytest.mark.parametrize("count", [APPEND_ENTRIES_MAX, APPEND_ENTRIES_MAX + 1])
def test_a_merge_copies_at_most_fifty_entries(store: Store, count: int) -> None:
    table = store.process()
    create(table, ROOT)
    fork(table, ROOT, FORK)
    say(table, FORK, *(f"{at}" for at in range(50)))
    if count > APPEND_ENTRIES_MAX:
        say(table, FORK, "one more")
        before = store.contents()
        with pytest.raises(PayloadTooLargeError, match="merge in parts"):
            merge(table)
        assert store.contents() == before
        fiftieth = page(table, FORK).entries[49].entry_id
        merge(table, up_to=fiftieth)
        merge(table, after=fiftieth)
    else:
        merge(table)

    assert read(table, ROOT) == read(table, FORK)


@pytest.mark.parametrize("count", [APPEND_ENTRIES_MAX, APPEND_ENTRIES_MAX + 1])
def test_context_between_the_entries_does_not_count(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """There is so much of it that several reads find only a part of the entries."""
    monkeypatch.setattr(view_pages, "READ_MAX", 20)
    monkeypatch.setattr(view_pages, "ROUND_MAX", 10)
    table = store.process()
    create(table, ROOT)
    fork(table, ROOT, FORK)
    for at in range(0, count, 3):
        more = min(3, count - at)
        batch = [one for n in range(at, at + more) for one in (said(f"{n}"), *[thought("t")] * 10)]
        append(table, FORK, *batch, by=PLANNER)

    if count > APPEND_ENTRIES_MAX:
        with store.unchanged(), pytest.raises(PayloadTooLargeError, match="merge in parts"):
            merge(table)
    else:
        assert texts(merge(table)) == [f"{at}" for at in range(count)]


def test_more_bytes_than_a_transaction_holds_are_413(store: Store, tree: Table) -> None:
    for _ in range(3):
        append(tree, FORK, large(2_400_000))

    with pytest.raises(PayloadTooLargeError, match="merge in parts"):
        merge(tree)
    assert read(tree, ROOT) == ["a", "b", "c"]


@pytest.mark.parametrize("nth", [2, 3])
def test_an_append_to_the_other_branch_meanwhile_is_copied_as_well(
    store: Store, tree: Table, nth: int
) -> None:
    ran = meanwhile(tree, nth, lambda: say(store.process(), FORK, "meanwhile"))

    assert texts(merge(tree)) == ["x", "y", "meanwhile"]
    assert ran


def test_a_merge_up_to_an_entry_does_not_wait_for_the_other_branch(store: Store, tree: Table) -> None:
    x = page(tree, FORK).entries[2].entry_id
    wire = Wire.of(tree)
    ran = meanwhile(tree, 3, lambda: say(store.process(), FORK, "meanwhile"))

    assert texts(merge(tree, up_to=x)) == ["x"]
    assert ran
    assert wire.operations.count("TransactWriteItems") == 1


def test_a_merge_of_a_conversation_into_itself_copies_what_is_appended_meanwhile(
    store: Store, tree: Table
) -> None:
    b = page(tree).entries[1].entry_id
    ran = meanwhile(tree, 3, lambda: say(store.process(), ROOT, "meanwhile"))

    assert texts(merge(tree, ROOT, ROOT, after=b, again=True)) == ["c", "meanwhile"]
    assert ran


# What the conversation has already


def test_a_second_merge_brings_what_is_new(tree: Table) -> None:
    merge(tree)
    say(tree, FORK, "z")

    assert texts(merge(tree)) == ["z"]
    assert merge(tree) == []
    assert texts(merge(tree, again=True)) == ["x", "y", "z"]


def test_a_part_that_was_merged_before_is_left_out_wherever_it_is(tree: Table) -> None:
    x, y = (entry.entry_id for entry in page(tree, FORK).entries[2:])
    say(tree, FORK, "z")

    assert texts(merge(tree, after=x, up_to=y)) == ["y"]
    assert texts(merge(tree)) == ["x", "z"]


def test_copies_do_not_come_back_as_copies(tree: Table) -> None:
    merge(tree)

    assert texts(merge(tree, FORK, ROOT)) == ["c"]
    assert merge(tree) == merge(tree, FORK, ROOT) == []


def test_two_branches_that_have_the_same_copies_bring_only_the_rest(tree: Table) -> None:
    fork(tree, ROOT, TWIG)
    merge(tree)
    merge(tree, TWIG, FORK)
    say(tree, TWIG, "t")

    assert texts(merge(tree, ROOT, TWIG)) == ["t"]


def test_a_fork_has_what_it_inherits(tree: Table) -> None:
    x, _ = merge(tree)
    fork(tree, ROOT, TWIG, x.entry_id, AFTER)

    assert texts(merge(tree, TWIG, FORK)) == ["y"]


def test_what_a_summary_sums_up_is_not_copied(tree: Table) -> None:
    a, _, x, _ = (entry.entry_id for entry in page(tree, FORK).entries)
    append(tree, ROOT, summary(up_to=x), summary(up_to=a), summary())

    assert texts(merge(tree)) == ["y"]
    append(tree, ROOT, summary(ROOT, up_to=page(tree).entries[-1].entry_id))
    assert texts(merge(tree, again=True)) == ["x", "y"]


def test_what_was_merged_before_does_not_count_among_the_fifty(store: Store) -> None:
    table = store.process()
    create(table, ROOT)
    fork(table, ROOT, FORK)
    for start in range(0, 120, 50):
        say(table, FORK, *(f"{at}" for at in range(start, min(start + 50, 120))))
        merge(table)

    assert read(table, ROOT) == [f"{at}" for at in range(120)]


@pytest.mark.parametrize("nth", [2, 3, 4])
def test_of_two_merges_at_the_same_time_one_brings_nothing(store: Store, tree: Table, nth: int) -> None:
    ran = meanwhile(tree, nth, lambda: merge(store.process()))

    merge(tree)

    assert ran
    assert read(tree, ROOT) == ["a", "b", "c", "x", "y"]


def test_nothing_is_read_of_what_both_branches_show(tree: Table) -> None:
    b = page(tree).entries[1].entry_id
    fork(tree, ROOT, TWIG, b, AFTER)
    wire = Wire.of(tree)

    merge(tree, TWIG, FORK)

    assert wire.operations.count("Query") == 1


# The memory of an agent


def memory(table: Table, of: str = ROOT) -> list[list[Any]]:
    """Return the agent's context in its latest epoch, entry by entry."""
    listed = page(table, of, channel=Channel.CONTEXT, by=PLANNER)
    return [json.loads(one.content) for one in listed.entries]


@pytest.fixture
def minds(tree: Table) -> Table:
    """The same, where the agent remembers 1 at the root, and in the fork 1 and 2."""
    remember(tree, ROOT, "[1]")
    fork(tree, ROOT, TWIG)
    remember(tree, TWIG, "[1, 2.0]")
    return tree


def remember(table: Table, of: str, text: str) -> None:
    draft = Draft.of(Channel.CONTEXT, "state", JsonText(text, json.loads(text)), agent_id="helper")
    sync_context(table, caller=PLANNER, conversation_id=of, draft=draft)


def test_a_merge_can_bring_the_memory(minds: Table) -> None:
    say(minds, TWIG, "t")

    brought = bring(minds, TWIG)

    assert texts(brought.entries) == ["t"]
    assert brought.synced
    assert brought.synced.entry
    assert (brought.synced.epoch, brought.synced.epoch_incremented) == (1, False)
    assert (brought.synced.entry.agent_id, brought.synced.entry.content_type) == ("helper", "state")
    assert memory(minds) == [[1], [2.0]]
    assert brought.synced.entry.content == "[2.0]"


def test_a_memory_that_does_not_go_on_from_the_other_replaces_it(minds: Table) -> None:
    remember(minds, ROOT, "[1, 3]")

    brought = bring(minds, TWIG)

    assert brought.has_written
    assert brought.synced
    assert brought.synced.epoch_incremented
    assert memory(minds) == [[1, 2.0]]
    assert not bring(minds, TWIG).has_written


def test_a_merge_up_to_an_entry_brings_the_memory_of_that_place(minds: Table) -> None:
    (t,) = say(minds, TWIG, "t")
    remember(minds, TWIG, "[9]")

    bring(minds, TWIG, up_to=t)
    assert memory(minds) == [[1], [2.0]]
    bring(minds, TWIG)
    assert memory(minds) == [[9]]


def test_a_branch_without_a_memory_leaves_that_of_the_conversation(minds: Table) -> None:
    assert bring(minds, FORK).synced is None
    assert memory(minds) == [[1]]


@pytest.mark.parametrize("by", [ANN, CODER])
def test_only_an_agent_that_has_a_context_here_brings_one(store: Store, minds: Table, by: Caller) -> None:
    create(minds, OTHER, by=PLANNER)
    fork(minds, OTHER, conversation(7), by=PLANNER)
    request = Merge(OTHER, conversation(7), with_context=True)

    with store.unchanged():
        fails(ForbiddenError, lambda: merge_branch(minds, caller=by, request=request))


def test_a_memory_of_more_elements_than_one_entry_holds_is_413(store: Store, minds: Table) -> None:
    remember(minds, TWIG, json.dumps([1, 2.0, *range(ELEMENTS_MAX - 2)]))
    bring(minds, TWIG)
    append(minds, TWIG, thought("one more"), by=PLANNER)

    with store.unchanged(), pytest.raises(PayloadTooLargeError):
        bring(minds, TWIG)


def test_a_merge_with_a_memory_is_answered_again_under_its_key(minds: Table) -> None:
    say(minds, TWIG, "t")
    key, request = idempotency_key(by=PLANNER), Merge(ROOT, TWIG, with_context=True)

    first, again = (
        merge_branch(minds, caller=PLANNER, request=request, idempotency_key=key) for _ in range(2)
    )

    assert first == again
    assert (first.has_written, len(first.entries)) == (True, 1)


def test_an_append_of_a_memory_meanwhile_is_replaced_too(store: Store, minds: Table) -> None:
    ran = meanwhile(minds, 5, lambda: remember(store.process(), ROOT, "[5]"))

    bring(minds, TWIG)

    assert ran
    assert memory(minds) == [[1, 2.0]]


# Summaries


def summary(of: str = FORK, up_to: EntryId | None = None, text: str = "sum") -> Draft:
    return said(text, merged_from=EntryRef(of, up_to))


def test_an_entry_may_name_the_branch_that_it_sums_up(tree: Table) -> None:
    a, _, x, _ = (entry.entry_id for entry in page(tree, FORK).entries)

    made = append(tree, ROOT, summary(), summary(up_to=x), summary(up_to=a), summary(ROOT, a), "plain")

    named = [EntryRef(FORK, None), EntryRef(FORK, x), EntryRef(FORK, a), EntryRef(ROOT, a), None]
    assert [entry.merged_from for entry in made] == named
    assert page(tree, ROOT).entries[3:] == made


def test_an_entry_that_makes_a_fork_may_name_a_branch(tree: Table) -> None:
    b = page(tree, ROOT).entries[1].entry_id

    [made] = append(tree, TWIG, summary(), fork=(ROOT, b))

    assert made.merged_from == EntryRef(FORK, None)
    fails(
        ValidationError,
        lambda: append(tree, OTHER, summary(OTHER), fork=(ROOT, b)),
        field="mergedFromConversationId",
    )


@pytest.mark.parametrize("of", [OTHER, conversation(99), "x", ""])
def test_a_summary_of_a_conversation_of_another_tree_is_400(store: Store, tree: Table, of: str) -> None:
    say(tree, OTHER, "another tree")

    with store.unchanged():
        fails(ValidationError, lambda: append(tree, ROOT, "a", summary(of)), field="mergedFromConversationId")


def test_a_summary_of_a_branch_that_is_removed_meanwhile_is_400(store: Store, tree: Table) -> None:
    def remove() -> None:
        remove_branch(store.process(), Mailbox().queue, caller=ANN, conversation_id=FORK)

    Wire.of(tree).just_before("TransactWriteItems", remove)
    fails(ValidationError, lambda: append(tree, ROOT, summary()), field="mergedFromConversationId")


def test_a_summary_up_to_an_entry_that_is_not_shown_is_400(store: Store, tree: Table) -> None:
    c = page(tree, ROOT).entries[2].entry_id

    for entry_id in (c, NO_ENTRY, EntryId("x")):
        with store.unchanged():
            fails(
                ValidationError,
                lambda e=entry_id: append(tree, ROOT, summary(up_to=e)),  # type: ignore[misc]
                field="mergedUpToEntryId",
            )


def test_a_new_tree_has_no_branch_to_sum_up(store: Store, tree: Table) -> None:
    for of in (ROOT, OTHER):
        with store.unchanged():
            fails(
                ValidationError,
                lambda of=of: append(tree, OTHER, summary(of)),  # type: ignore[misc]
                field="mergedFromConversationId",
            )
            fails(
                ValidationError,
                lambda of=of: append_entries(  # type: ignore[misc]
                    tree, caller=ANN, request=Append(OTHER, [summary(of)], start=StartedBy(ROOT, None))
                ),
                field="mergedFromConversationId",
            )


def test_a_stranger_is_not_told_whether_the_tree_has_the_conversation(store: Store, tree: Table) -> None:
    for of in (FORK, conversation(99)):
        fails(ForbiddenError, lambda of=of: append(tree, ROOT, summary(of), by=EVE))  # type: ignore[misc]


def test_an_append_that_names_too_many_conversations_is_413(store: Store, tree: Table) -> None:
    forks = [conversation(100 + at) for at in range(50)]
    for one in forks:
        fork(tree, ROOT, one)

    append(tree, ROOT, *(summary(one) for one in forks[:49]))
    with store.unchanged(), pytest.raises(PayloadTooLargeError):
        append(tree, ROOT, *(summary(one) for one in forks))
