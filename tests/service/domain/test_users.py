import pytest

from forklore_service.domain.users import is_user_id


@pytest.mark.parametrize(
    "value", ["a", "zoë/🦊 #1", " a ", "a" * 255, "🦊" * 63 + "abc", "a\u00a0b", "a~b", "\u2003a"]
)
def test_any_text_of_up_to_255_bytes_can_be_a_user_id(value: str) -> None:
    assert is_user_id(value)


@pytest.mark.parametrize(
    "value",
    [
        *(None, 5, b"a", ["a"], "", " ", "\u2003\u00a0", "a" * 256, "🦊" * 64),
        *("a\0b", "a\x1fb", "a\x7fb", "a\x9fb", "a\nb", "a\ud800b"),
    ],
    ids=ascii,
)
def test_blank_or_long_text_and_text_with_control_characters_is_no_user_id(value: object) -> None:
    assert not is_user_id(value)
