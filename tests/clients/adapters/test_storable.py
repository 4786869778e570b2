"""What the adapters keep of a framework's values."""

import pytest

from forklore.adapters.storable import restored, storable


def test_a_number_that_the_service_does_not_take_is_kept_in_a_text() -> None:
    for number in (10**308 + 1, 10**309, -(10**4000)):
        stored = storable({"n": number})

        assert isinstance(stored, str)
        assert restored(stored) == {"n": number}


def test_a_text_that_is_no_stored_object_is_a_value_error() -> None:
    for text in ("x", "[" * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011 (which one does not matter)
            restored(text)
