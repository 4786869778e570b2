import pytest

from forklore_service.domain.chain import Chain
from forklore_service.domain.paging import Window
from tests.service.domain.builders import at


@pytest.mark.parametrize("backward", [True, False])
def test_an_entry_that_another_one_names_is_missing_until_it_is_read(backward: bool) -> None:
    chain = Chain(Window(), [])
    chain.take(read=[at(3)], named=[at(2), None])
    assert chain.missing(None, backward=backward) == at(2)

    chain.take(read=[at(2)], named=[at(3)])
    assert chain.missing(None, backward=backward) is None


def test_an_entry_that_is_known_to_be_the_last_is_missing_until_it_is_read() -> None:
    chain = Chain(Window(), [at(3), None])
    assert chain.missing(None, backward=False) == at(3)

    chain.take(read=[at(3)], named=[])
    assert chain.missing(None, backward=False) is None


def test_the_first_missing_entry_in_the_order_of_reading_is_told() -> None:
    chain = Chain(Window(), [at(3), at(5)])

    assert chain.missing(None, backward=False) == at(3)
    assert chain.missing(None, backward=True) == at(5)


def test_what_is_read_next_is_not_missing() -> None:
    chain = Chain(Window(), [at(3), at(5)])

    assert chain.missing(Window(start=at(3)), backward=False) is None
    assert chain.missing(Window(start=at(4)), backward=False) == at(3)
    assert chain.missing(Window(start=at(5)), backward=False) == at(3)
    assert chain.missing(Window(stop=at(6)), backward=True) is None
    assert chain.missing(Window(stop=at(5)), backward=True) == at(5)


def test_an_entry_outside_of_the_window_is_not_missing() -> None:
    chain = Chain(Window(at(3), at(5)), [at(2), at(5)])
    assert chain.missing(None, backward=False) is None

    chain.take(read=[], named=[at(3), at(4)])
    assert chain.missing(None, backward=False) == at(3)
