"""What the adapters keep of a framework's values."""

import pytest

from forklore.adapters.storable import restored


def test_a_text_that_is_no_stored_object_is_a_value_error() -> None:
    for text in ("x", "[" * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011 (which one does not matter)
            restored(text)
