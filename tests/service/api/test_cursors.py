"""What a caller may have made up in place of a cursor."""

import base64
import hashlib

import pytest

from forklore_service.api import cursors
from forklore_service.usecases.shared.cursors import InvalidCursor


@pytest.mark.failure("bad-parameter")
@pytest.mark.parametrize("text", ["[" * 1500, "9" * 5000, '{"a":1,"a":2}', "[null]", "[null,NaN]", "null"])
def test_a_cursor_that_holds_any_other_json_than_a_name_is_wrong(text: str) -> None:
    digest = hashlib.sha256(b"names").digest()[:6]
    forged = base64.urlsafe_b64encode(digest + text.encode()).decode()

    assert isinstance(cursors.to_name("names", forged, user_id="ann"), InvalidCursor)
