from forklore_service.domain.ancestry import Segment
from forklore_service.domain.ids import FIRST
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Conversation
from forklore_service.domain.tree import ForkRecord, Group
from tests.service.domain.builders import FORK, ROOT, TWIG, at

AT = "2026-03-01T09:15:00.000Z"


def test_the_root_is_the_current_branch_until_another_one_is_promoted() -> None:
    assert Group(ROOT, "ann", AT).current == ROOT
    assert Group(ROOT, "ann", AT, promoted=FORK).current == FORK


def test_a_tree_that_a_conversation_started_is_a_child() -> None:
    assert not Group(ROOT, "ann", AT).is_child
    assert Group(ROOT, "ann", AT, child_key=Key("p", "c")).is_child


def test_a_fork_leaves_its_tree_at_the_end_of_its_path() -> None:
    twig = Conversation(TWIG, ROOT, AT)
    path = (Segment(ROOT, at(3)), Segment(FORK, at(5)))

    assert ForkRecord.of(twig, path) == ForkRecord(FORK, at(5), AT, TWIG)
    assert ForkRecord.of(twig, (), is_removed=True) == ForkRecord(ROOT, FIRST, AT, TWIG, is_removed=True)
