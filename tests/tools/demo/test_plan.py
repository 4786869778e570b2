from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.cli.importing.values import Tree
from tests.domain.builders import examples
from tests.tools.demo.builders import SOUP, answer, ask, deep_line, parse_trees, tree_of, tree_with_parents
from tools.demo.plan import ForkPoint, Plan, PlannedConversation, leaves, path_to, plan_tree
from tools.demo.reading import read_trees

ROOT = Path(__file__).parents[3]
REAL_TREES = ROOT.parent / "shared" / "data" / "oasst-trees-50.jsonl"
FILES = [(ROOT / "examples" / "trees.jsonl", (3, 29, 12))]
FILES += [(REAL_TREES, (50, 549, 288))] if REAL_TREES.exists() else []


def view(plan: Plan, number: int) -> list[int]:
    """Return what a conversation shows: the parent's messages before the fork, then its own."""
    conversation = plan.conversations[number]
    if conversation.fork_point is None:
        return list(conversation.messages)
    inherited = view(plan, conversation.fork_point.conversation)
    return inherited[: inherited.index(conversation.fork_point.before)] + list(conversation.messages)


def trees() -> st.SearchStrategy[Tree]:
    def parents(size: int) -> st.SearchStrategy[list[int]]:
        return st.tuples(*(st.integers(0, number) for number in range(size))).map(list)

    return st.integers(0, 30).flatmap(parents).map(tree_with_parents)


def test_the_first_reply_continues_and_every_other_is_a_fork_before_it() -> None:
    # 0 soup, 1 lemon, 2 too sour, 3 honey, 4 sugar, 5 thanks,
    # 6 roast it, 7 how long?, 8 minutes, 9 sweet, 10 herbs
    plan = plan_tree(tree_of(SOUP))

    assert plan.conversations == (
        PlannedConversation((0, 1, 2, 3), None),
        PlannedConversation((4, 5), ForkPoint(0, before=3)),
        PlannedConversation((6, 7, 8), ForkPoint(0, before=1)),
        PlannedConversation((9,), ForkPoint(2, before=8)),
        PlannedConversation((10,), ForkPoint(0, before=1)),
    )
    assert plan.conversation_of == (0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 4)


def test_a_prompt_alone_is_one_conversation_and_one_path() -> None:
    tree = tree_of(ask("a"))

    assert plan_tree(tree).conversations == (PlannedConversation((0,), None),)
    assert [path_to(tree, leaf) for leaf in leaves(tree)] == [[0]]


def test_alternatives_with_the_same_text_stay_apart() -> None:
    tree = tree_of(ask("a", answer("b"), answer("b"), answer("b", ask("c"))))

    assert [path_to(tree, leaf) for leaf in leaves(tree)] == [[0, 1], [0, 2], [0, 3, 4]]
    assert [conversation.messages for conversation in plan_tree(tree).conversations] == [(0, 1), (2,), (3, 4)]


@examples(100)
@given(trees())
def test_each_conversation_shows_exactly_the_path_to_its_leaf(tree: Tree) -> None:
    plan = plan_tree(tree)
    ends = list(leaves(tree))

    assert len(ends) == len(plan.conversations)
    assert {plan.conversation_of[leaf]: path_to(tree, leaf) for leaf in ends} == {
        number: view(plan, number) for number in range(len(plan.conversations))
    }


@examples(100)
@given(trees())
def test_each_fork_is_anchored_at_the_first_alternative_where_that_was_written(tree: Tree) -> None:
    plan = plan_tree(tree)

    assert plan.conversations[0].fork_point is None
    for conversation in plan.conversations[1:]:
        point, first = conversation.fork_point, conversation.messages[0]
        assert point is not None
        assert point.before in plan.conversations[point.conversation].messages
        assert tree.messages[point.before].parent == tree.messages[first].parent
        assert point.before < first, "the anchor is appended before the fork"


@examples(100)
@given(trees())
def test_each_message_is_written_once(tree: Tree) -> None:
    plan = plan_tree(tree)

    assert sorted(index for conversation in plan.conversations for index in conversation.messages) == list(
        range(len(tree.messages))
    )


def test_a_tree_may_be_deeper_than_the_call_stack() -> None:
    (tree,) = parse_trees([deep_line(20_000)])

    assert plan_tree(tree).conversations == (PlannedConversation(tuple(range(20_000)), None),)
    assert [len(path_to(tree, leaf)) for leaf in leaves(tree)] == [20_000]


@pytest.mark.parametrize(("path", "expected"), FILES, ids=lambda value: getattr(value, "name", ""))
def test_a_file_has_the_trees_messages_and_paths_that_it_should(
    path: Path, expected: tuple[int, int, int]
) -> None:
    found = read_trees(path)
    plans = [plan_tree(tree) for tree in found]

    messages = sum(len(tree.messages) for tree in found)
    paths = sum(1 for tree in found for _ in leaves(tree))
    assert (len(found), messages, paths) == expected
    assert sum(len(plan.conversations) for plan in plans) == paths
    for plan in plans:
        for leaf in leaves(plan.tree):
            assert view(plan, plan.conversation_of[leaf]) == path_to(plan.tree, leaf)
