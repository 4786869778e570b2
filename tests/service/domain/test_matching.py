"""What a search finds in texts: the words of a query, and what is shown around them."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore_service.domain import matching
from forklore_service.domain.matching import (
    AROUND_CHARACTERS,
    CUT,
    FOLDED_AT_ONCE,
    HIGHLIGHTED_WORDS_MAX,
    HIGHLIGHTS_MAX,
    fold,
    has_all,
    may_have_all,
    words_of,
)
from tests.support.growth import takes_at_most

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
    assert has_all(words_of(query), [fold(text) for text in texts]) == is_found


def highlights(words: Sequence[str], texts: Sequence[str]) -> list[str]:
    return matching.highlights(words, texts, [fold(text) for text in texts])


@pytest.mark.parametrize("text", ["a" * 2_400, "a" * 250, "ä" * 2_400])
@pytest.mark.parametrize("word", ["a" * 497 + "baa", "a" * 200 + "b" + "a" * 200, "a" * 40 + "baa"])
def test_a_word_is_looked_for_in_a_time_that_does_not_grow_with_it(text: str, word: str) -> None:
    """To compare it at each letter takes hundreds of times longer than to look for two letters."""
    texts = [text] * (200_000 // len(text))

    def look_for(word: str) -> None:
        assert not has_all([word, word.replace("a", "ä")], texts)

    assert takes_at_most(20, lambda: look_for(word), than=lambda: look_for("ab"))


@given(st.lists(LETTERS | st.text(alphabet='ab"\\/\b\f\u2028', max_size=4), max_size=3), st.booleans())
def test_texts_that_have_all_words_may_have_them_as_json(texts: list[str], is_ascii: bool) -> None:
    """Nothing that is there is missed, however JSON spells it."""
    json_text = json.dumps([{"text": text} for text in texts], ensure_ascii=is_ascii)
    folded = [fold(text) for text in texts]
    inner = [text[at : at + 3] for text in texts for at in range(len(text))]
    for spelled in (json_text, json_text.replace("/", r"\/")):
        for query in (*inner, " ".join(texts)):
            if has_all(words_of(query), folded):
                assert may_have_all(words_of(query), spelled)


@pytest.mark.parametrize(
    ("query", "other", "may"),
    [
        ("lisbon", (), True),
        ("porto", (), False),
        ("lisbon porto", (), False),
        ("lisbon porto", ("porto",), True),
        ('"lisbon"', (), True),
        ('"porto"', (), False),
    ],
)
def test_text_without_the_words_needs_not_be_read(query: str, other: Sequence[str], may: bool) -> None:
    assert may_have_all(words_of(query), '[{"text":"Two nights\\nin \\"LISBON\\""}]', other) is may


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


def test_a_word_that_only_a_further_text_has_has_no_piece() -> None:
    assert matching.highlights(["x", "y"], ["Y"], ["y", "x"]) == ["Y"]


@pytest.mark.parametrize("length", [FOLDED_AT_ONCE - 1, FOLDED_AT_ONCE, FOLDED_AT_ONCE + 1, 10_000])
@pytest.mark.parametrize("letter", ["ß", "ΐ", "-"])
def test_a_word_is_shown_as_it_stands_wherever_it_is(letter: str, length: int) -> None:
    around = letter * AROUND_CHARACTERS
    [piece] = highlights(words_of("STRASSE"), [f"ß{letter * length}STRAßE{letter * length}"])

    assert piece == f"{CUT}{around}STRAßE{around}{CUT}"


def test_pieces_are_looked_for_around_the_first_words_only() -> None:
    near = [f"near{number}" for number in range(HIGHLIGHTED_WORDS_MAX)]
    text = " ".join(near)[:AROUND_CHARACTERS] + "-" * 500 + "far"

    assert len(highlights([*near, "far"], [text])) == 1
    assert len(highlights(["far", *near], [text])) == 2


def test_the_highlights_of_a_large_text_take_not_much_longer_than_folding_it() -> None:
    """The words are at the end of a text in which a letter folds into two."""
    words = [f"word{number:02}x" for number in range(50)]
    text = "ß" + "-" * 2_000_000 + " ".join(words)
    folded = [fold(text)]

    assert len(matching.highlights(words, [text], folded)) == 2
    assert takes_at_most(20, lambda: matching.highlights(words, [text], folded), than=lambda: fold(text))


def test_a_word_that_is_nowhere_has_no_piece() -> None:
    assert highlights(words_of("x"), ["abc"]) == []


@given(st.lists(LETTERS, max_size=3), LETTERS)
def test_each_piece_is_a_part_of_a_text_and_shows_a_word(texts: list[str], query: str) -> None:
    words = words_of(query)
    pieces = highlights(words, texts)

    for piece in pieces:
        assert any(word in piece.casefold() for word in words)
        assert any(piece in text for text in texts)  # the texts are too short to be cut
    if words and has_all(words, [fold(text) for text in texts]):
        assert 1 <= len(pieces) <= HIGHLIGHTS_MAX
