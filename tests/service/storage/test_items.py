import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forklore_service.domain import ids, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.ancestry import Segment, pack
from forklore_service.domain.ids import EntryId
from forklore_service.domain.jsontext import text_of
from forklore_service.domain.keys import ListKey
from forklore_service.domain.model import (
    Attached,
    Channel,
    Conversation,
    Description,
    Entry,
    EntryRef,
    ForkPoint,
    ForkPosition,
    Head,
    Json,
    LastEntries,
    Metrics,
    StartedBy,
    TokenUsage,
    Turn,
    Words,
)
from forklore_service.domain.remnants import Remnant
from forklore_service.domain.tree import ForkRecord, Group, IdempotencyRecord, Member, Pointer, TreeRow
from forklore_service.storage import bodies, items
from forklore_service.storage.connection import Item
from tests.support.tables import Store, mine_of

ITEM_BYTES_MAX = 400 * 1024
ID = "00000001-0000-4000-8000-000000000000"
ODD = [
    "#",
    "a#",
    "MEM#b",
    "%23",
    "/",
    "\0",
    "\ufeff",
    "é",
    "e\u0301",
    "😀" * 63,
    "'\"",
    " ",
    ":",
    "~",
    "\u2028",
]


def examples(number: int) -> settings:
    return settings(derandomize=True, max_examples=number)


def hostile(max_size: int = 40) -> st.SearchStrategy[str]:
    """Return any text that a caller can send: every character except lone surrogates."""
    return st.text(st.characters(codec="utf-8"), max_size=max_size) | st.sampled_from(ODD)


optional = st.none() | hostile()
conversation_ids = st.uuids().map(str)
entry_ids = st.builds(
    ids.fresh_id, st.integers(0, ids.MILLISECONDS_MAX), st.integers(0, (1 << ids.RANDOM_BITS) - 1)
)
times = st.integers(0, ids.MILLISECONDS_MAX).map(ids.timestamp)
counts = st.integers(0, 2**53)
usages = st.builds(TokenUsage, counts, counts, counts, st.integers(0, 10**18))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | hostile(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile(), inner, max_size=4),
    max_leaves=12,
)
contents = st.lists(json_values, max_size=6).map(lambda value: text_of(value).text)

json_texts = st.dictionaries(hostile(), json_values, max_size=4).map(lambda value: text_of(value).text)
by_type: Mapping[Any, st.SearchStrategy[Any]] = {
    str: hostile(),
    str | None: optional,
    int | None: st.none() | counts,
    bool: st.booleans(),
    Mapping[str, str]: st.dictionaries(
        st.text(string.ascii_letters + "_.-", min_size=1, max_size=64), hostile(256), max_size=5
    ),
    Json: json_texts,
    Json | None: st.none() | json_texts,
}
"""Values for a field, by its type."""
conversations = st.builds(
    Conversation,
    conversation_id=conversation_ids,
    group_id=conversation_ids,
    created_at=times,
    described=st.builds(Description, *(by_type[held] for held in Description.__annotations__.values())),
    agent_id=optional,
    client_id=optional,
    fork_point=st.none()
    | st.builds(ForkPoint, conversation_ids, st.none() | entry_ids, st.sampled_from(ForkPosition)),
    started_by=st.none() | st.builds(StartedBy, conversation_ids, st.none() | entry_ids),
    titled_by=hostile(),
)
named_ids = entry_ids.filter(lambda entry_id: entry_id != ids.FIRST)
lasts = st.builds(LastEntries, st.none() | named_ids, st.none() | named_ids)
refs = st.builds(EntryRef, conversation_ids, st.none() | entry_ids)
heads = st.builds(
    Head,
    owner=hostile(),
    changed_at=times,
    floor=entry_ids,
    first=st.none() | entry_ids,
    last=entry_ids,
    lasts=lasts,
    history=counts,
    context=counts,
    metrics=st.builds(Metrics, counts, usages),
    untitled=st.booleans(),
    preview=st.none() | st.builds(Words, hostile(), hostile()),
)
of_entries = {
    "entry_id": entry_ids,
    "conversation_id": conversation_ids,
    "channel": st.sampled_from(Channel),
    "content": contents,
    "after": lasts,
    "turn": st.none() | st.builds(Turn, named_ids, named_ids, lasts, lasts),
    "merged_from": st.none() | refs,
    "copied_from": st.none() | refs,
    "attachments": st.lists(
        st.builds(Attached, conversation_ids, hostile(), hostile(), counts, st.none(), st.none())
    ).map(tuple),
    "indexed_content": st.none() | hostile() | st.sampled_from(["", "x", "xray", "[", '"']),
}
of_entries |= {name: by_type[held] for name, held in Entry.__annotations__.items() if name not in of_entries}
entries = st.builds(Entry, **of_entries)
# Bodies of requests and answers are objects.
replays = st.builds(
    IdempotencyRecord,
    hostile(),
    conversation_ids,
    conversation_ids,
    st.lists(entry_ids, max_size=50).map(tuple),
    st.just("") | st.dictionaries(hostile(), json_values, max_size=4).map(lambda value: text_of(value).text),
)


def size_of(value: Any) -> int:
    """Return the bytes that DynamoDB counts for a value or a whole item. It is never too few."""
    if "S" in value:
        return len(value["S"].encode())
    if "N" in value:
        return len(value["N"]) // 2 + 3
    if "B" in value:
        return len(value["B"])
    if "BOOL" in value:
        return 1
    held = value.get("M", value)
    return sum(len(name) + 1 + size_of(one) for name, one in held.items()) + 3


def stored(item: Item) -> Item:
    """Return the item as a table returns it. All its values must be DynamoDB values."""
    assert all(set(value) <= {"S", "N", "B", "BOOL", "M"} for value in item.values()), item
    return item


@examples(60)
@given(conversations)
def test_a_conversation_comes_back_as_it_was(conversation: Conversation) -> None:
    assert items.conversation(stored(items.conversation_item(conversation))) == conversation


@examples(60)
@given(conversations, heads)
def test_a_head_comes_back_as_it_was(conversation: Conversation, head: Head) -> None:
    assert items.head(stored(items.head_item(conversation, head))) == head


@examples(60)
@given(entries, st.integers(0, 2_500_000), st.text(string.hexdigits, min_size=16, max_size=16))
def test_an_entry_comes_back_as_it_was(entry: Entry, escaped_bytes: int, nonce: str) -> None:
    item, blobs = items.entry_items(ID, entry, nonce=nonce, escaped_bytes=escaped_bytes)
    found = items.stored_entry(stored(item))

    assert blobs == []
    assert bodies.decode(found.body) == entry.content
    assert (found.entry_id, found.escaped_bytes, found.nonce) == (entry.entry_id, escaped_bytes, nonce)
    whole = {name: getattr(found.entry, name) for name in Entry._fields if name != "content"}
    assert whole == {name: getattr(entry, name) for name in whole}


@examples(30)
@given(conversations, hostile())
def test_a_new_tree_is_live_and_knows_its_owner_and_where_it_was_started(
    conversation: Conversation, owner: str
) -> None:
    child_key = keys.child(ID, ID, ListKey(conversation.created_at, ID)) if conversation.started_by else None
    group = Group(conversation.group_id, owner, conversation.created_at, members=7, child_key=child_key)

    assert items.group(stored(items.group_item(group))) == group


@examples(30)
@given(conversations, st.lists(st.tuples(conversation_ids, entry_ids), max_size=20, unique_by=lambda s: s[1]))
def test_a_path_comes_back_as_it_was(conversation: Conversation, parts: list[tuple[str, EntryId]]) -> None:
    path = tuple(Segment(*part) for part in sorted(parts, key=lambda part: part[1]))

    item = items.path_item(conversation, path)

    assert items.path(stored(item)) == path
    assert len(item["path"]["B"]) == len(pack(path)) == 32 * len(path)
    assert items.path(None) == ()


@examples(30)
@given(replays, st.integers(0, 2**40))
def test_an_idempotency_record_comes_back_until_it_expires(record: IdempotencyRecord, ttl_s: int) -> None:
    item = stored(items.idempotency_record_item(keys.idempotency("scope"), record, ttl_s=ttl_s))

    assert items.idempotency_record(item, now_s=ttl_s) == record
    assert items.idempotency_record(item, now_s=ttl_s + 1) is None


@examples(30)
@given(conversations, st.text(string.hexdigits, min_size=16, max_size=16))
def test_a_pointer_names_the_tree_and_the_request_that_made_it(
    conversation: Conversation, nonce: str
) -> None:
    item = stored(items.pointer_item(conversation, nonce))

    assert items.pointer(item, now_s=2**40) == Pointer(conversation.group_id)
    assert items.nonce(item) == nonce


def test_a_retired_pointer_names_no_tree_and_counts_as_absent_after_its_time() -> None:
    gone = items.key_of(keys.pointer(ID)) | {"retired": {"BOOL": True}, "ttl": items.number(1_000)}

    assert items.pointer(gone, now_s=1_000) == Pointer(None)
    assert items.pointer(gone, now_s=1_001) is None
    assert items.nonce(gone) is None


def test_the_pointer_of_a_removed_branch_names_no_tree_and_does_not_expire() -> None:
    resting = items.resting_item(ID, "g")

    assert items.pointer(resting, now_s=2**40) == Pointer(None, rests_in="g")


@pytest.mark.parametrize("level", AccessLevel)
def test_a_membership_holds_its_level(level: AccessLevel) -> None:
    item = items.member_item(ID, Member("a#b", level, ids.timestamp(1)))

    assert items.member(stored(item)).level is level
    assert items.user_id(stored(item)) == "a#b"


@examples(30)
@given(conversations, hostile())
def test_the_rows_of_lists_have_the_keys_of_their_place_and_kind(
    conversation: Conversation, user_id: str
) -> None:
    mine, tree = (
        mine_of(conversation, user_id),
        items.tree_item(conversation),
    )

    place = keys.ListKey(conversation.created_at, conversation.group_id)
    assert items.tree_row(stored(mine)) == TreeRow(place, AccessLevel.OWNER)
    assert keys.in_user_tree(mine["SK"]["S"]) == (place, conversation.started_by is not None)
    assert keys.list_key(tree["SK"]["S"]) == place._replace(conversation_id=conversation.conversation_id)


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_a_table_keeps_hostile_text_as_it_is(store: Store, text: str) -> None:
    fork = Conversation(
        ID,
        ID,
        ids.timestamp(1),
        described=Description(title=text, tags={"a": text}),
        agent_id=text,
        client_id=text,
    )
    entry = Entry(ids.fresh_id(1, 1), ID, text, Channel.HISTORY, text, text_of([text, {text: text}]).text)
    item, _ = items.entry_items(ID, entry, nonce="n", escaped_bytes=1)
    planted = [
        item,
        items.conversation_item(fork),
        items.head_item(fork, Head(text, ids.timestamp(1), preview=Words(text, text))),
        items.member_item(ID, Member(text, AccessLevel.READER, ids.timestamp(1))),
        mine_of(fork, text),
    ]

    store.put(*planted)

    assert store.contents() == {keys.Key(one["PK"]["S"], one["SK"]["S"]): one for one in planted}


# Indexes


@pytest.mark.parametrize(("channel", "letter"), [(Channel.HISTORY, "H"), (Channel.CONTEXT, "C")])
def test_only_entries_and_forks_are_in_the_index_by_conversation(channel: Channel, letter: str) -> None:
    entry_id = ids.fresh_id(1_772_356_500_000, 5)
    entry = Entry(entry_id, ID, "ann", channel, "history", "[]")

    item, _ = items.entry_items("g", entry, nonce="n", escaped_bytes=7)

    assert item["SK"]["S"] == f"2026-03-01T09:15:00.000Z#{entry_id}"
    assert item["L1"]["S"] == f"{ID}#{letter}#{item['SK']['S']}"
    assert item["size"] == {"N": "7"}
    conversation = Conversation("g", "g", ids.timestamp(0))
    others = [
        items.group_item(Group(conversation.group_id, "ann", conversation.created_at)),
        items.conversation_item(conversation),
        items.path_item(conversation, (Segment(ID, entry_id),)),
        items.head_item(conversation, Head("ann", ids.timestamp(0))),
        items.tree_item(conversation),
        items.member_item("g", Member("ann", AccessLevel.OWNER, ids.timestamp(0))),
    ]
    assert not any("L1" in other for other in others)
    assert not any(other["SK"]["S"][0].isdigit() for other in others)


def test_a_fork_records_where_it_leaves() -> None:
    stop, created_at = ids.fresh_id(1_772_356_500_000, 5), ids.timestamp(7)
    fork = Conversation(ID, "g", created_at)

    leaving = items.tree_item(fork, (Segment("g", ids.fresh_id(1, 1)), Segment("owner", stop)))
    blank = items.tree_item(fork)

    assert leaving["L1"]["S"] == f"owner#F#{keys.position(stop)}#{created_at}#{ID}"
    assert items.fork_record(leaving) == ForkRecord("owner", stop, created_at, ID)
    assert items.fork_record(blank) == ForkRecord("g", ids.FIRST, created_at, ID)


def test_what_stays_of_a_removed_branch_keeps_the_record_of_its_row() -> None:
    stop, created_at = ids.fresh_id(1_772_356_500_000, 5), ids.timestamp(7)
    branch, path = Conversation(ID, "g", created_at), (Segment("owner", stop),)
    left = Remnant.of(branch, path, removed_at=ids.timestamp(9), nonce="n")

    item = items.remnant_item(left)

    assert items.remnant(item) == left
    assert item["L1"] == items.tree_item(branch, path)["L1"]
    assert items.fork_record(item) == ForkRecord("owner", stop, created_at, ID, is_removed=True)


def test_what_stays_of_a_removed_root_has_no_record() -> None:
    left = Remnant.of(Conversation(ID, ID, ids.timestamp(7)), (), removed_at=ids.timestamp(9), nonce="n")

    item = items.remnant_item(left)

    assert "L1" not in item
    assert items.remnant(item) == left


def test_only_group_items_are_in_the_index_of_all_trees() -> None:
    conversation = Conversation(ID, ID, ids.timestamp(0))
    partition, sort = keys.all_trees(ID, ids.timestamp(0))

    item = items.group_item(Group(conversation.group_id, "ann", conversation.created_at))

    assert (item["G1"], item["G1S"]) == ({"S": partition}, {"S": sort})
    assert "G1" not in items.conversation_item(conversation) | items.tree_item(conversation)


# HEAD


def test_the_head_of_a_usual_conversation_is_under_a_kilobyte() -> None:
    head = Head(
        owner="0f7c1a52-9d1e-4a57-b1f0-6f6f0e2b9a11",
        changed_at=ids.timestamp(1_772_356_500_000),
        floor=ids.fresh_id(1, 1),
        last=ids.fresh_id(2, 1),
        lasts=LastEntries(ids.fresh_id(2, 1), ids.fresh_id(2, 1)),
        history=10_000,
        context=10_000,
        metrics=Metrics(20_000, TokenUsage(10**10, 10**10, 10**10, 10**13)),
        untitled=True,
        preview=Words("ü" * 100, "ann"),
    )

    assert size_of(items.head_item(Conversation(ID, ID, ids.timestamp(0)), head)) < 1024


# Bodies


def noise(size: int) -> str:
    """Return a JSON array of `size` bytes whose text hardly compresses."""
    alphabet = [chr(point) for point in range(0x20, 0x7F) if chr(point) not in '"\\']
    return '["' + "".join(Random(size).choices(alphabet, k=size - 4)) + '"]'


@examples(80)
@given(contents)
def test_a_body_comes_back_exactly_and_is_never_larger_than_its_text(content: str) -> None:
    body = bodies.encode(content)

    assert bodies.decode(body) == content
    assert len(body) <= len(content.encode())


@pytest.mark.parametrize(
    ("content", "is_packed"),
    [("[]", False), ('["x"]', False), ('["' + "x" * 999 + '"]', True), (noise(99), False), ("", False)],
    ids=["empty array", "short", "repetitive", "short noise", "nothing"],
)
def test_a_body_is_compressed_when_that_is_smaller(content: str, is_packed: bool) -> None:
    body = bodies.encode(content)

    assert (body != content.encode()) is is_packed
    assert bodies.decode(body) == content


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        (bodies.INLINE_BYTES_MAX, 0),
        (bodies.INLINE_BYTES_MAX + 1, 1),
        (bodies.CHUNK_BYTES, 1),
        (bodies.CHUNK_BYTES + 1, 2),
        (2_500_000, 7),
    ],
)
def test_a_large_body_is_split_into_chunks_and_joined_again(size: int, parts: int) -> None:
    body = Random(size).randbytes(size)

    chunks = bodies.chunks(body)

    assert len(chunks) == parts
    assert b"".join(chunks) == (body if parts else b"")
    assert all(0 < len(chunk) <= bodies.CHUNK_BYTES for chunk in chunks)


@pytest.mark.parametrize("size", [100, 30_000, 40_000, 500_000, 2_500_000])
def test_every_item_of_an_entry_fits_dynamodb_with_its_copy_in_the_index(size: int) -> None:
    content = noise(size)
    entry = Entry(
        entry_id=ids.fresh_id(1, 1),
        conversation_id=ID,
        user_id="😀" * 63,
        channel=Channel.HISTORY,
        content_type="😀" * 127,
        content=content,
        client_id="😀" * 255,
        agent_id="😀" * 255,
        usage='{"inputTokens":1}',
    )

    item, blobs = items.entry_items(ID, entry, nonce="n" * 16, escaped_bytes=size)

    assert 2 * size_of(item) <= ITEM_BYTES_MAX
    assert all(size_of(blob) <= ITEM_BYTES_MAX for blob in blobs)
    assert all("L1" not in blob for blob in blobs)
    assert [blob["SK"]["S"] for blob in blobs] == [f"{at:04}" for at in range(len(blobs))]
    whole = b"".join(blob["data"]["B"] for blob in blobs) or items.stored_entry(item).body
    assert bodies.decode(whole) == content
    assert items.stored_entry(item).chunks == len(blobs)


def _kinds() -> list[Callable[[], Item]]:
    conversation = Conversation(ID, ID, ids.timestamp(0))
    return [
        lambda: items.conversation_item(conversation),
        lambda: items.head_item(conversation, Head("ann", ids.timestamp(0))),
        lambda: items.group_item(Group(conversation.group_id, "ann", conversation.created_at)),
    ]


@pytest.mark.parametrize("make", _kinds())
def test_absent_values_have_no_attribute(make: Callable[[], Item]) -> None:
    assert not any(value.get("NULL") or value in ({"S": ""}, {"M": {}}) for value in make().values())
