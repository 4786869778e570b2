import itertools
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import ids
from forklore_service.domain.ids import FIRST, LAST, MILLISECONDS_MAX, RANDOM_BITS, STEP_MAX, EntryId
from tests.service.domain.builders import NOW_MS, at, examples

RANDOM_MAX = (1 << RANDOM_BITS) - 1
MILLISECONDS = st.integers(0, MILLISECONDS_MAX) | st.sampled_from([0, 1, NOW_MS, MILLISECONDS_MAX])
RANDOMS = st.integers(0, RANDOM_MAX) | st.sampled_from(
    [0, 1, (1 << 62) - 1, 1 << 62, RANDOM_MAX - 1, RANDOM_MAX]
)
PLACES = st.tuples(MILLISECONDS, RANDOMS)
"""The parts of an id: milliseconds and random bits. The order of the pairs is the order of ids."""


@examples(1_000)
@given(st.lists(PLACES, min_size=2, max_size=8))
def test_the_order_of_ids_as_strings_is_their_order_as_numbers_and_in_time(
    places: list[tuple[int, int]],
) -> None:
    made = {place: ids.fresh_id(*place) for place in places}
    in_order = sorted(made)

    assert sorted(made.values()) == [made[place] for place in in_order]
    assert sorted(made.values(), key=lambda i: uuid.UUID(i).int) == [made[place] for place in in_order]
    assert [ids.milliseconds_of(i) for i in sorted(made.values())] == [ms for ms, _ in in_order]
    assert sorted(map(ids.created_at, made.values())) == [ids.timestamp(ms) for ms, _ in in_order]


@examples(500)
@given(PLACES)
def test_an_id_is_a_lower_case_uuid_of_version_7_whose_48_bits_are_its_milliseconds(
    place: tuple[int, int],
) -> None:
    made = uuid.UUID(ids.fresh_id(*place))

    assert str(made) == ids.fresh_id(*place)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == place[0]


def test_an_id_has_74_random_bits_and_a_step_is_drawn_from_the_first_32() -> None:
    assert (RANDOM_BITS, STEP_MAX) == (74, 2**32)


def test_different_randoms_make_different_ids() -> None:
    # Each random has one bit set, so each of the 74 bits must have its own place in the id.
    assert len({ids.fresh_id(NOW_MS, 1 << bit) for bit in range(RANDOM_BITS)} | {at(NOW_MS)}) == 75


def test_the_last_random_of_a_millisecond_comes_before_the_first_of_the_next() -> None:
    assert ids.fresh_id(NOW_MS, RANDOM_MAX) < ids.fresh_id(NOW_MS + 1, 0)
    assert ids.next_id(ids.fresh_id(NOW_MS, RANDOM_MAX)) == ids.fresh_id(NOW_MS + 1, 0)


@pytest.mark.parametrize("random", [-1, 1 << RANDOM_BITS])
def test_a_random_with_too_many_bits_fails_an_assertion(random: int) -> None:
    with pytest.raises(AssertionError):
        ids.fresh_id(NOW_MS, random)


# Next and previous


@examples(1_000)
@given(PLACES, st.integers(1, STEP_MAX) | st.sampled_from([1, STEP_MAX]))
def test_the_next_id_is_one_step_further_and_carries_into_the_milliseconds(
    place: tuple[int, int], step: int
) -> None:
    milliseconds, random = place[0], place[1] + step
    if random > RANDOM_MAX:
        milliseconds, random = milliseconds + 1, random - RANDOM_MAX - 1

    if milliseconds > MILLISECONDS_MAX:
        with pytest.raises(AssertionError, match="9999"):
            ids.next_id(ids.fresh_id(*place), step)
    else:
        assert ids.next_id(ids.fresh_id(*place), step) == ids.fresh_id(milliseconds, random)


@examples(500)
@given(PLACES)
def test_next_and_previous_are_inverse_and_nothing_lies_between(place: tuple[int, int]) -> None:
    here = ids.fresh_id(*place)

    if here != LAST:
        assert ids.previous_id(ids.next_id(here)) == here
        assert here < ids.next_id(here)
    if here != FIRST:
        assert ids.next_id(ids.previous_id(here)) == here
        assert ids.previous_id(here) < here


@pytest.mark.parametrize(
    ("here", "following"),
    [
        ("019ca8ad-fa20-7000-8000-000000000000", "019ca8ad-fa20-7000-8000-000000000001"),
        ("019ca8ad-fa20-7000-bfff-ffffffffffff", "019ca8ad-fa20-7001-8000-000000000000"),
        ("019ca8ad-fa20-7fff-bfff-ffffffffffff", "019ca8ad-fa21-7000-8000-000000000000"),
        ("019ca8ad-ffff-7fff-bfff-ffffffffffff", "019ca8ae-0000-7000-8000-000000000000"),
    ],
    ids=["inside", "over the variant", "over the version", "over the milliseconds' hyphen"],
)
def test_a_carry_skips_the_fixed_bits(here: EntryId, following: EntryId) -> None:
    assert ids.next_id(here) == following
    assert ids.previous_id(following) == here


@pytest.mark.parametrize("step", [0, -1, STEP_MAX + 1])
def test_a_step_outside_its_bounds_fails_an_assertion(step: int) -> None:
    with pytest.raises(AssertionError):
        ids.next_id(at(NOW_MS), step)


def test_nothing_comes_before_the_first_id_or_after_the_last() -> None:
    with pytest.raises(AssertionError):
        ids.previous_id(FIRST)
    with pytest.raises(AssertionError):
        ids.next_id(LAST)


def test_first_and_last_are_the_ends_of_the_year_range() -> None:
    assert (FIRST, LAST) == ("00000000-0000-7000-8000-000000000000", "e677d21f-dbff-7fff-bfff-ffffffffffff")
    assert (ids.created_at(FIRST), ids.created_at(LAST)) == (
        "1970-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",
    )


# Valid entry ids


@pytest.mark.parametrize(
    "text",
    [
        FIRST,
        "019ca8ad-fa20-7000-8000-000000000005",
        "019ca8ad-fa20-7fff-bfff-ffffffffffff",
        "019ca8ad-fa20-7abc-9def-0123456789ab",
        "019ca8ad-fa20-7abc-adef-0123456789ab",
        "e677d21f-dbff-7fff-bfff-fffffffffffe",
    ],
)
def test_a_lower_case_uuid_of_version_7_up_to_the_year_9999_is_an_entry_id(text: str) -> None:
    assert ids.is_entry_id(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        LAST,
        "e677d21f-dc00-7000-8000-000000000000",  # the first millisecond of the year 10000
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
        "019ca8ad-fa20-4000-8000-000000000005",  # version 4
        "019ca8ad-fa20-0000-8000-000000000005",
        "019ca8ad-fa20-7000-7000-000000000005",  # another variant
        "019ca8ad-fa20-7000-c000-000000000005",
        "019CA8AD-FA20-7000-8000-000000000005",
        "019ca8ad-fa20-7000-8000-00000000000F",
        "019ca8adfa2070008000000000000005",
        "{019ca8ad-fa20-7000-8000-000000000005}",
        "urn:uuid:019ca8ad-fa20-7000-8000-000000000005",
        " 019ca8ad-fa20-7000-8000-000000000005",
        "019ca8ad-fa20-7000-8000-000000000005\n",
        "019ca8ad-fa20-7000-8000-00000000000",
        "019ca8ad-fa20-7000-8000-0000000000050",
        "019ca8ad-fa20-7000-8000-00000000000g",
        "019ca8ad-fa20-7000-8000-00000000000٥",  # a digit that is not ASCII
        "019ca8ad_fa20_7000_8000_000000000005",
    ],
)
def test_nothing_else_is_an_entry_id(text: str) -> None:
    assert not ids.is_entry_id(text)


def test_only_lower_case_with_hyphens_is_a_uuid_of_any_version() -> None:
    nil, four = str(uuid.UUID(int=0)), "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    spellings = [
        nil,
        four,
        LAST,
        four.upper(),
        four.replace("-", ""),
        f"{{{four}}}",
        f"{four}\n",
        f" {four}",
        "",
    ]

    assert [text for text in spellings if ids.is_uuid(text)] == [nil, four, LAST]


@examples(300)
@given(PLACES)
def test_every_id_that_is_made_is_an_entry_id(place: tuple[int, int]) -> None:
    assert ids.is_entry_id(ids.fresh_id(*place)) == (place != (MILLISECONDS_MAX, RANDOM_MAX))


# Minting


@pytest.mark.failure("wrong-clock")
@examples(1_000)
@given(
    last=PLACES.filter(lambda place: place[0] < MILLISECONDS_MAX),
    now=MILLISECONDS,
    random=RANDOMS,
    step=st.integers(1, STEP_MAX),
)
def test_a_minted_id_is_fresh_or_a_step_after_the_last_and_always_greater(
    last: tuple[int, int], now: int, random: int, step: int
) -> None:
    """This also holds after a clock steps back."""
    last_id = ids.fresh_id(*last)
    minted = ids.mint_id(now, last=last_id, random=random, step=step)

    assert minted > last_id
    if now > last[0] + 1:
        assert minted == ids.fresh_id(now, random)
    if now < last[0]:
        assert minted == ids.next_id(last_id, step)


@pytest.mark.failure("wrong-clock")
def test_ids_minted_in_one_millisecond_ascend_whatever_the_random_bits() -> None:
    dice = [RANDOM_MAX, 0, RANDOM_MAX - 1, 5, RANDOM_MAX, RANDOM_MAX]
    minted = list(
        itertools.accumulate(
            dice, lambda last, random: ids.mint_id(NOW_MS, last=last, random=random, step=1), initial=FIRST
        )
    )

    assert minted == sorted(set(minted))
    assert minted[1] == ids.fresh_id(NOW_MS, RANDOM_MAX)
    assert minted[2] == ids.fresh_id(NOW_MS + 1, 0)


def test_after_a_writer_65_years_ahead_the_others_continue_from_its_last_id() -> None:
    ahead = ids.mint_id(NOW_MS + 65 * 366 * 86_400_000, last=at(NOW_MS), random=3, step=1)

    assert ids.mint_id(NOW_MS, last=ahead, random=RANDOM_MAX, step=9) == ids.next_id(ahead, 9)


# Time as text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (999, "1970-01-01T00:00:00.999Z"),
        (1_772_356_500_000, "2026-03-01T09:15:00.000Z"),
        (1_772_356_500_500, "2026-03-01T09:15:00.500Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),  # not a leap year
        (MILLISECONDS_MAX, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_timestamp_is_utc_with_three_decimals_even_on_a_whole_second(milliseconds: int, text: str) -> None:
    assert ids.timestamp(milliseconds) == text
    assert ids.milliseconds(text) == milliseconds


@examples(1_000)
@given(MILLISECONDS)
def test_every_millisecond_comes_back_from_its_timestamp_of_24_characters(milliseconds: int) -> None:
    text = ids.timestamp(milliseconds)

    assert len(text) == 24
    assert ids.milliseconds(text) == milliseconds


@examples(500)
@given(MILLISECONDS, MILLISECONDS)
def test_the_order_of_timestamps_is_the_order_of_time(one: int, other: int) -> None:
    assert (ids.timestamp(one) < ids.timestamp(other)) == (one < other)
