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
    Query,
    fit,
    fold,
    may_fit,
    query_of,
    words_in,
)
from tests.support.growth import takes_at_most

LETTERS = st.text(alphabet="aAbß İıſéE\u0301ΣςσK\n…😀", max_size=12)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("two nights", Query((), ("two", "nights"))),
        ("  TWO\tTwo\n", Query((), ("two",))),
        ("a\u00a0b\u2003c", Query((), ("a", "b", "c"))),
        ("STRASSE Straße", Query((), ("strasse",))),
        ("+two nights", Query(("two",), ("nights",))),
        ('"Two  nights" +"in a"+b', Query(("two nights", "in a", "b"), ())),
        ('+a"b +"c', Query(('a"b', '"c'), ())),
        ("+C++ a+b", Query(("c++",), ("a", "+", "b"))),
        ('say "hi', Query((), ("say", "hi"))),
        ('"" + a', Query((), ("+", "a"))),
        ("Is it? (Yes!)", Query((), ("is", "it", "yes"))),
        ("?", Query((), ("?",))),
        ('""', Query((), ('""',))),
        ("+", Query((), ("+",))),
        ('"', Query((), ('"',))),
        (" \n ", Query((), ())),
    ],
)
def test_a_query_ranks_by_its_words_and_demands_what_is_marked(text: str, query: Query) -> None:
    assert query_of(text) == query


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't can’t 'quoted'", ["don't", "can’t", "quoted"]),
        ("3.14 1,000 a.b x.1 1.x end.", ["3.14", "1,000", "a.b", "x", "1", "1", "x", "end"]),
        ("v2 snake_case kebab-case", ["v2", "snake_case", "kebab", "case"]),
        ("name@example.com /tmp/a.txt", ["name", "example.com", "tmp", "a.txt"]),
        ("e\u0301te\u0301 हिन्दी שָׁלוֹם", ["e\u0301te\u0301", "हिन्दी", "שָׁלוֹם"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("東京都に行く", ["東京", "京都", "都に", "に行", "行く"]),
        ("茶", ["茶"]),
        ("a茶b ティー", ["a", "茶", "b", "ティ", "ィー"]),
        ("ภาษาไทย"[:3], ["ภา", "าษ"]),
        ("👩‍🚀🫖 ❤️", ["👩‍", "🚀", "🫖", "❤️"]),
        ("€5 a`b`", ["€", "5", "a", "b"]),
        ("…—!", []),
        ("\u0301", []),
    ],
)
def test_words_are_as_unicode_has_them(text: str, words: list[str]) -> None:
    assert words_in(text) == words


@pytest.mark.parametrize(
    ("query", "texts", "is_found"),
    [
        ("night", ["Two NIGHTS"], True),
        ("nights", ["one night"], False),
        ("night", ["a fortnight"], False),
        ("+night", ["a fortnight"], True),
        ("night", ["to_night"], False),
        ("night", ["to-night"], True),
        ("nights two", ["Two NIGHTS"], True),
        ("two days", ["two nights"], True),
        ("+two +days", ["two nights"], False),
        ("+two +nights", ["two", "nights"], True),
        ('"two nights"', ["two", "nights"], False),
        ('"two nights"', ["all of two\n  nights"], True),
        ('"wo night"', ["two nights"], True),
        ("twonights", ["two", "nights"], False),
        ("strasse", ["Straße"], True),
        ("STRAßE", ["strasse"], True),
        ("Σας", ["σΑΣ"], True),
        ("é", ["e\u0301"], False),
        ("é", ["É"], True),
        ("😀", ["a😀b"], True),
        ("京都", ["東京都"], True),
        ("東京都", ["京都"], True),
        ("x", [], False),
        ("x", [""], False),
    ],
)
def test_a_text_fits_with_one_of_the_words_or_all_that_is_demanded(
    query: str, texts: list[str], is_found: bool
) -> None:
    assert (fit(query_of(query), [fold(text) for text in texts]) is not None) == is_found


def highlights(query: Query, texts: Sequence[str]) -> list[str]:
    return matching.highlights(query, texts, [fold(text) for text in texts])


@pytest.mark.parametrize("text", ["a" * 2_400, "a" * 250, "ä" * 2_400])
@pytest.mark.parametrize("word", ["a" * 497 + "baa", "a" * 200 + "b" + "a" * 200, "a" * 40 + "baa"])
def test_a_word_is_looked_for_in_a_time_that_does_not_grow_with_it(text: str, word: str) -> None:
    """To compare it at each letter takes hundreds of times longer than to look for two letters."""
    texts = [text] * (200_000 // len(text))

    def look_for(word: str) -> None:
        assert fit(Query((), (word, word.replace("a", "ä"))), texts) is None
        assert fit(Query((word + "-",), ()), texts) is None

    assert takes_at_most(20, lambda: look_for(word), than=lambda: look_for("ab"))


@given(st.lists(LETTERS | st.text(alphabet='ab"\\/\b\f\u2028', max_size=4), max_size=3), st.booleans())
def test_texts_that_fit_may_fit_as_json(texts: list[str], is_ascii: bool) -> None:
    """Nothing that is there is missed, however JSON spells it."""
    json_text = json.dumps([{"text": text} for text in texts], ensure_ascii=is_ascii)
    folded = [fold(text) for text in texts]
    inner = [text[at : at + 3] for text in texts for at in range(len(text))]
    for spelled in (json_text, json_text.replace("/", r"\/")):
        for said in (*inner, " ".join(texts)):
            for query in (query_of(said), query_of(f'+"{said}"'), Query((fold(said).strip() or "a",), ())):
                if fit(query, folded) is not None:
                    assert may_fit(query, spelled)


@pytest.mark.parametrize(
    ("query", "other", "may"),
    [
        ("lisbon", (), True),
        ("porto", (), False),
        ("lisbon porto", (), True),
        ("+lisbon +porto", (), False),
        ("+lisbon +porto", ("porto",), True),
        ('+"two nights in"', (), True),
        ('"lisbon" porto', (), True),
        ('lisbon "porto"', (), False),
    ],
)
def test_text_that_cannot_fit_needs_not_be_read(query: str, other: Sequence[str], may: bool) -> None:
    assert may_fit(query_of(query), '[{"text":"Two nights\\nin \\"LISBON\\""}]', other) is may


def test_a_highlight_shows_some_text_on_each_side_of_a_word() -> None:
    before, after = "b" * 70, "a" * 70
    [piece] = highlights(query_of("+WORD"), [f"{before}Word{after}"])

    assert piece == f"{CUT}{'b' * AROUND_CHARACTERS}Word{'a' * AROUND_CHARACTERS}{CUT}"


def test_a_highlight_shows_a_letter_that_folds_into_two_as_it_stands() -> None:
    text = "ß" * 100 + "Straße" + "ß" * 100
    [piece] = highlights(query_of("+STRASSE"), [text])

    assert piece == f"{CUT}{'ß' * AROUND_CHARACTERS}Straße{'ß' * AROUND_CHARACTERS}{CUT}"


def test_words_close_together_share_a_piece_and_others_come_in_the_order_of_the_text() -> None:
    text = f"two nights{'-' * 200}in Lisbon"

    assert highlights(query_of("lisbon nights two"), [text]) == [
        f"two nights{'-' * 53}{CUT}",
        f"{CUT}{'-' * 57}in Lisbon",
    ]


def test_there_are_few_pieces_however_many_words() -> None:
    words = [f"word{number}" for number in range(9)]
    text = ("-" * 100).join(words)

    assert len(highlights(Query((), tuple(words)), [text])) == HIGHLIGHTS_MAX


def test_a_word_that_only_a_further_text_has_has_no_piece() -> None:
    assert matching.highlights(query_of("x y"), ["Y"], ["y", "x"]) == ["Y"]


@pytest.mark.parametrize("length", [FOLDED_AT_ONCE - 1, FOLDED_AT_ONCE, FOLDED_AT_ONCE + 1, 10_000])
@pytest.mark.parametrize("letter", ["ß", "ΐ", "-"])
def test_a_word_is_shown_as_it_stands_wherever_it_is(letter: str, length: int) -> None:
    around = letter * AROUND_CHARACTERS
    [piece] = highlights(query_of("+STRASSE"), [f"ß{letter * length}STRAßE{letter * length}"])

    assert piece == f"{CUT}{around}STRAßE{around}{CUT}"


def test_pieces_are_looked_for_around_the_first_words_only() -> None:
    near = [f"near{number}" for number in range(HIGHLIGHTED_WORDS_MAX)]
    text = " ".join(near)[:AROUND_CHARACTERS] + "-" * 500 + "far"

    assert len(highlights(Query((), (*near, "far")), [text])) == 1
    assert len(highlights(Query((), ("far", *near)), [text])) == 2
    assert len(highlights(Query(("far",), tuple(near)), [text])) == 2


def test_the_highlights_of_a_large_text_take_not_much_longer_than_folding_it() -> None:
    """The words are at the end of a text in which a letter folds into two."""
    words = tuple(f"word{number:02}x" for number in range(50))
    text = "ß" + "-" * 2_000_000 + " ".join(words)
    folded = [fold(text)]

    assert len(matching.highlights(Query(words), [text], folded)) == 2
    assert takes_at_most(
        20, lambda: matching.highlights(Query(words), [text], folded), than=lambda: fold(text)
    )


def test_a_word_that_is_nowhere_has_no_piece() -> None:
    assert highlights(query_of("x"), ["abc"]) == []


@given(st.lists(LETTERS, max_size=3), LETTERS)
def test_each_piece_is_a_part_of_a_text_and_shows_a_word(texts: list[str], query: str) -> None:
    wanted = query_of(query)
    pieces = highlights(wanted, texts)

    for piece in pieces:
        assert any(word in piece.casefold() for word in wanted.words)
        assert any(piece in text for text in texts)  # the texts are too short to be cut
    if wanted.words and fit(wanted, [fold(text) for text in texts]):
        assert 1 <= len(pieces) <= HIGHLIGHTS_MAX


def test_the_rarest_word_counts_most_and_is_shown_first() -> None:
    query = query_of("the lake lisbon")
    texts = ["the lake"] * 8 + ["the hills", "the lisbon"]
    fits = [fit(query, [text]) for text in texts]
    weights = matching.weigh(query, len(texts), [one for one in fits if one is not None])

    assert (weights.entries, weights.with_word, weights.having) == (10, 10, (10, 8, 1))
    assert list(weights.of_words) == sorted(weights.of_words)
    assert min(weights.of_words) > 0
    assert matching.by_weight(query, weights).words == ("lisbon", "lake", "the")


@pytest.mark.parametrize("having", [(), (1,), (1, 1, 1), (4, 1)])
def test_weights_that_cannot_be_of_a_query_are_known(having: tuple[int, ...]) -> None:
    query = query_of("a b")

    assert not matching.Weights(9, 3, 12, having).fit(query)
    assert not matching.Weights(2, 3, 12, (1, 1)).fit(query)
    assert matching.Weights(3, 3, 12, (3, 0)).fit(query)


def test_a_ranking_takes_a_time_that_grows_with_the_entries_and_no_more() -> None:
    query = query_of("the lake of lisbon, and what we said about it")

    def rank(entries: int) -> None:
        fits = [fit(query, [f"we went to the lake {number} " * 20]) for number in range(entries)]
        kept = [one for one in fits if one is not None]
        weights = matching.weigh(query, entries, kept)
        sorted(kept, key=lambda one: matching.score(one, weights))

    assert takes_at_most(15, lambda: rank(4_000), than=lambda: rank(400))
