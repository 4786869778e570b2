from forklore_service.domain.erasures import BEGIN, END, SEGMENTS, Erasure, erased
from forklore_service.domain.keys import Key
from forklore_service.domain.model import Channel, Entry
from tests.service.domain.builders import ROOT, at, filled

AT = "2026-03-01T09:15:00.000Z"


def test_an_erasure_is_done_when_it_has_an_end() -> None:
    assert not Erasure("e", "p", AT, "ann").is_done
    assert Erasure("e", "p", AT, finished_at=AT).is_done


def test_one_more_pass_begins_with_every_segment_and_counts_changes_from_then_on() -> None:
    half = Erasure("e", "p", AT, "ann", changes=5, passes=2, waits=True, places=(END, Key("a", "b")), step=4)

    again = half.next_pass(not_before=AT)

    assert again == half._replace(
        not_before=AT, passes=3, changes_before=5, waits=False, places=(BEGIN,) * SEGMENTS
    )


def test_an_erased_entry_keeps_its_place_and_nothing_that_its_author_has_said() -> None:
    entry = filled(Entry(at(1), ROOT, "ann", Channel.HISTORY, "history", '["said"]', key="k"))

    left = erased(entry, pseudonym="erased-1")

    assert left == entry._replace(
        user_id="erased-1", content="[]", is_erased=True, key=None, indexed_content=None, metadata=None
    )
