from dataclasses import replace

import pytest

from forklore.client.errors import ForbiddenError, NoAnswerError
from tests.cli.importing.builders import SOUP, ask, tree_of
from tests.tools.demo.builders import as_loaded
from tools.demo.loaded import LoadedTree, leaves, path_to
from tools.demo.verify import SeenEntry, SeenFork, compare_forks, compare_path, expected_forks, verify_tree

LOADED = as_loaded(tree_of(SOUP))
IDS = LOADED.conversation_ids
A, B, C, D = (SeenEntry(f"e{number}", "USER", letter) for number, letter in enumerate("abcd"))


class Answers:
    """A reader that gives the right answers, until a test changes them."""

    def __init__(self, loaded: LoadedTree) -> None:
        tree = loaded.tree
        self.forward, self.backward, self.singly = (
            {
                loaded.conversation_ids[loaded.conversation_of[leaf]]: [
                    SeenEntry(loaded.entry_ids[index], tree.messages[index].role, tree.messages[index].text)
                    for index in path_to(tree, leaf)
                ]
                for leaf in leaves(tree)
            }
            for _ in range(3)
        )
        self.forks = expected_forks(loaded)
        self.error: Exception | None = None

    def read(self, conversation_id: str, *, page: int, backward: bool = False) -> list[SeenEntry]:
        if self.error is not None and not backward:
            raise self.error
        return (self.backward if backward else self.singly if page == 1 else self.forward)[conversation_id]

    def list_forks(self, conversation_id: str) -> list[SeenFork]:
        assert conversation_id == IDS[0], "the root's list is asked"
        return self.forks


def differences(answers: Answers) -> list[str]:
    return verify_tree(answers, LOADED, on_path=lambda: None)


def test_what_reads_back_as_written_has_no_differences() -> None:
    assert differences(Answers(LOADED)) == []


def test_every_path_is_counted() -> None:
    done: list[None] = []

    verify_tree(Answers(LOADED), LOADED, on_path=lambda: done.append(None))

    assert len(done) == 5


@pytest.mark.parametrize("way", ["forward", "backward", "singly"])
def test_each_of_the_three_ways_finds_a_missing_an_extra_and_a_swapped_entry(way: str) -> None:
    for spoil in (
        lambda view: view[1:],
        lambda view: view[:-1],
        lambda view: [*view, view[-1]],
        lambda view: [view[0], SeenEntry("e9", "AI", "from elsewhere"), *view[1:]],
        lambda view: [view[1], view[0], *view[2:]],
        lambda view: [],
    ):
        answers = Answers(LOADED)
        views = getattr(answers, way)
        views[IDS[3]] = spoil(views[IDS[3]])

        (found,) = differences(answers)
        assert found.startswith(f"t: conversation {IDS[3]}, {way.replace('singly', 'one at a time')}: ")


def test_a_fork_that_shows_its_parents_later_entries_is_found() -> None:
    answers = Answers(LOADED)
    answers.forward[IDS[4]] = answers.forward[IDS[0]][:2] + answers.forward[IDS[4]][1:]

    assert len(differences(answers)) == 1


def test_a_difference_in_the_fork_list_is_found() -> None:
    answers = Answers(LOADED)
    answers.forks = answers.forks[:-1]

    assert differences(answers) == [f"t: fork list: {IDS[4]} is missing"]


def test_an_error_that_the_server_answers_is_a_difference() -> None:
    answers, error = Answers(LOADED), ForbiddenError("not yours")
    answers.error = error

    found = differences(answers)
    assert len(found) == 10  # five conversations, the two ways that fail
    assert all(difference.endswith(str(error)) for difference in found)


def test_a_server_that_is_gone_ends_the_verification() -> None:
    answers = Answers(LOADED)
    answers.error = NoAnswerError("gone")

    with pytest.raises(NoAnswerError):
        differences(answers)


@pytest.mark.parametrize(
    ("seen", "difference"),
    [
        ([A, B, C], None),
        ([], "3 missing at the end, from USER 'a' (e0)"),
        ([A, B], "1 missing at the end, from USER 'c' (e2)"),
        ([A, C], "entry 2 of 3: expected USER 'b' (e1), got USER 'c' (e2)"),
        ([A, C, B], "entry 2 of 3: expected USER 'b' (e1), got USER 'c' (e2)"),
        ([A, B, C, D], "1 extra at the end, from USER 'd' (e3)"),
        ([A, B, replace(C, text="c ")], "entry 3 of 3: e2 differs from character 2 on: expected '', got ' '"),
        (
            [A, B, replace(C, text="ç")],
            "entry 3 of 3: e2 differs from character 1 on: expected 'c', got '\\xe7'",
        ),
        ([A, replace(B, role="AI"), C], "entry 2 of 3: expected USER 'b' (e1), got AI 'b' (e1)"),
        ([A, replace(B, entry_id="e7"), C], "entry 2 of 3: expected USER 'b' (e1), got USER 'b' (e7)"),
    ],
)
def test_the_first_difference_of_two_views_is_named(seen: list[SeenEntry], difference: str | None) -> None:
    assert compare_path([A, B, C], seen) == difference


def test_the_expected_fork_list_has_the_root_and_each_fork_with_its_point() -> None:
    assert expected_forks(LOADED) == [
        SeenFork(IDS[0], None, None, None),
        SeenFork(IDS[1], IDS[0], "e0-2", "after"),
        SeenFork(IDS[2], IDS[0], "e0-0", "after"),
        SeenFork(IDS[3], IDS[2], "e2-1", "after"),
        SeenFork(IDS[4], IDS[0], "e0-0", "after"),
    ]
    alone = as_loaded(tree_of(ask("alone")))
    assert expected_forks(alone) == [SeenFork(alone.conversation_ids[0], None, None, None)]


def test_fork_lists_differ_by_what_they_hold_and_not_by_their_order() -> None:
    root, fork, other = expected_forks(LOADED)[:3]
    moved = replace(fork, entry_id="e0-1")

    assert compare_forks([root, fork], [fork, root]) == []
    assert compare_forks([root, fork], [root]) == [f"fork list: {IDS[1]} is missing"]
    assert compare_forks([root, fork], [root, fork, other]) == [
        f"fork list: {IDS[2]} is listed, but not ours"
    ]
    assert compare_forks([root, fork], [root, fork, fork]) == [f"fork list: {IDS[1]} is listed twice"]
    assert compare_forks([root, fork], [root, moved]) == [f"fork list: expected {fork}, got {moved}"]
