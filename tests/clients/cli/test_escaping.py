"""No character of a conversation can do anything to a terminal."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from forklore.cli.escaping import ascii_json, visible, visible_json, visible_lines

ANY = st.text(st.characters(codec=None) | st.sampled_from("\x1b\x9b\u202e\u2028\ud800\r\n\t\x07"))
BAD = {"Cc", "Cs", "Zl", "Zp"}
BIDIRECTIONAL = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_harmless(text: str, *, but: str = "") -> bool:
    return not [
        letter
        for letter in text
        if letter not in but and (unicodedata.category(letter) in BAD or letter in BIDIRECTIONAL)
    ]


@given(ANY)
def test_a_line_is_harmless_and_has_no_end(text: str) -> None:
    assert is_harmless(visible(text))


@given(ANY)
def test_lines_keep_only_tabs(text: str) -> None:
    lines = visible_lines(text)

    assert all(is_harmless(line, but="\t") for line in lines)
    assert len(lines) == text.count("\n") + 1


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "Mn"])))
def test_text_that_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(ANY)
def test_json_means_the_same(text: str) -> None:
    written = json.dumps({"text": text}, ensure_ascii=False)

    for shown in (visible_json(written), ascii_json(visible_json(written))):
        assert json.loads(shown) == {"text": text}
        assert is_harmless(shown)
    assert ascii_json(written).isascii()


def test_escape_sequences_are_shown_as_python_writes_them() -> None:
    assert visible("\x1b]0;title\x07\x9b2J\u202e\U000e0041") == "\\x1b]0;title\\x07\\x9b2J\\u202e\\U000e0041"


def test_joined_emoji_stay_whole() -> None:
    assert visible("👩\u200d👩") == "👩\u200d👩"
