import hashlib
import itertools
import uuid
from collections.abc import Callable, Sequence
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_local.fsck.shapes import Kind, kind_of
from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import Reference
from forklore_service.domain.ids import FIRST, LAST, EntryId
from forklore_service.domain.keys import Key, ListKey, SortRange
from forklore_service.domain.model import Channel, Transfer
from forklore_service.domain.names import NameOwner, NameRef
from forklore_service.domain.notes import NoteRef
from tests.service.domain.builders import FORK, ROOT, C, H, at, conversation, examples

NIL, MAX = str(uuid.UUID(int=0)), str(uuid.UUID(int=(1 << 128) - 1))
EMOJI, LONG = "🦀", "🦀" * 63 + "abc"
HOSTILE = [
    *("a", "a#", "a#b", "ab", "a/", "a/b", "a%", "a%23", "a%2523", "a b", " a", "a ", "a~", "a~b", "A"),
    *(
        "#",
        "##",
        "/",
        "%",
        "%00",
        "~",
        "~b",
        "~~",
        ":",
        "0",
        "9",
        "2026-03-01T09:15:00.000Z",
        "..",
        "../..",
        "PTR",
        "HEAD#",
    ),
    *(
        "MEM#a",
        "USER#a",
        "a+b",
        "a&b=c",
        'a"b',
        "a\\b",
        "é",
        "e\u0301",
        "ª",
        EMOJI,
        EMOJI * 2,
        LONG,
        "x" * 255,
    ),
]
"""Hostile ids of users and clients: separators, escapes, prefixes of other ids, long ones."""

USER_IDS = (
    st.sampled_from(HOSTILE)
    | st.text("a#/%~ :0+é🦀", min_size=1, max_size=6)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
)
IDS = st.uuids().map(str) | st.sampled_from([NIL, MAX, ROOT, FORK])
ENTRY_IDS = st.builds(
    ids.fresh_id,
    st.integers(0, ids.MILLISECONDS_MAX),
    st.integers(0, (1 << ids.RANDOM_BITS) - 2),
) | st.sampled_from([FIRST, ids.previous_id(LAST)])


def within(key: Key, of: SortRange) -> bool:
    """Tell whether a Query of the range returns the key. DynamoDB compares the bytes of UTF-8."""
    return key.partition == of.partition and of.first.encode() <= key.sort.encode() <= of.last.encode()


# Text of users and clients


@pytest.mark.failure("unusual-user-id")
@examples(500)
@given(st.lists(USER_IDS, min_size=2, max_size=2, unique=True))
def test_no_key_of_a_user_or_client_equals_or_begins_with_the_key_of_another(users: list[str]) -> None:
    one, other = users

    assert unquote(keys.escape(one)) == one
    for spelled in ONES_OWN:
        mine, theirs = "|".join(spelled(one)), "|".join(spelled(other))
        assert mine != theirs
        assert not mine.startswith(f"{theirs}#")


ONES_OWN: list[Callable[[str], Key]] = [
    lambda user: keys.member(ROOT, user),
    lambda user: keys.context(ROOT, FORK, user),
    lambda user: keys.user_tree(user, ids.created_at(at(1)), ROOT, is_child=True),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_ascii_without_separators(text: str) -> None:
    assert keys.escape(text).isascii()
    assert not set("#/: ") & set(keys.escape(text))


@pytest.mark.parametrize("text", [LONG, "x" * 255, "é" * 127 + "x", "#" * 255])
def test_text_of_255_bytes_fits_into_every_key(text: str) -> None:
    assert len(text.encode()) == 255
    for spelled in ONES_OWN:
        key = spelled(text)
        assert len(key.partition) <= 2_048
        assert len(key.sort) <= 1_024


@pytest.mark.failure("unusual-user-id")
@examples(500)
@given(
    st.lists(USER_IDS, min_size=2, max_size=2, unique=True),
    st.integers(0, ids.MILLISECONDS_MAX),
    IDS,
    st.booleans(),
)
def test_no_user_s_tree_is_listed_for_another(
    users: list[str], created_ms: int, group_id: str, is_child: bool
) -> None:
    """No user's key range contains another user's keys. Roots and children have separate ranges."""
    owner, other = users
    key = keys.user_tree(owner, ids.timestamp(created_ms), group_id, is_child=is_child)

    assert within(key, keys.user_trees_range(owner, is_child=is_child))
    assert not within(key, keys.user_trees_range(owner, is_child=not is_child))
    assert not within(key, keys.user_trees_range(other, is_child=is_child))
    assert not within(key, keys.transfers_range(owner))
    assert keys.in_user_tree(key.sort) == ((ids.timestamp(created_ms), group_id), is_child)


# Names


def named(name: str, client: str | None = None, *, user: str = "u") -> Key:
    return keys.name(NameRef(NameOwner(user, client), name))


@examples(500)
@given(st.lists(USER_IDS, min_size=2, max_size=2, unique=True))
def test_the_keys_of_names_are_in_the_order_of_their_bytes(names: list[str]) -> None:
    one, other = names

    assert (named(one).sort.encode() < named(other).sort.encode()) == (one.encode() < other.encode())
    assert keys.in_order(keys.escape_in_order(one)) == one
    assert keys.in_name(named(one, user=other)) == (other, one)
    assert named(one).sort.isascii()
    assert named(one).sort.count("#") == 2


@examples(500)
@given(st.lists(USER_IDS, min_size=2, max_size=2, unique=True), st.none() | USER_IDS)
def test_a_range_of_names_has_those_that_begin_so_and_come_later(
    names: list[str], client: str | None
) -> None:
    one, other = names
    owner = NameOwner("u", client)

    for prefix in ("", one[:1], one, other):
        of = keys.names_range(owner, prefix=prefix)
        assert within(named(one, client), of) == one.startswith(prefix)
        after = keys.names_range(owner, prefix=prefix, after=other)
        is_after = one.startswith(prefix) and one.encode() > other.encode()
        assert within(named(one, client), after) == is_after
        assert not within(named(one, f"{client}x"), of)
        assert not within(named(one, client, user="v"), of)
    assert within(named(one, client), keys.all_names_range("u"))
    assert not within(named(one, client), keys.all_names_range("u", after=NameRef(owner, one)))


@pytest.mark.parametrize("name", [LONG, "x" * 255, "#" * 255])
def test_every_name_of_every_client_fits_into_a_key(name: str) -> None:
    key = named(name, "#" * 255, user="#" * 255)

    assert len(key.partition) <= 2_048
    assert len(key.sort) <= 1_024


@given(USER_IDS)
def test_a_name_is_in_no_other_list_of_its_user(name: str) -> None:
    key = named(name)

    for is_child in (True, False):
        assert not within(key, keys.user_trees_range("u", is_child=is_child))
    assert not within(key, keys.transfers_range("u"))


# Items in a tree's partition


def kinds(user: str, conversation_id: str, created_at: str) -> dict[str, Key]:
    """Return a key of every kind of item in a tree's partition, except entries."""
    place = ListKey(created_at, conversation_id)
    return {
        "GROUP": keys.group(ROOT),
        "CONV": keys.conversation(ROOT, conversation_id),
        "PATH": keys.path(ROOT, conversation_id),
        "HEAD": keys.head(ROOT, conversation_id),
        "CTX": keys.context(ROOT, conversation_id, user),
        "TREE": keys.tree_row(ROOT, created_at, conversation_id),
        "MEM": keys.member(ROOT, user),
        "GONE": keys.remnant(ROOT, conversation_id),
        "KEY": keys.entry_key(ROOT, conversation_id, user),
        "VEC": keys.vector(ROOT, conversation_id, at(1), 0),
        "CHILD": keys.child(ROOT, conversation_id, place),
        "XFER": keys.transfer_of_group(ROOT),
        "LINK": keys.link(ROOT, conversation_id),
        "NOTE": keys.note(ROOT, NoteRef(conversation_id, at(1), at(2))),
    }


OTHERS = [
    keys.entry(ROOT, at(1)),
    keys.blob(ROOT, at(1), 0),
    keys.pointer(ROOT),
    keys.part(ROOT, FORK, 0),
    keys.user_tree("ann", ids.timestamp(1), ROOT, is_child=False),
    keys.name(NameRef(NameOwner("ann", None), "trip")),
    keys.file(ROOT),
    keys.reference(Reference(ROOT, ROOT, at(1))),
    keys.user_file("ann", "0" * 64, "image/png"),
    keys.idempotency("scope"),
    keys.requests("ann", 60),
    keys.job("delete", ROOT),
    keys.erasure(ROOT),
    keys.erased_tree(ROOT, ROOT),
    keys.retention(),
    keys.shelf("ann"),
    keys.pins("ann"),
]
"""A key of each other kind of item."""
EVERY_ENTRY = SortRange(ROOT, "0", ":")


@examples(500)
@given(USER_IDS, IDS, st.integers(0, ids.MILLISECONDS_MAX), ENTRY_IDS)
def test_each_kind_of_item_is_only_in_its_own_range(
    user: str, conversation_id: str, created_ms: int, entry_id: EntryId
) -> None:
    everything = kinds(user, conversation_id, ids.timestamp(created_ms))
    everything["ENTRY"] = keys.entry(ROOT, entry_id)

    def found(of: SortRange) -> set[str]:
        return {kind for kind, key in everything.items() if within(key, of)}

    positions = SortRange(ROOT, keys.position(FIRST), keys.position(LAST))
    assert len(set(everything.values())) == len(everything)
    assert found(EVERY_ENTRY) == found(keys.entries_range(ROOT)) == {"ENTRY"}
    assert found(keys.others_range(ROOT)) == everything.keys() - {"ENTRY"}
    assert {kind for kind, key in everything.items() if keys.is_entry(key)} == {"ENTRY"}
    assert {kind for kind, key in everything.items() if keys.is_member(key.sort)} == {"MEM"}
    assert {kind for kind, key in everything.items() if keys.is_head(key.sort)} == {"HEAD"}
    assert found(positions) == {"ENTRY"}
    assert found(keys.heads_range(ROOT)) == {"HEAD"}
    assert found(keys.tree_rows_range(ROOT)) == {"TREE"}
    assert found(keys.contexts_range(ROOT)) == {"CTX"}
    assert found(keys.contexts_of_range(ROOT, conversation_id)) == {"CTX"}
    assert found(keys.members_range(ROOT)) == {"MEM"}
    assert found(keys.remnants_range(ROOT)) == {"GONE"}
    assert found(keys.conversations_range(ROOT)) == {"CONV"}
    assert found(keys.links_range(ROOT)) == {"LINK"}
    assert found(keys.notes_range(ROOT, conversation_id, first=FIRST, last=LAST)) == {"NOTE"}
    assert found(keys.all_notes_range(ROOT, after=None)) == {"NOTE"}
    assert found(keys.entry_keys_range(ROOT, conversation_id)) == {"KEY"}
    assert found(keys.vectors_range(ROOT, conversation_id, first=FIRST, last=LAST)) == {"VEC"}
    assert found(keys.children_range(ROOT, conversation_id)) == {"CHILD"}
    assert found(keys.all_children_range(ROOT)) == {"CHILD"}
    assert {kind for kind, key in everything.items() if keys.in_remnant(key.sort)} == {"GONE"}
    assert found(keys.heads_range(FORK)) == set()
    assert found(keys.tree_rows_range(FORK)) == set()
    assert found(keys.contexts_range(FORK)) == set()
    assert found(keys.user_trees_range(user, is_child=False)) == set()


def test_each_kind_of_key_is_spelled_as_the_architecture_page_says() -> None:
    created_at = "2026-03-01T09:15:00.000Z"
    entry_id = ids.fresh_id(ids.milliseconds(created_at), 5)
    within_tree = kinds("a#b", FORK, created_at)

    assert {kind_of(key) for key in [*within_tree.values(), *OTHERS]} == set(Kind), "see kinds() and OTHERS"
    assert within_tree == {
        "GROUP": (ROOT, "GROUP"),
        "CONV": (ROOT, f"CONV#{FORK}"),
        "PATH": (ROOT, f"PATH#{FORK}"),
        "HEAD": (ROOT, f"HEAD#{FORK}"),
        "CTX": (ROOT, f"CTX#{FORK}#a%23b"),
        "TREE": (ROOT, f"TREE#{created_at}#{FORK}"),
        "MEM": (ROOT, "MEM#a%23b"),
        "GONE": (ROOT, f"GONE#{FORK}"),
        "KEY": (ROOT, f"KEY#{FORK}#a%23b"),
        "VEC": (ROOT, f"VEC#{FORK}#{at(1)}#0"),
        "CHILD": (ROOT, f"CHILD#{FORK}#{created_at}#{FORK}"),
        "XFER": (ROOT, "XFER"),
        "LINK": (ROOT, f"LINK#{FORK}"),
        "NOTE": (ROOT, f"NOTE#{FORK}#{at(1)}#{at(2)}"),
    }
    assert keys.entry(ROOT, entry_id) == (ROOT, f"{created_at}#{entry_id}")
    assert keys.blob(ROOT, entry_id, 7) == (f"BLOB#{ROOT}#{entry_id}", "0007")
    assert keys.part(ROOT, FORK, 12) == (f"ANSWER#{ROOT}#{FORK}", "0012")
    assert keys.pointer(FORK) == (f"PTR#{FORK}", "PTR")
    assert keys.user_tree("a#b", created_at, ROOT, is_child=False) == ("USER#a%23b", f"{created_at}#{ROOT}")
    child = keys.user_tree("a#b", created_at, ROOT, is_child=True)
    assert child == ("USER#a%23b", f"STARTED#{created_at}#{ROOT}")
    assert keys.file(FORK) == (f"FILE#{FORK}", "FILE")
    assert keys.reference(Reference(FORK, ROOT, entry_id)) == (f"FILE#{FORK}", f"REF#{ROOT}#{entry_id}")
    of_user = keys.user_file("a#b", "0" * 64, "image/png")
    assert of_user == ("USER#a%23b", f"FILE#{'0' * 64}#{hashlib.sha256(b'image/png').hexdigest()[:16]}")
    assert keys.by_conversation(FORK, H, entry_id) == f"{FORK}#H#{created_at}#{entry_id}"
    assert keys.by_conversation(FORK, C, entry_id) == f"{FORK}#C#{created_at}#{entry_id}"


@examples(300)
@given(USER_IDS, IDS)
def test_a_context_key_names_its_conversation_and_client(client: str, conversation_id: str) -> None:
    sort_key = keys.context(ROOT, conversation_id, client).sort

    assert keys.in_context(sort_key) == (conversation_id, client)


# Positions


@examples(500)
@given(st.lists(ENTRY_IDS, min_size=2, max_size=6))
def test_the_order_of_positions_is_the_order_of_ids(entry_ids: list[EntryId]) -> None:
    in_order = sorted(entry_ids)

    assert sorted(map(keys.position, entry_ids)) == [keys.position(entry_id) for entry_id in in_order]
    assert sorted(keys.by_conversation(ROOT, H, entry_id) for entry_id in entry_ids) == [
        keys.by_conversation(ROOT, H, entry_id) for entry_id in in_order
    ]


@examples(300)
@given(ENTRY_IDS, IDS, st.sampled_from(Channel))
def test_an_entry_s_id_comes_back_from_either_key(
    entry_id: EntryId, conversation_id: str, channel: Channel
) -> None:
    assert keys.entry_id_of(keys.position(entry_id)) == entry_id
    assert keys.entry_id_of(keys.by_conversation(conversation_id, channel, entry_id)) == entry_id


@examples(500)
@given(st.lists(st.tuples(IDS, st.sampled_from(Channel)), min_size=2, max_size=2, unique=True), ENTRY_IDS)
def test_the_range_of_a_channel_contains_no_entry_of_another_channel_or_conversation(
    lines: list[tuple[str, Channel]], entry_id: EntryId
) -> None:
    (owner, channel), (other, others) = lines
    key = keys.by_conversation(owner, channel, entry_id)

    assert keys.by_conversation(owner, channel, FIRST) <= key <= keys.by_conversation(owner, channel, LAST)
    assert not keys.by_conversation(other, others, FIRST) <= key <= keys.by_conversation(other, others, LAST)


def test_the_chunks_of_a_body_lie_in_order_in_a_partition_of_their_own() -> None:
    chunks = [keys.blob(ROOT, at(1), chunk) for chunk in range(1_000)]

    assert chunks == sorted(set(chunks))
    assert {chunk.partition for chunk in chunks} == {f"BLOB#{ROOT}#{at(1)}"}
    assert keys.blob(ROOT, at(2), 0).partition != chunks[0].partition != keys.blob(FORK, at(1), 0).partition


def test_the_conversation_of_a_head_comes_back_from_its_key() -> None:
    assert keys.in_head(keys.head(ROOT, FORK).sort) == FORK


def test_one_range_holds_every_conv_and_head_of_a_tree_and_no_entry_row_or_child() -> None:
    both = keys.conversations_and_heads_range(ROOT)
    place = ListKey(ids.timestamp(1), FORK)

    for wanted in (NIL, ROOT, MAX):
        assert both.holds(keys.conversation(ROOT, wanted))
        assert both.holds(keys.head(ROOT, wanted))
        assert keys.conversations_range(ROOT).holds(keys.conversation(ROOT, wanted))
        assert not keys.conversations_range(ROOT).holds(keys.head(ROOT, wanted))
        assert not keys.heads_range(ROOT).holds(keys.conversation(ROOT, wanted))
    others = [
        keys.entry(ROOT, at(1)),
        keys.child(ROOT, ROOT, place),
        keys.tree_row(ROOT, *place),
        keys.path(ROOT, FORK),
        keys.member(ROOT, "ann"),
        keys.entry_key(ROOT, ROOT, "key"),
        keys.vector(ROOT, ROOT, at(1), 0),
        keys.transfer_of_group(ROOT),
        keys.conversation(FORK, FORK),
    ]
    assert not any(both.holds(key) for key in others)


# Lists by time


TIMES = [ids.timestamp(milliseconds) for milliseconds in (0, 1, 1_000, ids.MILLISECONDS_MAX)]
LISTED_IDS = [NIL, str(uuid.UUID(int=1)), conversation(1), conversation(2), MAX]
PLACES = [ListKey(created_at, one) for created_at in TIMES for one in LISTED_IDS]
"""Keys in their order: by time, then by id. The ids include the nil UUID."""


def test_places_are_listed_by_time_then_by_id() -> None:
    assert [place.sort for place in PLACES] == sorted(place.sort for place in PLACES)


@pytest.mark.parametrize("place", PLACES)
def test_just_before_a_place_is_above_every_earlier_one_and_below_itself(place: ListKey) -> None:
    at_place = PLACES.index(place)

    assert all(earlier.sort <= place.just_before for earlier in PLACES[:at_place])
    assert all(place.just_before < later.sort for later in PLACES[at_place:])


@pytest.mark.parametrize("place", PLACES)
def test_just_after_a_place_is_below_every_later_one_and_above_itself(place: ListKey) -> None:
    at_place = PLACES.index(place)

    assert all(earlier.sort < place.just_after for earlier in PLACES[: at_place + 1])
    assert all(place.just_after < later.sort for later in PLACES[at_place + 1 :])


NEIGHBOURS = st.integers(1, (1 << 128) - 2).map(lambda n: [str(uuid.UUID(int=n + by)) for by in (-1, 0, 1)])


@examples(300)
@given(NEIGHBOURS, st.integers(0, ids.MILLISECONDS_MAX))
def test_the_bounds_of_a_place_exclude_no_neighbour(neighbours: list[str], created_ms: int) -> None:
    below, here, above = (ListKey(ids.timestamp(created_ms), one) for one in neighbours)

    assert below.sort <= here.just_before < here.sort < here.just_after < above.sort


def listed_in(of: SortRange, made: Sequence[Key]) -> list[ListKey]:
    return [keys.list_key(key.sort) for key in made if within(key, of)]


def test_a_tree_s_conversations_are_listed_strictly_between_two_places() -> None:
    made = [keys.tree_row(ROOT, *place) for place in PLACES]

    assert listed_in(keys.tree_rows_range(ROOT), made) == PLACES
    for here, place in enumerate(PLACES):
        assert listed_in(keys.tree_rows_range(ROOT, after=place), made) == PLACES[here + 1 :]
        assert listed_in(keys.tree_rows_range(ROOT, before=place), made) == PLACES[:here]
    for first, last in itertools.combinations(range(len(PLACES)), 2):
        between = keys.tree_rows_range(ROOT, after=PLACES[first], before=PLACES[last])
        assert listed_in(between, made) == PLACES[first + 1 : last]


@pytest.mark.parametrize("is_child", [False, True])
def test_a_user_s_trees_are_listed_before_a_place_or_through_it(is_child: bool) -> None:
    made = [keys.user_tree("ann", *place, is_child=is_child) for place in PLACES]

    assert listed_in(keys.user_trees_range("ann", is_child=is_child), made) == PLACES
    for here, place in enumerate(PLACES):
        assert listed_in(keys.user_trees_range("ann", is_child=is_child, before=place), made) == PLACES[:here]
        through = keys.user_trees_range("ann", is_child=is_child, through=place)
        assert listed_in(through, made) == PLACES[: here + 1]


def test_the_own_entries_of_a_conversation_begin_at_a_position_and_are_of_one_channel() -> None:
    of = keys.own_entries_range(ROOT, FORK, H, first=at(5))

    def is_in(owner: str, channel: Channel, entry_id: EntryId) -> bool:
        return of.first <= keys.by_conversation(owner, channel, entry_id) <= of.last

    assert of.by_conversation
    assert [is_in(FORK, H, at(n)) for n in (4, 5, 6)] == [False, True, True]
    assert is_in(FORK, H, LAST)
    assert not is_in(FORK, C, at(6))
    assert not is_in(ROOT, H, at(6))
    record = keys.fork_record(FORK, at(6), ListKey(ids.timestamp(6), ROOT))
    assert not of.first <= record <= of.last


def test_a_job_names_its_tree_and_perhaps_a_branch() -> None:
    assert keys.job("prune", ROOT, FORK) == ("JOB", f"prune#{ROOT}#{FORK}")
    assert keys.in_job(keys.job("prune", ROOT, FORK).sort) == ("prune", ROOT, FORK, None)
    assert keys.in_job(keys.job("delete", ROOT).sort) == ("delete", ROOT, None, None)


def test_a_job_of_an_attachment_stands_where_it_is_due() -> None:
    soon, late = (keys.job("upload", of, due=ids.timestamp(ms)) for of, ms in ((FORK, 1), (ROOT, 2)))
    assert soon.sort < late.sort
    assert keys.in_job(soon.sort) == ("upload", FORK, None, ids.timestamp(1))
    of = keys.jobs_range("upload", before=ids.timestamp(2))
    assert [of.first <= one.sort <= of.last for one in (soon, late)] == [True, False]


def test_every_range_has_its_bounds_in_order() -> None:
    # DynamoDB refuses a BETWEEN whose bounds are reversed.
    ranges = [keys.heads_range(ROOT), keys.contexts_range(ROOT)]
    ranges += [
        keys.tree_rows_range(ROOT),
        *(keys.user_trees_range("ann", is_child=is_it) for is_it in (False, True)),
    ]
    for place in PLACES:
        ranges += [keys.tree_rows_range(ROOT, after=place), keys.tree_rows_range(ROOT, before=place)]
        for is_child in (False, True):
            ranges.append(keys.user_trees_range("ann", is_child=is_child, before=place))
            ranges.append(keys.user_trees_range("ann", is_child=is_child, through=place))

    assert [of for of in ranges if of.first > of.last] == []


# Hashed keys


def test_each_scope_has_an_idempotency_key_of_its_own_that_shows_nothing_of_it() -> None:
    scopes = [f"POST {user} {key}" for user in HOSTILE for key in HOSTILE]
    made = {keys.idempotency(scope) for scope in scopes}

    assert len(made) == len(set(scopes))
    assert {(len(key.partition), key.partition[:5], key.sort) for key in made} == {(69, "IDEM#", "IDEM")}


def test_all_trees_are_spread_over_eight_shards_and_in_each_ordered_by_time() -> None:
    created = [ids.timestamp(n) for n in range(800)]
    places = [keys.all_trees(conversation(n), created_at) for n, created_at in enumerate(created)]
    shards = [shard for shard, _ in places]

    assert set(shards) == {f"TREES#{shard}" for shard in range(8)}
    assert min(map(shards.count, set(shards))) > 50
    assert [sort for _, sort in places] == [f"{at_}#{conversation(n)}" for n, at_ in enumerate(created)]
    assert keys.all_trees(ROOT, created[0])[0] == keys.all_trees(ROOT, created[1])[0]


def test_a_fork_s_record_names_what_it_leaves_and_where() -> None:
    place = ListKey("2026-03-01T09:15:00.000Z", FORK)
    record = keys.fork_record(ROOT, at(3), place)

    assert keys.in_fork_record(record) == (ROOT, at(3), place)
    for first, last, is_in in ((3, 3, True), (1, 3, True), (3, 5, True), (4, 5, False), (1, 2, False)):
        of = keys.fork_records_range(ROOT, ROOT, first=at(first), last=at(last))
        assert (of.first <= record <= of.last) == is_in, (first, last)


def test_children_are_listed_strictly_after_a_place() -> None:
    places = [ListKey(ids.timestamp(ms), conversation(number)) for ms, number in ((1, 9), (1, 10), (2, 8))]
    children = [keys.child(ROOT, FORK, place) for place in places]

    every, later = keys.children_range(ROOT, FORK), keys.children_range(ROOT, FORK, after=places[0])

    assert [key for key in children if within(key, every)] == children
    assert [key for key in children if within(key, later)] == children[1:]


def test_all_that_is_a_user_s_own_lies_in_one_range() -> None:
    place = ListKey(ids.timestamp(1), ROOT)
    rows = [keys.user_tree("ann", place.created_at, ROOT, is_child=is_child) for is_child in (True, False)]
    name, transfer = keys.name(NameRef(NameOwner("ann", None), "~")), keys.transfer_of_user("ann", place)

    assert all(within(key, keys.user_range("ann")) for key in (*rows, name, transfer))
    assert not any(within(key, keys.user_range("bob")) for key in (*rows, name, transfer))
    assert [keys.is_user_tree(key.sort) for key in (*rows, name, transfer)] == [True, True, False, False]
    assert within(transfer, keys.transfers_range("ann"))
    assert not within(transfer, keys.transfers_range("ann", after=place))


def test_a_transfer_has_a_key_for_its_tree_for_itself_and_for_each_party() -> None:
    transfer = Transfer("t", ROOT, FORK, "ann", "bob", ids.timestamp(1))
    place = ListKey(ids.timestamp(1), "t")

    assert keys.transfer_keys(transfer) == [
        keys.transfer_of_group(ROOT),
        keys.transfer_by_id("t"),
        keys.transfer_of_user("ann", place),
        keys.transfer_of_user("bob", place),
    ]


def test_the_records_of_one_erasure_lie_apart_from_those_of_others() -> None:
    of = keys.erased_trees_range(ROOT)

    assert within(keys.erased_tree(ROOT, FORK), of)
    assert not within(keys.erased_tree(FORK, ROOT), of)
    assert not within(keys.erasure(ROOT), of)
    assert keys.in_erased_tree(keys.erased_tree(ROOT, FORK)) == FORK


def test_every_shard_of_the_list_of_all_trees_is_read_before_a_place_or_through_it() -> None:
    group, created = conversation(7), ids.timestamp(5)
    partition, sort = keys.all_trees(group, created)

    def is_in(**where: ListKey) -> bool:
        ranges = keys.all_trees_ranges(**where)
        assert len({of.partition for of in ranges}) == 8
        return any(within(Key(partition, sort), of) for of in ranges)

    place = ListKey(created, group)
    assert (is_in(), is_in(before=place), is_in(through=place)) == (True, False, True)
