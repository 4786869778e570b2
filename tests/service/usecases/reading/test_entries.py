import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ids import EntryId
from forklore_service.domain.model import Caller, Entry
from forklore_service.errors import ForbiddenError, InvalidCursorError, NotFoundError
from forklore_service.limits import PAGE_BYTES_MAX
from forklore_service.storage.table import Table
from forklore_service.usecases.reading import entries
from forklore_service.usecases.reading.entries import get_entry
from tests.service.usecases.builders import (
    AFTER,
    ANN,
    BOB,
    CODER,
    EVE,
    FORK,
    OTHER,
    PLANNER,
    ROOT,
    TWIG,
    C,
    H,
    append,
    conversation,
    fork,
    page,
    read,
    say,
    texts,
    thought,
)
from tests.service.usecases.builders import said as message
from tests.support.tables import Store, fresh_store
from tools.harness.wire import Wire

CHAIN = conversation(200)
"""The last of a chain of forks with one entry each: many more segments than one round reads."""
LEAF = conversation(201)
"""A fork of the chain's last fork. It has no own entry."""


@dataclass(frozen=True)
class Grown:
    """A tree, and the history that each of its conversations must show, as texts."""

    store: Store
    table: Table
    shows: dict[str, list[str]]
    entries: dict[str, Entry]
    """Every entry of the tree, by its text."""

    def id_of(self, said: str) -> EntryId:
        return self.entries[said].entry_id

    @property
    def history(self) -> list[str]:
        """The history of the whole tree, in the order of its keys."""
        found = sorted(self.entries.values(), key=lambda entry: entry.entry_id)
        return [one for one in texts(found) if not one.startswith(("p", "c"))]


@pytest.fixture(scope="module")
def grown() -> Iterator[Grown]:
    """A tree that no test changes. Planner's context begins with `p`, coder's with `c`."""
    with fresh_store("grown") as store:
        yield grow(store)


def grow(store: Store) -> Grown:
    table = store.process()
    entries: dict[str, Entry] = {}

    def add(
        conversation_id: str, *drafts: Any, by: Caller = ANN, of: tuple[str, EntryId] | None = None
    ) -> None:
        made = append(table, conversation_id, *drafts, by=by, fork=of)
        entries.update(zip(texts(made), made, strict=True))

    shows = {ROOT: [f"r{at}" for at in range(12)]}
    add(ROOT, *shows[ROOT][:4])
    add(ROOT, thought("p1"), "r4", thought("p2"), by=PLANNER)
    add(ROOT, thought("c1", 4), "r5", by=CODER)
    add(ROOT, thought("p3", 2), by=PLANNER)
    add(ROOT, "r6", thought("p4"), *shows[ROOT][7:], by=PLANNER)
    add(FORK, "f0", "f1", of=(ROOT, entries["r6"].entry_id))
    add(FORK, thought("p5"), thought("p6", 3), by=PLANNER)
    shows[FORK] = [*shows[ROOT][:6], "f0", "f1"]
    add(TWIG, "t0", of=(FORK, entries["f1"].entry_id))
    shows[TWIG] = [*shows[ROOT][:6], "f0", "t0"]
    source, line = ROOT, list(shows[ROOT])
    for at in range(20):
        link = CHAIN if at == 19 else conversation(100 + at)
        fork(table, source, link)
        add(link, f"l{at}")
        line.append(f"l{at}")
        source = link
    shows[CHAIN] = line
    fork(table, CHAIN, LEAF)
    shows[LEAF] = line
    store.add_member(ROOT, "bob", AccessLevel.READER)
    say(table, OTHER, "another tree")
    return Grown(store, table, shows, entries)


VIEWS = [ROOT, FORK, TWIG, CHAIN, LEAF]
each_view = pytest.mark.parametrize("conversation_id", VIEWS, ids=["root", "fork", "twig", "chain", "leaf"])


def walk(
    table: Table, conversation_id: str, limit: int, *, backward: bool = False, by: Caller = ANN, **what: Any
) -> list[str]:
    """Return the texts that a walk over the pages shows, oldest first."""
    pages: list[list[str]] = []
    cursor: dict[str, Any] = {"tail": True} if backward else {}
    while True:
        found = page(table, conversation_id, by=by, limit=limit, **cursor, **what)
        assert len(found.entries) <= limit
        pages.append(texts(found.entries))
        further = found.before if backward else found.after
        if further is None:
            return list(itertools.chain(*(reversed(pages) if backward else pages)))
        cursor = {"before" if backward else "after": further}


# Walks


@each_view
@pytest.mark.parametrize("limit", [2, 1_000])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_a_walk_over_pages_of_any_size_shows_every_entry_once_and_in_order(
    grown: Grown, conversation_id: str, limit: int, backward: bool
) -> None:
    assert walk(grown.table, conversation_id, limit, backward=backward) == grown.shows[conversation_id]


@pytest.mark.parametrize("limit", [1, 1_000])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_a_walk_over_the_whole_tree_shows_every_entry_once_and_in_order(
    grown: Grown, limit: int, backward: bool
) -> None:
    assert walk(grown.table, TWIG, limit, backward=backward, all_forks=True) == grown.history


# One page


@each_view
def test_a_view_up_to_an_entry_is_the_view_at_the_time_of_that_entry(
    grown: Grown, conversation_id: str
) -> None:
    shows = grown.shows[conversation_id]

    for at in (0, 4, len(shows) - 1):
        assert walk(grown.table, conversation_id, 5, up_to=grown.id_of(shows[at])) == shows[: at + 1]
        backward = walk(grown.table, conversation_id, 5, backward=True, up_to=grown.id_of(shows[at]))
        assert backward == shows[: at + 1]


def test_a_view_up_to_an_entry_combines_with_cursors_before_it(grown: Grown) -> None:
    up_to = grown.id_of("r8")

    assert read(grown.table, ROOT, up_to=up_to, after=grown.id_of("r6")) == ["r7", "r8"]
    assert read(grown.table, ROOT, up_to=up_to, before=grown.id_of("r1")) == ["r0"]
    with pytest.raises(InvalidCursorError):
        page(grown.table, ROOT, up_to=up_to, after=grown.id_of("r9"))


# Cursors


def at(name: str, entry_id: EntryId) -> dict[str, Any]:
    """Return the position as an argument of this name."""
    return {name: entry_id}


@pytest.mark.parametrize("name", ["after", "before", "up_to"])
def test_any_entry_of_the_unfiltered_view_is_a_position(grown: Grown, name: str) -> None:
    expected = {"after": ["r5", "r6"], "before": ["r3", "r4"], "up_to": ["r0", "r1"]}

    assert read(grown.table, ROOT, limit=2, **at(name, grown.id_of("p2"))) == expected[name]
    assert read(grown.table, ROOT, limit=2, by=BOB, **at(name, grown.id_of("p2"))) == expected[name]


@pytest.mark.parametrize("name", ["after", "before", "up_to"])
def test_any_other_id_is_refused_as_a_position_of_a_view(grown: Grown, name: str) -> None:
    (elsewhere,) = page(grown.table, OTHER).entries
    foreign = {
        ROOT: ["f0", "t0", "l0"],
        FORK: ["r6", "r11", "t0", "l0"],
        TWIG: ["f1", "p5", "p6", "r6"],
        LEAF: ["f0"],
    }

    for conversation_id, said in foreign.items():
        wrong = [*map(grown.id_of, said), elsewhere.entry_id, ids.fresh_id(1, 1), ids.FIRST]
        for entry_id in wrong:
            with pytest.raises(InvalidCursorError) as raised:
                page(grown.table, conversation_id, **at(name, entry_id))
            assert raised.value.message == InvalidCursorError().message


@pytest.mark.parametrize("name", ["after", "before", "up_to"])
def test_any_entry_of_the_tree_is_a_position_of_all_forks_and_no_other_is(grown: Grown, name: str) -> None:
    (elsewhere,) = page(grown.table, OTHER).entries

    for said in ("r11", "f0", "p6", "c1", "l7"):
        page(grown.table, TWIG, all_forks=True, **at(name, grown.id_of(said)))
    for entry_id in (elsewhere.entry_id, ids.fresh_id(1, 1)):
        with pytest.raises(InvalidCursorError):
            page(grown.table, TWIG, all_forks=True, **at(name, entry_id))


# Access to channels


@each_view
def test_users_see_only_the_history(grown: Grown, conversation_id: str) -> None:
    for caller in (ANN, BOB):
        for channel in (None, H):
            shown = read(grown.table, conversation_id, by=caller, channel=channel)
            assert shown == grown.shows[conversation_id]
        with pytest.raises(ForbiddenError):
            page(grown.table, conversation_id, by=caller, channel=C)


@pytest.mark.parametrize("limit", [2, 1_000])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_agents_see_the_history_and_their_own_context_in_one_order(
    grown: Grown, limit: int, backward: bool
) -> None:
    def seen(conversation_id: str, by: Caller) -> list[str]:
        return walk(grown.table, conversation_id, limit, backward=backward, by=by)

    assert seen(ROOT, PLANNER)[4:13] == ["p1", "r4", "p2", "r5", "p3", "r6", "p4", "r7", "r8"]
    assert seen(ROOT, CODER)[4:8] == ["r4", "c1", "r5", "r6"]
    assert seen(FORK, PLANNER)[4:] == ["p1", "r4", "p2", "r5", "p3", "f0", "f1", "p5", "p6"]
    assert seen(TWIG, PLANNER)[4:] == ["p1", "r4", "p2", "r5", "p3", "f0", "t0"]
    assert read(grown.table, ROOT, by=PLANNER, channel=H) == grown.shows[ROOT]


def test_both_channels_of_a_conversation_without_forks_are_one_query(table: Table) -> None:
    first, *_ = append(table, ROOT, "q", thought("n"), "a", by=PLANNER)
    wire = Wire.of(table)
    assert read(table, by=PLANNER) == ["q", "n", "a"]
    assert wire.operations.count("Query") == 1

    fork(table, anchor=first.entry_id, position=AFTER, by=PLANNER)
    say(table, FORK, "of the fork", by=PLANNER)
    wire = Wire.of(table)
    assert read(table, by=PLANNER) == ["q", "n", "a"]
    assert wire.operations.count("Query") == 2


def test_context_of_a_conversation_that_another_client_made_is_403(store: Store, table: Table) -> None:
    append(table, ROOT, "a", thought("p"), by=PLANNER)

    assert read(table, by=CODER) == ["a"]
    assert read(table, by=PLANNER) == ["a", "p"]
    with pytest.raises(ForbiddenError):
        page(table, by=CODER, channel=C)


def test_context_is_only_for_the_client_that_wrote_it_in_the_whole_tree_too(grown: Grown) -> None:
    all_of_it = read(grown.table, TWIG, by=PLANNER, all_forks=True)

    assert [one for one in all_of_it if one[0] in "pc"] == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert [one for one in all_of_it if one[0] not in "pc"] == grown.history


# Epochs


@pytest.mark.parametrize(
    ("conversation_id", "epoch", "expected"),
    [
        (ROOT, "latest", ["p3", "p4"]),
        (ROOT, "all", ["p1", "p2", "p3", "p4"]),
        (ROOT, 1, ["p1", "p2"]),
        (ROOT, 2, ["p3", "p4"]),
        (ROOT, 9, []),
        (FORK, "latest", ["p6"]),
        (FORK, "all", ["p1", "p2", "p3", "p5", "p6"]),
        (FORK, 2, ["p3", "p5"]),
        (TWIG, "latest", ["p3"]),
        (LEAF, "latest", ["p3", "p4"]),
    ],
)
@pytest.mark.parametrize("limit", [1, 1_000])
def test_context_is_that_of_the_latest_epoch_in_the_view_or_of_the_one_asked_for(
    grown: Grown, conversation_id: str, epoch: Any, expected: list[str], limit: int
) -> None:
    found = walk(grown.table, conversation_id, limit, by=PLANNER, channel=C, epoch=epoch)

    assert found == expected


def test_the_latest_epoch_up_to_an_entry_is_the_latest_before_that_entry(grown: Grown) -> None:
    def latest(up_to: str) -> list[str]:
        return read(grown.table, ROOT, by=PLANNER, channel=C, up_to=grown.id_of(up_to))

    assert latest("p3") == ["p3"]
    assert latest("c1") == ["p1", "p2"]
    assert latest("r3") == []


def test_a_client_without_context_in_the_view_sees_none(grown: Grown) -> None:
    assert read(grown.table, LEAF, by=Caller("ann", "stranger"), channel=C) == []


def test_the_latest_epoch_of_all_forks_is_that_of_the_tree(grown: Grown) -> None:
    assert read(grown.table, ROOT, by=PLANNER, channel=C, all_forks=True) == ["p6"]
    assert read(grown.table, ROOT, by=CODER, channel=C, all_forks=True) == ["c1"]


# Own entries


@each_view
def test_own_lists_only_the_own_entries_of_a_conversation(grown: Grown, conversation_id: str) -> None:
    own = [
        one for one in grown.shows[conversation_id] if grown.entries[one].conversation_id == conversation_id
    ]

    assert read(grown.table, conversation_id, own=True) == own
    assert walk(grown.table, conversation_id, 1, own=True) == own
    assert walk(grown.table, conversation_id, 1, own=True, backward=True) == own


def test_own_goes_with_cursors_of_inherited_entries_and_with_context(grown: Grown) -> None:
    table, inherited, own = grown.table, grown.id_of("r2"), grown.id_of("f0")

    assert read(table, FORK, own=True, after=inherited) == ["f0", "f1"]
    assert read(table, FORK, own=True, before=inherited) == []
    assert read(table, FORK, own=True, before=own) == []
    assert read(table, FORK, own=True, up_to=own) == ["f0"]
    assert read(table, FORK, by=PLANNER, own=True) == ["f0", "f1", "p5", "p6"]
    assert read(table, FORK, by=PLANNER, own=True, channel=C) == ["p6"]
    assert read(table, TWIG, by=PLANNER, own=True, channel=C) == []
    assert read(table, TWIG, by=PLANNER, own=True, channel=C, epoch="all") == []
    assert read(table, LEAF, own=True) == []


def test_one_entry_is_shown_by_each_conversation_that_shows_it(grown: Grown) -> None:
    for of, shows in grown.shows.items():
        for said, entry in grown.entries.items():
            if said.startswith(("p", "c")):
                continue
            if said in shows:
                assert one_entry(grown, of, entry.entry_id) == entry
            else:
                with pytest.raises(NotFoundError):
                    one_entry(grown, of, entry.entry_id)


def test_context_is_shown_only_to_the_agent_that_it_belongs_to(grown: Grown) -> None:
    noted = grown.entries["p1"]

    assert one_entry(grown, FORK, noted.entry_id, by=PLANNER) == noted
    assert one_entry(grown, FORK, noted.entry_id, by=EVE._replace(bypasses_membership=True)) == noted
    for by in (ANN, CODER, BOB):
        with pytest.raises(NotFoundError):
            one_entry(grown, FORK, noted.entry_id, by=by)


def test_one_entry_is_for_members_and_needs_an_id(grown: Grown) -> None:
    with pytest.raises(ForbiddenError):
        one_entry(grown, FORK, grown.id_of("f0"), by=EVE)
    for unknown in ("x", ids.next_id(grown.id_of("f0")), ids.LAST, ROOT):
        with pytest.raises(NotFoundError):
            one_entry(grown, FORK, unknown)
    with pytest.raises(NotFoundError):
        one_entry(grown, conversation(999), grown.id_of("f0"))


def one_entry(grown: Grown, of: str, entry_id: str, *, by: Caller = ANN) -> Entry:
    return get_entry(grown.table, caller=by, conversation_id=of, entry_id=entry_id)


# Lines


def test_a_page_of_lines_is_the_page_with_lines_in_place_of_content_and_metadata(table: Table) -> None:
    append(table, ROOT, message("A", metadata='{"a":1}'), thought("B"), by=PLANNER)
    whole, lines = (page(table, by=PLANNER, as_lines=as_lines) for as_lines in (False, True))

    assert lines.entries == [one._replace(content="[]", metadata=None) for one in whole.entries]
    assert [lines.lines[one.entry_id].text for one in lines.entries] == ["A", "B"]
    assert whole.lines == {}


def test_no_chunk_is_read_for_a_line(store: Store, table: Table) -> None:
    [large, small] = say(table, ROOT, Random(1).randbytes(40_000).hex(), "A")
    store.delete(keys.blob(ROOT, large, 0))

    for all_forks in (False, True):
        found = page(table, as_lines=True, all_forks=all_forks)
        assert [one.entry_id for one in found.entries] == [large, small]
        assert found.lines.keys() == {small}


def test_a_page_of_lines_ends_at_a_bound_of_content_that_large_bodies_do_not_count_for(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "LINES", entries.LINES._replace(most=(PAGE_BYTES_MAX, 70_000)))
    noise = Random(1).randbytes(40_000).hex()
    made = say(table, ROOT, noise, noise, "x" * 30_000, noise, "x" * 30_000, "x" * 30_000)

    first = page(table, as_lines=True)
    assert [one.entry_id for one in first.entries] == made[:5]
    assert [one.entry_id for one in page(table, as_lines=True, after=first.after).entries] == made[5:]
