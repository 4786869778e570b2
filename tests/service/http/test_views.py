"""What a conversation shows, over HTTP. The test names describe the worked examples."""

from collections.abc import Callable

import pytest

from tests.service.http.client import Service
from tests.service.http.story import CONTEXT, HISTORY, Story, Telling

FORKS = 12
"""How many forks are made while their source grows."""


def by_append(story: Story, source_id: str, names: str, *, at: str | None = None) -> str:
    """Fork by appending the named entries to a new id."""
    first, _, rest = names.partition(" ")
    anchor = {"forkedAtEntryId": story.ids[at]} if at else {}
    fork = story.tell(first, forkedAtConversationId=source_id, **anchor)
    return story.tell(rest, into=fork)


def by_fork_route(story: Story, source_id: str, names: str, *, at: str | None = None) -> str:
    """Fork with POST …/fork, then append the named entries."""
    anchor = {"atEntryId": story.ids[at]} if at else {}
    return story.tell(names, into=story.fork(source_id, **anchor))


both_ways = pytest.mark.parametrize("fork", [by_append, by_fork_route])


@pytest.fixture
def story(service: Service) -> Story:
    return Story(service)


@both_ways
@pytest.mark.parametrize("told_later", ["", "(G) H", "E (F) (G) H"], ids=["none", "two", "four"])
def test_a_fork_with_context_shows_its_source_before_the_anchor_and_then_its_own(
    story: Story, fork: Callable[..., str], told_later: str
) -> None:
    told = "A (B) (C) D E (F) (G) H"
    root = story.tell(told.removesuffix(told_later))
    shown = fork(story, root, "(I) J K (L)", at="D")
    story.tell(told_later, into=root)

    assert story.shown(shown) == "A B C I J K L"
    assert story.shown(shown, channel=HISTORY) == "A J K"
    assert story.shown(shown, channel=CONTEXT) == "B C I L"
    assert story.shown(root) == "A B C D E F G H"
    assert story.shown(root, channel=HISTORY) == "A D E H"
    assert story.shown(root, channel=CONTEXT) == "B C F G"


def test_a_fork_without_an_anchor_shows_only_its_own(story: Story) -> None:
    root = story.tell("A (B) C")
    fork = by_append(story, root, "D (E)")
    story.tell("F", into=root)

    assert story.shown(fork) == "D E"
    assert story.shown(fork, channel=CONTEXT) == "E"
    assert story.shown(root) == "A B C F"


@both_ways
def test_a_fork_of_a_fork_shows_the_inherited_part_of_both(story: Story, fork: Callable[..., str]) -> None:
    root = story.tell("A B")
    near = fork(story, root, "C D", at="B")
    far = fork(story, near, "E F", at="D")

    assert story.shown(far) == "A C E F"
    assert story.shown(near) == "A C D"
    assert story.shown(root) == "A B"


@both_ways
def test_a_fork_of_a_fork_at_an_entry_inherited_from_the_root_shows_none_of_the_fork(
    story: Story, fork: Callable[..., str]
) -> None:
    root = story.tell("A B C D")
    near = fork(story, root, "X Y", at="D")
    far = fork(story, near, "Z", at="B")
    story.tell("E", into=root)
    story.tell("W", into=near)

    assert story.shown(far) == "A Z"
    assert story.shown(near) == "A B C X Y W"


def test_a_fork_of_a_fork_after_an_inherited_entry_shows_that_entry_last(story: Story) -> None:
    root = story.tell("A B C D")
    near = by_append(story, root, "X Y", at="D")
    far = story.fork(near, atEntryId=story.ids["B"], position="after")
    story.tell("Z", into=far)

    assert story.shown(far) == "A B Z"


@both_ways
def test_a_fork_at_the_first_entry_shows_only_its_own(story: Story, fork: Callable[..., str]) -> None:
    root = story.tell("A (B) C")
    shown = fork(story, root, "D", at="A")

    assert story.shown(shown) == "D"
    assert story.shown(root) == "A B C"


def test_a_fork_at_the_head_does_not_show_what_the_source_gets_later(story: Story) -> None:
    root = story.tell("A (B) C (D)")
    fork = story.fork(root)
    story.tell("E (F)", into=root)

    assert story.shown(fork) == "A B C D"
    story.tell("(G) H", into=fork)
    assert story.shown(fork) == "A B C D G H"
    assert story.shown(fork, channel=CONTEXT) == "B D G"
    assert story.shown(root) == "A B C D E F"


def test_a_fork_at_the_head_of_a_fork_without_entries_shows_what_that_fork_inherits(story: Story) -> None:
    root = story.tell("A B C")
    near = story.fork(root, atEntryId=story.ids["C"])
    far = story.fork(near)
    story.tell("X", into=near)
    story.tell("Y", into=far)

    assert story.shown(far) == "A B Y"


def test_a_blank_fork_of_a_fork_shows_no_inherited_entries(story: Story) -> None:
    root = story.tell("A (B) C")
    near = by_append(story, root, "D", at="C")
    far = by_append(story, near, "E")

    assert story.shown(far) == "E"
    assert story.shown(far, upToEntryId=story.ids["E"]) == "E"


def test_all_forks_shows_every_entry_of_the_tree_from_any_of_its_conversations(story: Story) -> None:
    root = story.tell("A B")
    near = by_append(story, root, "C", at="B")
    blank = by_append(story, near, "(D)")
    story.tell("E", into=root)

    for conversation_id in (root, near, blank):
        assert sorted(story.shown(conversation_id, allForks=True)) == sorted("A B C D E")


def test_a_view_up_to_an_entry_is_the_view_that_ended_with_it(story: Story) -> None:
    root = story.tell("A (B) C")
    fork = by_append(story, root, "(D) E (F)", at="C")

    for end, shown in {"A": "A", "B": "A B", "D": "A B D", "E": "A B D E", "F": "A B D E F"}.items():
        assert story.shown(fork, upToEntryId=story.ids[end]) == shown


@pytest.mark.parametrize("at_head", [True, False], ids=["at the head", "after an entry"])
def test_every_fork_made_while_its_source_is_appended_to_shows_a_prefix(story: Story, at_head: bool) -> None:
    root = story.tell("A B")
    forks: dict[str, list[str]] = {}
    with Telling(story, into=root) as telling:
        for _ in range(FORKS):
            newest = story.ids[telling.told[-1] if telling.told else "B"]
            anchor = {} if at_head else {"atEntryId": newest, "position": "after"}
            fork = story.fork(root, **anchor)
            forks[fork] = story.seen(fork)

    whole = story.seen(root)
    assert story.names(whole) == " ".join(["A", "B", *telling.told])
    assert len({len(shown) for shown in forks.values()}) > FORKS // 2, (
        "the source did not grow during the test"
    )
    for fork, shown in forks.items():
        assert shown == whole[: len(shown)]
        assert story.seen(fork) == shown
