from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.client.generated.limits import ENTRY_BYTES_MAX
from forklore.importing.files import read_file
from forklore.importing.foreign_trees import ForeignMessage, ForeignTree, ImportReport
from forklore.importing.laying_out import lines_of
from forklore.importing.plan import BATCH_ENTRIES_MAX, Plan, PlannedAt, PlannedFork
from forklore.importing.plan_trees import plan_tree
from tests.clients.importing.builders import SOUP, answer, ask, tree_of, tree_with_parents
from tests.service.domain.builders import examples
from tests.support.growth import takes_at_most

ROOT = Path(__file__).parents[3]
FILES = [(ROOT / "examples" / "trees.jsonl", (3, 29, 12))]


def planned(tree: ForeignTree, owner: str = "ann", again: str = "") -> Plan:
    return plan_tree(tree, owner=owner, report=ImportReport(), again=again)


def view(plan: Plan, number: int) -> list[str]:
    """Return the keys of what a conversation shows: what it inherits, then its own."""
    conversation = plan.conversations[number]
    keys = [entry.key for entry in conversation.entries]
    if conversation.fork is None or conversation.fork.at is None:
        return keys
    at = conversation.fork.at
    inherited = view(plan, at.conversation)
    anchor = plan.conversations[at.conversation].entries[at.index].key
    return inherited[: inherited.index(anchor) + 1] + keys


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5},
            {"inputTokens": 12, "cachedInputTokens": 5},
        ),
        (
            {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 0},
            {"inputTokens": 9, "outputTokens": 0, "cachedInputTokens": 5},
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            {"inputTokens": 3, "outputTokens": 2},
        ),
        (
            {"prompt_tokens": 9, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 5},
            {"inputTokens": 9, "cachedInputTokens": 5},
        ),
        ({"input_tokens": "3", "output_tokens": True, "prompt_tokens_details": [1]}, None),
        ({"input_tokens": -1, "output_tokens": 2**60, "cache_read_input_tokens": 1.5}, None),
        ("many", None),
    ],
    ids=str,
)
def test_what_a_source_says_of_tokens_is_the_usage_of_the_entry(told: object, usage: object) -> None:
    message = ForeignMessage("m", {"role": "AI", "source": {"usage": told}}, None)
    [conversation] = planned(ForeignTree("t", (message,))).conversations

    assert conversation.entries[0].body.get("usage") == usage


def path_to(tree: ForeignTree, index: int) -> list[str]:
    path = [tree.messages[index].message_id]
    parent = tree.messages[index].parent
    return (path_to(tree, parent) if parent is not None else []) + path


def trees() -> st.SearchStrategy[ForeignTree]:
    def parents(size: int) -> st.SearchStrategy[list[int]]:
        return st.tuples(*(st.integers(0, number) for number in range(size))).map(list)

    return st.integers(0, 60).flatmap(parents).map(tree_with_parents)


def test_the_first_reply_continues_and_every_other_is_a_fork_after_what_it_answers() -> None:
    # 0 soup, 1 lemon, 2 too sour, 3 honey, 4 sugar, 5 thanks,
    # 6 roast it, 7 how long?, 8 minutes, 9 sweet, 10 herbs
    lines, _ = lines_of(tree_of(SOUP))

    assert [line.messages for line in lines] == [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9], [10]]
    assert [line.fork for line in lines] == [
        None,
        PlannedFork(0, PlannedAt(0, 2)),
        PlannedFork(0, PlannedAt(0, 0)),
        PlannedFork(2, PlannedAt(2, 1)),
        PlannedFork(0, PlannedAt(0, 0)),
    ]


def test_a_second_root_is_a_blank_fork_of_the_first() -> None:
    messages = tuple(ForeignMessage(one, {"role": "USER", "text": one}, None) for one in "abc")

    plan = planned(ForeignTree("t", messages, "chatgpt", current=2))

    blank = PlannedFork(0, None, "blank")
    assert [conversation.fork for conversation in plan.conversations] == [None, blank, blank]
    assert plan.current == 2


@examples(100)
@given(trees())
def test_each_conversation_shows_exactly_the_path_to_its_leaf(tree: ForeignTree) -> None:
    plan = planned(tree)
    leaves = [index for index, message in enumerate(tree.messages) if not message.replies]

    assert [view(plan, number) for number in range(len(plan.conversations))] == [
        path_to(tree, leaf) for leaf in leaves
    ]


@examples(100)
@given(trees())
def test_the_batches_hold_each_entry_once_after_all_that_they_need(tree: ForeignTree) -> None:
    plan = planned(tree)

    held = [(batch.conversation, index) for batch in plan.batches for index in range(batch.start, batch.end)]
    assert sorted(held) == [
        (number, index)
        for number, conversation in enumerate(plan.conversations)
        for index in range(len(conversation.entries))
    ]
    for number, batch in enumerate(plan.batches):
        assert 0 < batch.end - batch.start <= BATCH_ENTRIES_MAX
        assert all(need < number for need in batch.needs)
        fork = plan.conversations[batch.conversation].fork
        before = PlannedAt(batch.conversation, batch.start - 1) if batch.start else fork and fork.at
        done = {
            PlannedAt(plan.batches[need].conversation, index)
            for need in batch.needs
            for index in range(plan.batches[need].start, plan.batches[need].end)
        }
        assert before is None or before in done


def test_a_batch_holds_no_more_than_the_service_takes() -> None:
    texts = ["x" * size for size in (900_000, 900_000, 900_000, 2_400_000, 10, 10)]
    parents = [None, *range(len(texts) - 1)]
    messages = tuple(
        ForeignMessage(f"m{index}", {"text": text}, parents[index], (index + 1,) if index < 5 else ())
        for index, text in enumerate(texts)
    )

    plan = planned(ForeignTree("t", messages))

    sizes = [
        sum(entry.size for entry in plan.conversations[0].entries[batch.start : batch.end])
        for batch in plan.batches
    ]
    assert [batch.end - batch.start for batch in plan.batches] == [2, 1, 3]
    assert max(sizes) <= ENTRY_BYTES_MAX


def test_ids_follow_from_the_source_and_nothing_else() -> None:
    tree = tree_of(SOUP)
    ids = [conversation.conversation_id for conversation in planned(tree).conversations]

    assert [conversation.conversation_id for conversation in planned(tree).conversations] == ids
    for other in (planned(tree, owner="bob"), planned(tree, again="2")):
        assert not set(ids) & {conversation.conversation_id for conversation in other.conversations}
    assert len(set(ids)) == 5


def test_a_longer_source_keeps_the_ids_of_the_shorter_one() -> None:
    shorter = planned(tree_of(ask("a", answer("b"), answer("c"))))
    longer = planned(tree_of(ask("a", answer("b", ask("d"), ask("e")), answer("c", ask("f")), answer("g"))))

    ids = [conversation.conversation_id for conversation in longer.conversations]
    assert [conversation.conversation_id for conversation in shorter.conversations] == [ids[0], ids[2]]


def test_a_member_that_is_too_large_for_the_metadata_is_left_out_and_reported() -> None:
    report = ImportReport()
    about = {"summary": "x" * 20_000, "model": "m"}
    tree = ForeignTree("t", tree_of(SOUP).messages, title="Soup", metadata=about)

    plan = plan_tree(tree, owner="ann", report=report)

    source = plan.conversations[1].settings["metadata"]["source"]
    assert source == {"format": "trees", "id": "t", "model": "m", "entries": 2}
    assert report.lines() == ["member of a conversation too large for its metadata: 1 (summary of t)"]


def test_a_tree_may_be_deeper_than_the_call_stack() -> None:
    chain = [
        ForeignMessage(f"m{n}", {"text": "x"}, n - 1 if n else None, (n + 1,) if n < 19_999 else ())
        for n in range(20_000)
    ]

    plan = planned(ForeignTree("deep", tuple(chain)))

    assert len(plan.conversations) == 1
    assert plan.entries == 20_000


def test_ten_times_as_many_messages_in_many_branches_take_about_ten_times_as_long() -> None:
    parents = [number if number % 5 else (number * 7919) % (number + 1) for number in range(2_999)]
    tree, tenth = tree_with_parents(parents), tree_with_parents(parents[:299])

    plan = planned(tree)

    assert takes_at_most(40, lambda: planned(tree), than=lambda: planned(tenth))
    assert 400 < len(plan.conversations) < 500


@pytest.mark.parametrize(("path", "expected"), FILES, ids=lambda value: getattr(value, "name", ""))
def test_a_file_has_the_trees_messages_and_branches_that_it_should(
    path: Path, expected: tuple[int, int, int]
) -> None:
    plans = [planned(tree) for tree in read_file(path, ImportReport()) if isinstance(tree, ForeignTree)]

    counted = (
        len(plans),
        sum(plan.entries for plan in plans),
        sum(len(plan.conversations) for plan in plans),
    )
    assert counted == expected
