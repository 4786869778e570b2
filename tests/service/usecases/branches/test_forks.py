import random
from typing import Any

import pytest

from forklore_service.domain import ancestry, ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import SEGMENTS_MAX, Segment
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.keys import Key, ListKey
from forklore_service.domain.model import (
    Caller,
    Channel,
    Conversation,
    Description,
    ForkPoint,
    ForkPosition,
    Head,
    Metrics,
    TokenUsage,
)
from forklore_service.errors import (
    ConflictError,
    ForbiddenError,
    ForkLimitError,
    ForkTooDeepError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from forklore_service.storage import items
from forklore_service.storage.connection import Item
from forklore_service.storage.items import number, text
from forklore_service.storage.table import Table
from forklore_service.usecases.branches.copying import Copy, copy_conversation
from forklore_service.usecases.reading import fork_lists
from forklore_service.usecases.shared.drafts import Draft
from forklore_service.usecases.writing.conversations import Patch, update_conversation
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BEFORE,
    BLANK,
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    append,
    conversation,
    create,
    fork,
    idempotency_key,
    page,
    read,
    said,
    say,
    show,
    texts,
    thought,
)
from tests.service.usecases.members import meanwhile
from tests.support.tables import Store, WrongClock
from tools.harness.wire import Wire

WRITE = "TransactWriteItems"
MINUTE_MS = 60_000
LIFETIME_MS = 65 * 365 * 24 * 60 * MINUTE_MS


# What a fork shows


@pytest.mark.parametrize(
    ("at", "position", "inherited"),
    [
        (0, BEFORE, []),
        (1, BEFORE, ["a"]),
        (2, BEFORE, ["a", "b"]),
        (0, AFTER, ["a"]),
        (2, AFTER, ["a", "b", "c"]),
        (None, AFTER, ["a", "b", "c"]),
        (None, BLANK, []),
    ],
)
def test_a_fork_shows_its_source_up_to_the_fork_point_and_its_own_entries(
    table: Table, at: int | None, position: ForkPosition, inherited: list[str]
) -> None:
    entries = say(table, ROOT, "a", "b", "c")

    made = fork(table, anchor=None if at is None else entries[at], position=position)
    assert show(table, FORK) == made
    say(table, ROOT, "the root's later")
    say(table, FORK, "the fork's own")

    assert read(table, FORK) == [*inherited, "the fork's own"]
    assert read(table) == ["a", "b", "c", "the root's later"]
    shown_at = entries[2] if position is AFTER and at is None else None if at is None else entries[at]
    assert made.conversation.fork_point == ForkPoint(ROOT, shown_at, position)


@pytest.mark.parametrize("at", range(3))
def test_a_fork_by_appending_shows_its_source_before_the_entry(table: Table, at: int) -> None:
    entries = say(table, ROOT, "a", "b", "c")

    append(table, FORK, "x", "y", fork=(ROOT, entries[at]))

    assert read(table, FORK) == [*["a", "b", "c"][:at], "x", "y"]
    shown = show(table, FORK)
    assert shown.conversation.fork_point == ForkPoint(ROOT, entries[at], BEFORE)
    assert shown.conversation.described.title == "x"
    assert shown.head.metrics == Metrics(2)


def test_a_fork_by_appending_without_an_entry_inherits_nothing(table: Table) -> None:
    say(table, ROOT, "a")
    fork(table)
    append(table, TWIG, "x", fork=(FORK, None))

    assert read(table, TWIG) == ["x"]
    assert show(table, TWIG).conversation.fork_point == ForkPoint(FORK, None, BLANK)


def test_an_entry_appended_to_the_source_after_its_look_up_is_not_inherited(
    store: Store, table: Table
) -> None:
    (a,) = say(table, ROOT, "a")
    Wire.of(table).just_before(WRITE, lambda: say(store.process(), ROOT, "meanwhile"))

    made = fork(table)

    assert read(table, FORK) == ["a"]
    assert made.conversation.fork_point == ForkPoint(ROOT, a, AFTER)


def test_a_fork_at_the_head_of_an_empty_conversation_is_blank(table: Table) -> None:
    create(table)

    assert fork(table).conversation.fork_point == ForkPoint(ROOT, None, BLANK)
    assert read(table, FORK) == []


def test_a_fork_at_the_head_of_context_only_names_no_entry_and_is_not_blank(table: Table) -> None:
    append(table, ROOT, thought("c"), by=PLANNER)

    assert fork(table, by=PLANNER).conversation.fork_point == ForkPoint(ROOT, None, AFTER)
    assert read(table, FORK, by=PLANNER, channel=C) == ["c"]


def test_a_forks_last_history_entry_is_that_of_its_view(table: Table) -> None:
    a, b, c = say(table, ROOT, "a", "b", "c")
    append(table, ROOT, thought("context"), by=PLANNER)

    assert fork(table, ROOT, conversation(10), b).head.last_history == a
    assert fork(table, ROOT, conversation(11), a).head.last_history is None
    assert fork(table, ROOT, conversation(12), b, AFTER).head.last_history == b
    assert fork(table, ROOT, conversation(13)).head.last_history == c
    append(table, conversation(10), "next", if_match=a)
    assert read(table, conversation(10)) == ["a", "next"]


@pytest.mark.parametrize("off_ms", [-LIFETIME_MS // 2, -5 * MINUTE_MS, 5 * MINUTE_MS, LIFETIME_MS])
def test_a_forks_own_entries_come_after_all_inherited_entries_with_any_clock(
    store: Store, table: Table, off_ms: int
) -> None:
    inherited = say(table, ROOT, "a", "b")
    wrong = store.process(clock=WrongClock(off_ms))

    own = append(wrong, FORK, "x", fork=(ROOT, inherited[1]))
    head = fork(wrong, ROOT, TWIG)

    assert own[0].entry_id > inherited[0]
    assert read(table, FORK) == ["a", "x"]
    assert head.head.floor == ids.next_id(inherited[1])
    assert say(wrong, TWIG, "y")[0] > inherited[1]
    assert listed(table)[0].conversation_id == ROOT


# The properties of a fork


def test_a_fork_has_the_tree_the_owner_and_the_members_of_its_source(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    store.add_member(ROOT, "bob")

    made = fork(table, by=BOB)

    assert (made.head.owner, made.level) == ("ann", AccessLevel.WRITER)
    assert show(table, FORK).level is AccessLevel.OWNER
    assert store.item(keys.pointer(FORK))["group"] == text(ROOT)
    assert [key for key in store.contents() if key.sort.startswith("MEM#")] == [
        keys.member(ROOT, "ann"),
        keys.member(ROOT, "bob"),
    ]


def test_a_fork_has_the_requested_fields_and_starts_empty(table: Table) -> None:
    create(table, title="root", tags={"a": "b"}, metadata='{"m":1}', agent_id="first", by=PLANNER)

    plain = fork(table, fork_id=None)
    asked = fork(
        table, title="t", tags={"c": "d"}, metadata='{"x": 1.0}', agent_id="second", by=CODER
    ).conversation

    assert plain.conversation.described == Description(
        "root",
        {},
        "{}",
    )
    assert (plain.conversation.agent_id, plain.conversation.client_id) == ("first", None)
    assert asked.described == Description("t", {"c": "d"}, '{"x": 1.0}')
    assert (asked.agent_id, asked.client_id) == ("second", "coder")
    assert ids.is_uuid(plain.conversation.conversation_id)


@pytest.mark.parametrize("reset", [True, False])
def test_metrics_start_at_zero_unless_they_are_kept(table: Table, reset: bool) -> None:
    before = Metrics(2, TokenUsage(1, 2, 3, 4))
    entries = append(table, ROOT, said("a", used=TokenUsage(1, 2, 3, 4)), "b")

    fork(table, anchor=entries[1].entry_id, reset_metrics=reset)
    append(table, FORK, said("x", used=TokenUsage(10, 20, 30, 40)))

    own = Metrics(1, TokenUsage(10, 20, 30, 40))
    both = Metrics(3, TokenUsage.total([before.usage, own.usage]))
    head = show(table, FORK).head
    assert head.metrics == (own if reset else both)
    assert head.history == 1
    assert show(table).head.metrics == before


def named(table: Table, conversation_id: str) -> tuple[str | None, str | None]:
    """Return the title and the preview that a list shows."""
    shown = show(table, conversation_id)
    preview = shown.head.preview
    return shown.conversation.described.title, preview.text if preview else None


def test_a_fork_without_a_title_gets_its_sources_title_and_an_inherited_preview(table: Table) -> None:
    entries = say(table, ROOT, "the root's", "b" * 101, "c")
    fork(table, ROOT, FORK, entries[2])
    fork(table, ROOT, TWIG, entries[0], AFTER)
    fork(table, ROOT, OTHER, title="its own")

    assert named(table, FORK) == ("the root's", "b" * 100)
    assert named(table, TWIG) == ("the root's", "the root's")
    assert named(table, OTHER) == ("its own", "c")
    say(table, FORK, "the fork's")
    assert named(table, FORK) == ("the root's", "the fork's")
    fork(table, FORK, conversation(50))
    fork(table, conversation(50), conversation(51))
    fork(table, conversation(51), conversation(52), entries[1])
    assert named(table, conversation(51)) == ("the root's", "the fork's")
    assert named(table, conversation(52)) == ("the root's", "the root's")


def test_a_fork_of_an_untitled_source_gets_the_title_of_its_own_first_text(table: Table) -> None:
    create(table)
    update_conversation(table, caller=ANN, conversation_id=ROOT, change=Patch({"title": None}))
    say(table, ROOT, "the root's")
    fork(table)
    assert named(table, FORK) == (None, "the root's")

    say(table, FORK, "the fork's")

    assert named(table, FORK) == ("the fork's", "the fork's")


def test_a_fork_by_appending_has_the_title_and_preview_of_its_own_text(table: Table) -> None:
    entries = say(table, ROOT, "the root's", "b")
    append(table, FORK, "the fork's", fork=(ROOT, entries[1]))
    assert named(table, FORK) == ("the fork's", "the fork's")

    silent = Draft.of(Channel.HISTORY, "x", text_of(["no text"]))
    for fork_id, draft in ((TWIG, thought("a thought")), (OTHER, silent)):
        append(table, fork_id, draft, fork=(ROOT, entries[1]), by=PLANNER)
        assert named(table, fork_id) == (None, "the root's")


def test_a_fork_that_inherits_nothing_has_no_preview(table: Table) -> None:
    [first] = say(table, ROOT, "the root's")
    fork(table, anchor=first)
    create(table, TWIG, title="empty")
    fork(table, TWIG, OTHER)

    assert named(table, FORK) == ("the root's", None)
    assert named(table, OTHER) == ("empty", None)


def test_an_entry_without_text_is_shown_by_the_names_of_its_attachments(table: Table) -> None:
    names: list[dict[str, Any]] = [{"name": "a.pdf"}, {}, {"name": "c.pdf"}, {"name": 4}]
    files = [{"href": "/", "contentType": "x/y", **name} for name in names]
    sent = Draft.of(Channel.HISTORY, "history", text_of([{"role": "USER", "attachments": files}]))
    entries = say(table, ROOT, "the root's", sent)
    fork(table)
    fork(table, ROOT, TWIG, entries[1], AFTER)
    copy = copy_conversation(table, caller=ANN, request=Copy(ROOT, up_to=entries[1]), idempotency_key=None)

    shown = {one: named(table, one) for one in (ROOT, FORK, TWIG, copy.conversation.conversation_id)}

    assert shown == dict.fromkeys(shown, ("the root's", "a.pdf, c.pdf"))


@pytest.mark.parametrize("position", [BEFORE, AFTER])
@pytest.mark.parametrize(("silent", "expected"), [(98, "text"), (120, None)])
def test_a_preview_is_searched_behind_a_bounded_number_of_entries_without_text(
    table: Table, position: ForkPosition, silent: int, expected: str | None
) -> None:
    events = Draft.of(Channel.HISTORY, "history", text_of([{"role": "AI", "events": ["x"]}]))
    say(table, ROOT, "text")
    ids_of = [one for _ in range(0, silent + 2, 20) for one in say(table, ROOT, *[events] * 20)]
    ids_of = ids_of[: silent + 1]
    fork(table, anchor=ids_of[-1] if position is BEFORE else ids_of[-2], position=position)

    assert named(table, FORK) == ("text", expected)


def test_a_preview_of_a_large_text_is_found_in_its_chunks(table: Table) -> None:
    text = "".join(f"{at:08x}" for at in random.Random(1).sample(range(2**32), 20_000))
    entries = say(table, ROOT, "a", text)
    fork(table, anchor=entries[1], position=AFTER)

    assert named(table, FORK) == ("a", text[:100])


def changed(before: dict[Key, Item], after: dict[Key, Item]) -> set[Key]:
    """Return the keys of the items that existed before and are different now."""
    return {key for key in before if after.get(key) != before[key]}


@pytest.mark.parametrize("is_append", [True, False], ids=["by appending", "alone"])
@pytest.mark.parametrize("caller", [ANN, BOB], ids=["owner", "writer"])
def test_a_fork_changes_only_the_count_of_forks(
    store: Store, table: Table, is_append: bool, caller: Caller
) -> None:
    _, b = say(table, ROOT, "a", "b")
    append(table, ROOT, thought("c"), by=PLANNER)
    store.add_member(ROOT, "bob")
    before = store.contents()

    if is_append:
        append(table, FORK, "x", fork=(ROOT, b), by=caller)
    else:
        fork(table, anchor=b, by=caller)

    after = store.contents()
    assert changed(before, after) == {keys.group(ROOT)}
    forked_at = after[keys.conversation(ROOT, FORK)]["createdAt"]
    counted = {"conversations": number(2), "forkedAt": forked_at}
    assert after[keys.group(ROOT)] == before[keys.group(ROOT)] | counted
    own = {keys.pointer(FORK), keys.conversation(ROOT, FORK), keys.head(ROOT, FORK), keys.path(ROOT, FORK)}
    rest = after.keys() - before.keys() - own
    assert {key.sort.partition("#")[0] for key in rest if not key.sort[0].isdigit()} == {"TREE"}
    assert len(rest) == 1 + is_append
    assert len(after[keys.path(ROOT, FORK)]["path"]["B"]) == 32


def test_a_blank_fork_has_no_path(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    append(table, FORK, "x", fork=(ROOT, None))

    assert keys.path(ROOT, FORK) not in store.contents()


# Context in forks


@pytest.mark.parametrize("is_append", [True, False], ids=["by appending", "alone"])
def test_a_forks_first_context_may_not_be_below_the_inherited_epoch(
    store: Store, table: Table, is_append: bool
) -> None:
    create(table)
    append(table, ROOT, thought("inherited", epoch=3), by=PLANNER)
    (anchor,) = say(table, ROOT, "a")
    if not is_append:
        fork(table)
    of = (ROOT, anchor) if is_append else None

    with store.refuses(ConflictError):
        append(table, FORK, thought("own", epoch=2), fork=of, by=PLANNER)
    (entry,) = append(table, FORK, thought("own"), fork=of, by=PLANNER)
    assert entry.epoch == 3


def test_a_fork_before_context_does_not_inherit_its_epoch(table: Table) -> None:
    create(table)
    a, _ = append(table, ROOT, "a", thought("later", epoch=9), by=PLANNER)

    (entry,) = append(table, FORK, thought("own"), fork=(ROOT, a.entry_id), by=PLANNER)

    assert entry.epoch == 1


def test_a_fork_is_bound_to_the_client_that_made_it(table: Table) -> None:
    append(table, ROOT, "a", by=PLANNER)
    append(table, FORK, thought("coder's"), fork=(ROOT, None), by=CODER)
    fork(table, ROOT, TWIG)

    for caller, conversation_id in ((PLANNER, FORK), (CODER, ROOT)):
        with pytest.raises(ForbiddenError):
            append(table, conversation_id, thought("x"), by=caller)
    append(table, TWIG, thought("p"), by=PLANNER)
    append(table, TWIG, thought("c"), by=CODER)
    assert read(table, TWIG, by=PLANNER, channel=C) == ["p"]


# Refused forks


@pytest.mark.parametrize("is_append", [True, False], ids=["by appending", "alone"])
class TestRefused:
    """Both ways to fork refuse the same requests."""

    @staticmethod
    def fork(
        table: Table, is_append: bool, source: str, anchor: EntryId | None, by: Caller = ANN, to: str = OTHER
    ) -> object:
        if is_append:
            return append(table, to, "x", fork=(source, anchor), by=by)
        return fork(table, source, to, anchor, by=by)

    @pytest.mark.parametrize("by", [ANN, CODER], ids=["a plain user", "another client"])
    def test_a_context_entry_is_no_anchor_for_others(
        self, store: Store, table: Table, is_append: bool, by: Caller
    ) -> None:
        create(table)
        _, anchor = append(table, ROOT, "a", thought("c"), by=PLANNER)

        with store.refuses(ValidationError):
            self.fork(table, is_append, ROOT, anchor.entry_id, by=by)

    def test_an_entry_that_the_source_does_not_show_is_no_anchor(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        _, b = say(table, ROOT, "a", "b")
        fork(table, ROOT, FORK, b)
        fork(table, ROOT, TWIG, b)
        (later,) = say(table, ROOT, "later")
        (own,) = say(table, FORK, "own")
        (siblings,) = say(table, TWIG, "siblings")

        for source, anchor in ((FORK, b), (FORK, later), (FORK, siblings), (ROOT, own)):
            with store.refuses(ValidationError):
                self.fork(table, is_append, source, anchor)

    def test_an_unknown_entry_or_one_of_another_tree_is_404(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        say(table, ROOT, "a")
        (elsewhere,) = say(table, conversation(50), "b")

        for anchor in (ids.fresh_id(1, 1), elsewhere, ids.FIRST):
            with store.refuses(NotFoundError):
                self.fork(table, is_append, ROOT, anchor)

    def test_an_unknown_source_is_404(self, store: Store, table: Table, is_append: bool) -> None:
        with store.refuses(NotFoundError):
            self.fork(table, is_append, ROOT, None)

    @pytest.mark.failure("write-during-revocation")
    def test_a_membership_taken_away_before_the_write_is_403(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        say(table, ROOT, "a")
        store.add_member(ROOT, "bob")
        expected: dict[Key, Item] = {}

        def revoke() -> None:
            store.remove_member(ROOT, "bob")
            expected.update(store.contents())

        Wire.of(table).just_before(WRITE, revoke)
        with pytest.raises(ForbiddenError):
            self.fork(table, is_append, ROOT, None, by=BOB)

        assert store.contents() == expected

    @pytest.mark.failure("write-during-deletion")
    def test_a_tree_deleted_before_the_write_is_404_and_nothing_is_left(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        say(table, ROOT, "a")
        expected: dict[Key, Item] = {}

        def mark_deleted() -> None:
            store.mark_deleted(ROOT)
            expected.update(store.contents())

        Wire.of(table).just_before(WRITE, mark_deleted)
        with pytest.raises(NotFoundError):
            self.fork(table, is_append, ROOT, None)

        assert store.contents() == expected

    def test_a_tree_removed_before_the_write_is_404_and_nothing_is_left(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        say(table, ROOT, "a")
        Wire.of(table).just_before(WRITE, lambda: store.remove_tree(ROOT))

        with pytest.raises(NotFoundError):
            self.fork(table, is_append, ROOT, None)

        assert store.contents().keys() == {keys.pointer(ROOT)}

    @pytest.mark.failure("deep-or-wide-tree")
    def test_a_path_has_at_most_a_thousand_segments(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        """One more segment is 409."""
        say(table, ROOT, "a")
        plant_deep_fork(store, conversation(60), SEGMENTS_MAX)
        _, own = say(table, conversation(60), "own", "again")

        with store.refuses(ForkTooDeepError):
            self.fork(table, is_append, conversation(60), own)

    def test_a_tree_of_10_000_conversations_takes_no_more(
        self, store: Store, table: Table, is_append: bool
    ) -> None:
        say(table, ROOT, "a")
        store.change(keys.group(ROOT), conversations=number(9_999))

        self.fork(table, is_append, ROOT, None)
        say(table, ROOT, "b")
        with store.refuses(ForkLimitError) as refused:
            fork(table, ROOT, FORK)
        assert (refused.value.status, refused.value.code) == (409, "fork_limit")
        with store.refuses(ForkLimitError):
            append(table, TWIG, "a fork's", fork=(ROOT, None))
        assert texts(append(table, OTHER, "what there is goes on")) == ["what there is goes on"]


def plant_deep_fork(store: Store, fork_id: str, depth: int) -> None:
    """Plant a fork without own entries. depth: the number of segments of its path."""
    path = tuple(Segment(conversation(1_000 + at), ids.fresh_id(1_000 + at, 0)) for at in range(depth))
    root = items.conversation(store.item(keys.conversation(ROOT, ROOT)))
    deep = Conversation(
        fork_id,
        ROOT,
        root.created_at,
        described=Description(title="deep"),
        fork_point=ForkPoint(ROOT, None, AFTER),
    )
    floor = ancestry.floor_of(path)
    store.put(
        items.pointer_item(deep, "n"),
        items.conversation_item(deep),
        items.head_item(deep, Head("ann", root.created_at, floor, floor)),
        items.tree_item(deep, path),
        items.path_item(deep, path),
    )


def test_a_fork_with_the_longest_path_can_be_forked_if_the_path_does_not_grow(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "a")
    plant_deep_fork(store, TWIG, SEGMENTS_MAX)
    shown = items.text(ids.fresh_id(1, 1))  # The entries that the segments show do not exist.
    store.change(keys.head(ROOT, TWIG), lastHistory=shown)

    fork(table, TWIG, FORK)

    assert len(items.path(store.item(keys.path(ROOT, FORK)))) == SEGMENTS_MAX
    say(table, FORK, "own")
    with store.refuses(ForkTooDeepError):
        fork(table, FORK, OTHER)


@pytest.mark.parametrize("theirs", [FORK, OTHER], ids=["of this tree", "of another"])
def test_an_id_in_use_is_409_and_says_nothing_of_what_it_holds(
    store: Store, table: Table, theirs: str
) -> None:
    say(table, ROOT, "a")
    fork(table)
    say(table, OTHER, "secret", by=EVE)

    with store.refuses(ConflictError) as raised:
        fork(table, ROOT, theirs)

    assert set(raised.value.details) == {"message", "reason"}
    assert raised.value.details["reason"] == "id_in_use"
    assert "secret" not in raised.value.message


def test_an_id_is_free_for_a_fork_once_its_time_is_over(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    say(table, OTHER, "b")
    say(table, TWIG, "c")
    store.remove_tree(OTHER, ttl_s=1)
    store.remove_tree(TWIG, ttl_s=1)

    fork(table, ROOT, OTHER)
    append(table, TWIG, "x", fork=(ROOT, None))

    assert (read(table, OTHER), read(table, TWIG)) == (["a"], ["x"])


@pytest.mark.failure("two-creators")
def test_of_two_first_forks_by_appending_the_second_is_a_plain_append_to_the_first(
    store: Store, table: Table
) -> None:
    """The second fork decides again, on what the first one wrote."""
    _, _, c = say(table, ROOT, "a", "b", "c")
    Wire.of(table).just_before(WRITE, lambda: append(store.process(), FORK, "rival", fork=(ROOT, c)))

    append(table, FORK, "mine", fork=(ROOT, c))

    assert read(table, FORK) == ["a", "b", "rival", "mine"]
    assert store.item(keys.group(ROOT))["conversations"] == number(2)


def test_of_two_first_forks_of_one_id_at_different_entries_the_second_is_refused(
    store: Store, table: Table
) -> None:
    _, b, c = say(table, ROOT, "a", "b", "c")
    Wire.of(table).just_before(WRITE, lambda: append(store.process(), FORK, "rival", fork=(ROOT, c)))

    with pytest.raises(ConflictError):
        append(table, FORK, "mine", fork=(ROOT, b))

    assert read(table, FORK) == ["a", "b", "rival"]
    assert store.item(keys.group(ROOT))["conversations"] == number(2)


def test_a_fork_that_keeps_losing_to_others_is_503_and_leaves_nothing(store: Store, table: Table) -> None:
    say(table, ROOT, "a")
    versions = iter(range(10, 100))
    wire = Wire.of(table)

    def turn(request: object) -> None:
        if wire.operations[-1] == WRITE:
            store.change(keys.group(ROOT), version=number(next(versions)))

    wire.before(turn)
    store.add_member(ROOT, "bob")
    with pytest.raises(UnavailableError):
        fork(table)

    assert keys.pointer(FORK) not in store.contents()
    assert wire.operations.count(WRITE) == 8


# Fields of a fork on a conversation that exists


@pytest.mark.parametrize("knows", [True, False], ids=["known", "cold"])
@pytest.mark.parametrize("source", [ROOT, OTHER], ids=["a source", "no source"])
@pytest.mark.parametrize("entry_id", [None, ids.fresh_id(1, 1)], ids=["blank", "an entry"])
def test_appending_with_fork_fields_to_a_conversation_that_is_no_fork_is_refused(
    store: Store, table: Table, source: str, entry_id: ids.EntryId | None, knows: bool
) -> None:
    say(table, ROOT, "a")
    say(table, TWIG, "t")
    mine = table if knows else store.process()
    if knows:
        show(mine, TWIG)

    with store.refuses(ConflictError):
        append(mine, TWIG, "u", fork=(source, entry_id))
    append(mine, TWIG, "u")

    assert read(table, TWIG) == ["t", "u"]


@pytest.mark.parametrize("knows", [True, False], ids=["known", "cold"])
@pytest.mark.parametrize("at", [0, 1, None], ids=["the first entry", "another", "blank"])
def test_appending_to_a_fork_accepts_only_its_own_fork_fields(
    store: Store, table: Table, at: int | None, knows: bool
) -> None:
    """A client may send the fork point with every message, but it must match the conversation."""
    entry_ids = say(table, ROOT, "a", "b", "c")
    anchor = None if at is None else entry_ids[at]
    append(table, FORK, "x", fork=(ROOT, anchor))
    mine = table if knows else store.process()

    append(mine, FORK, "y", fork=(ROOT, anchor))
    for other in {None, *entry_ids} - {anchor}:
        with store.refuses(ConflictError):
            append(mine, FORK, "z", fork=(ROOT, other))
    with store.refuses(ConflictError):
        append(mine, FORK, "z", fork=(OTHER, anchor))
    with store.refuses(ConflictError):
        append(mine, ROOT, "z", fork=(ROOT, anchor))

    inherited = ["a", "b", "c"][: at or 0]
    assert read(table, FORK) == [*inherited, "x", "y"]


def test_the_fork_fields_of_an_append_do_not_match_a_fork_after_the_entry(store: Store, table: Table) -> None:
    [a] = say(table, ROOT, "a")
    fork(table, anchor=a, position=AFTER)

    with store.refuses(ConflictError):
        append(table, FORK, "x", fork=(ROOT, a))


def test_a_replay_is_answered_before_the_fork_fields_are_compared(store: Store, table: Table) -> None:
    [a] = say(table, ROOT, "a")
    made = append(table, FORK, "x", fork=(ROOT, a), idempotency_key=idempotency_key("k"))

    assert append(table, FORK, "x", fork=(ROOT, a), idempotency_key=idempotency_key("k")) == made
    assert append(store.process(), FORK, "x", fork=(ROOT, None), idempotency_key=idempotency_key("k")) == made


def test_naming_a_source_gives_no_right_to_append_to_an_existing_conversation(
    store: Store, table: Table
) -> None:
    say(table, ROOT, "a")
    say(table, TWIG, "eve's", by=EVE)

    with store.refuses(ForbiddenError):
        append(table, TWIG, "x", fork=(ROOT, None))


# If-Match on a fork


def test_if_match_of_a_fork_by_appending_is_the_last_entry_of_the_source(store: Store, table: Table) -> None:
    _, b, c = say(table, ROOT, "a", "b", "c")

    with store.refuses(ConflictError) as raised:
        append(table, FORK, "x", fork=(ROOT, c), if_match=b)
    assert raised.value.details["lastEntryId"] == c
    append(table, FORK, "x", fork=(ROOT, c), if_match=c)
    [y] = say(table, FORK, "y")

    assert read(table, FORK) == ["a", "b", "x", "y"]
    with store.refuses(ConflictError) as raised:
        append(table, FORK, "z", fork=(ROOT, c), if_match=c)  # an append to a fork that exists
    assert raised.value.details["lastEntryId"] == y
    append(table, FORK, "z", fork=(ROOT, c), if_match=y)


def test_if_match_of_a_fork_is_the_last_entry_of_the_source_wherever_the_fork_leaves_it(
    store: Store, table: Table
) -> None:
    a, b = say(table, ROOT, "a", "b")
    places: list[tuple[EntryId | None, ForkPosition | None]]
    places = [(None, None), (None, BLANK), (a, BEFORE), (a, AFTER), (b, BEFORE), (b, AFTER)]

    for at, (anchor, position) in enumerate(places, 10):
        with store.refuses(ConflictError) as raised:
            fork(table, ROOT, FORK, anchor, position, if_match=a)
        assert raised.value.details["lastEntryId"] == b
        fork(table, ROOT, conversation(at), anchor, position, if_match=b)


def test_if_match_of_a_fork_is_the_last_entry_that_its_source_inherits(store: Store, table: Table) -> None:
    a, b = say(table, ROOT, "a", "b")
    fork(table, ROOT, FORK, b)

    with store.refuses(ConflictError):
        fork(table, FORK, TWIG, a, if_match=b)
    fork(table, FORK, TWIG, a, if_match=a)


def test_context_of_the_source_does_not_matter_to_an_if_match_of_a_fork(table: Table) -> None:
    (a,) = say(table, ROOT, "a", by=PLANNER)
    (b,) = say(table, ROOT, thought("b"), by=PLANNER)

    fork(table, ROOT, FORK, a, if_match=a)
    fork(table, ROOT, TWIG, a, if_match=b)


@pytest.mark.parametrize("position", [BEFORE, AFTER])
def test_a_fork_with_if_match_is_refused_if_something_is_appended_to_the_source_meanwhile(
    store: Store, table: Table, position: ForkPosition
) -> None:
    (a,) = say(table, ROOT, "a")
    ran = meanwhile(table, 2, lambda: say(store.process(), ROOT, "b"))

    with pytest.raises(ConflictError) as raised:
        fork(table, ROOT, FORK, a, position, if_match=a)
    assert ran
    assert raised.value.details["lastEntryId"] == page(table).entries[-1].entry_id
    assert [one.conversation_id for one in listed(table)] == [ROOT]


def test_context_that_is_appended_to_the_source_meanwhile_does_not_refuse_a_fork(
    store: Store, table: Table
) -> None:
    (a,) = say(table, ROOT, "a", by=PLANNER)
    ran = meanwhile(table, 2, lambda: say(store.process(), ROOT, thought("b"), by=PLANNER))

    fork(table, ROOT, FORK, a, if_match=a)
    assert ran


# Listing


def listed(
    table: Table, conversation_id: str = ROOT, *, by: Caller = ANN, limit: int = 200
) -> list[Conversation]:
    """Return the conversations of the tree, read page by page."""
    found: list[Conversation] = []
    after: ListKey | None = None
    while True:
        one = fork_lists.list_forks(
            table,
            caller=by,
            conversation_id=conversation_id,
            after=after,
            limit=limit,
        )
        assert len(one.conversations) <= limit
        found += [conversation for conversation, _ in one.conversations]
        after = one.resume
        if after is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 200])
def test_every_conversation_of_the_tree_is_listed_oldest_first(
    store: Store, table: Table, limit: int
) -> None:
    say(table, ROOT, "a")
    made = [
        ROOT,
        *(fork(table, ROOT, conversation(200 - at)).conversation.conversation_id for at in range(3)),
    ]
    say(table, OTHER, "another tree")

    for asked in (ROOT, conversation(199)):
        assert [one.conversation_id for one in listed(table, asked, limit=limit)] == made


def test_a_fork_is_listed_after_its_source_also_with_a_slow_clock(store: Store, table: Table) -> None:
    say(store.process(clock=WrongClock(5 * MINUTE_MS)), ROOT, "a")
    fork(table)
    fork(store.process(clock=WrongClock(-5 * MINUTE_MS)), FORK, TWIG)

    assert [one.conversation_id for one in listed(table)] == [ROOT, FORK, TWIG]


def test_a_list_of_forks_shows_each_as_it_is_now(table: Table) -> None:
    (a,) = say(table, ROOT, "a")
    fork(table, anchor=a)
    update_conversation(table, caller=ANN, conversation_id=FORK, change=Patch({"title": "new"}))

    (_, one) = listed(table)
    assert (one.described.title, one.fork_point) == ("new", ForkPoint(ROOT, a, BEFORE))
