"""What a search finds in texts: the words of a query, and what is shown around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.domain.matching import (
    AROUND_CHARACTERS,
    CUT,
    HIGHLIGHTS_MAX,
    has_all,
    highlights,
    words_of,
)

LETTERS = st.text(alphabet="aAbß İıſéE\u0301ΣςσK\n…😀", max_size=12)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("two nights", ("two", "nights")),
        ("  TWO\tTwo\n", ("two",)),
        ("a\u00a0b\u2003c", ("a", "b", "c")),
        ("STRASSE Straße", ("strasse",)),
        (" \n ", ()),
    ],
)
def test_the_words_of_a_query_are_different_and_folded(query: str, words: tuple[str, ...]) -> None:
    assert words_of(query) == words


@pytest.mark.parametrize(
    ("query", "texts", "is_found"),
    [
        ("night", ["Two NIGHTS"], True),
        ("nights two", ["Two NIGHTS"], True),
        ("two nights", ["two", "nights"], True),
        ("two days", ["two nights"], False),
        ("twonights", ["two", "nights"], False),
        ("strasse", ["Straße"], True),
        ("STRAßE", ["strasse"], True),
        ("Σας", ["σΑΣ"], True),
        ("é", ["e\u0301"], False),
        ("é", ["É"], True),
        ("😀", ["a😀b"], True),
        ("x", [], False),
        ("x", [""], False),
    ],
)
def test_every_word_must_occur_somewhere_in_the_texts(query: str, texts: list[str], is_found: bool) -> None:
    assert has_all(words_of(query), texts) == is_found


def test_a_highlight_shows_some_text_on_each_side_of_a_word() -> None:
    before, after = "b" * 70, "a" * 70
    [piece] = highlights(words_of("WORD"), [f"{before}Word{after}"])

    assert piece == f"{CUT}{'b' * AROUND_CHARACTERS}Word{'a' * AROUND_CHARACTERS}{CUT}"


def test_a_highlight_shows_a_letter_that_folds_into_two_as_it_stands() -> None:
    text = "ß" * 100 + "Straße" + "ß" * 100
    [piece] = highlights(words_of("STRASSE"), [text])

    assert piece == f"{CUT}{'ß' * AROUND_CHARACTERS}Straße{'ß' * AROUND_CHARACTERS}{CUT}"


def test_words_close_together_share_a_piece_and_others_come_in_the_order_of_the_text() -> None:
    text = f"two nights{'-' * 200}in Lisbon"

    assert highlights(words_of("lisbon nights two"), [text]) == [
        f"two nights{'-' * 53}{CUT}",
        f"{CUT}{'-' * 57}in Lisbon",
    ]


def test_there_are_few_pieces_however_many_words() -> None:
    words = [f"word{number}" for number in range(9)]
    text = ("-" * 100).join(words)

    assert len(highlights(words, [text])) == HIGHLIGHTS_MAX


def test_a_word_that_is_nowhere_has_no_piece() -> None:
    assert highlights(words_of("x"), ["abc"]) == []


@given(st.lists(LETTERS, max_size=3), LETTERS)
def test_each_piece_is_a_part_of_a_text_and_shows_a_word(texts: list[str], query: str) -> None:
    words = words_of(query)
    pieces = highlights(words, texts)

    for piece in pieces:
        assert any(word in piece.casefold() for word in words)
        assert any(piece in text for text in texts)  # the texts are too short to be cut
    if words and has_all(words, texts):
        assert 1 <= len(pieces) <= HIGHLIGHTS_MAX
