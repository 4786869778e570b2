from forklore_service.domain import ids
from forklore_service.domain.model import Channel, Conversation, Head, LastEntries, TokenUsage
from tests.service.domain.builders import FORK, NOW_MS, ROOT, at


def test_usage_adds_up_figure_by_figure() -> None:
    usages = [TokenUsage(1, 2, 3, 4), TokenUsage(10, 20, 30, 40), TokenUsage(cost_nano_usd=5)]
    assert TokenUsage.total(usages) == TokenUsage(11, 22, 33, 49)
    assert TokenUsage.total([]) == TokenUsage()


def test_a_head_counts_the_own_entries_of_both_channels() -> None:
    assert Head("ann", "2026-03-01T09:15:00.000Z", history=2, context=3).own_entries == 5


def test_the_root_is_the_conversation_whose_id_is_the_id_of_the_tree() -> None:
    created_at = "2026-03-01T09:15:00.000Z"

    assert Conversation(ROOT, ROOT, created_at).is_root
    assert not Conversation(FORK, ROOT, created_at).is_root


def test_updated_at_is_the_later_of_the_last_change_and_the_last_append() -> None:
    early, late = (ids.timestamp(NOW_MS + ms) for ms in (1, 9))

    def updated(changed_at: str, last_ms: int, *, history: int) -> str:
        return Head("ann", changed_at, last=at(NOW_MS + last_ms), history=history).updated_at

    assert updated(early, 9, history=1) == late
    assert updated(late, 1, history=1) == late
    assert updated(early, 9, history=0) == early  # `last` is only the floor here.


def test_the_last_entry_is_the_later_one_of_both_channels() -> None:
    both = LastEntries(at(1), at(2))

    assert (both.last, LastEntries(at(3), at(2)).last, LastEntries().last) == (at(2), at(3), None)
    assert (LastEntries(at(1), None).last, LastEntries(None, at(1)).last) == (at(1), at(1))
    assert (both.of(Channel.HISTORY), both.of(Channel.CONTEXT)) == (at(1), at(2))
    assert both.moved(Channel.HISTORY, at(4)) == LastEntries(at(4), at(2))
    assert both.moved(Channel.CONTEXT, at(4)) == LastEntries(at(1), at(4))
