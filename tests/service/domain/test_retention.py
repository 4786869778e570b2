from forklore_service.domain import ids
from forklore_service.domain.model import Conversation, Description, Head
from forklore_service.domain.retention import (
    FIRST_PLACE,
    Round,
    UnusedTree,
    is_exempt,
    unused_before,
    used_at,
)
from forklore_service.domain.tree import Group
from tests.service.domain.builders import FORK, NOW_MS, ROOT

OLD, LATER, LATEST = (ids.timestamp(NOW_MS + day * 86_400_000) for day in range(3))
GROUP = Group(ROOT, "ann", OLD)
HEADS = {ROOT: Head("ann", OLD), FORK: Head("ann", LATER)}


def test_a_tree_was_last_used_when_a_branch_or_the_tree_itself_was() -> None:
    assert used_at(GROUP, {ROOT: HEADS[ROOT]}) == OLD
    assert used_at(GROUP, HEADS) == LATER
    assert used_at(GROUP._replace(used_at=LATEST), HEADS) == LATEST


def test_an_operator_is_shown_when_a_tree_was_made_and_used() -> None:
    assert UnusedTree(GROUP, HEADS).shown() == {
        "conversationId": ROOT,
        "ownerUserId": "ann",
        "conversations": 2,
        "createdAt": OLD,
        "usedAt": LATER,
    }


def test_days_are_counted_back_from_now() -> None:
    assert unused_before(NOW_MS + 2 * 86_400_000, 1) == LATER


def test_a_round_is_over_when_every_shard_was_read() -> None:
    assert not Round(OLD).is_over
    assert not Round(OLD, (None, FIRST_PLACE)).is_over
    assert Round(OLD, (None, None)).is_over


def test_a_tag_keeps_a_tree() -> None:
    kept = Conversation(ROOT, ROOT, OLD, described=Description(tags={"retention": "keep"}))

    assert is_exempt(kept)
    assert not is_exempt(kept._replace(described=Description(tags={"retention": ""})))
    assert not is_exempt(Conversation(ROOT, ROOT, OLD))
