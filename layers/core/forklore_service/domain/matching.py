"""What a search finds: the words of a query in texts, and what is shown around them. Pure.

A word is found wherever its letters occur, also inside another word. Upper and lower case are
equal, by Unicode's full case folding. Nothing else is: `e` and `é` are different letters.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

HIGHLIGHTS_MAX = 3
HIGHLIGHTED_WORDS_MAX = 10
"""Highlights are looked for around so many words of a query, its first ones."""
AROUND_CHARACTERS = 60
"""How much of a text a highlight shows on each side of a word."""
CUT = "…"
FOLDED_AT_ONCE = 4096
"""A place in a text is looked for in steps of so many characters."""
_ESCAPED_IN_JSON = re.compile(r'["\\/\x08]')
"""What JSON may spell with a backslash and one more character, without white space."""


def words_of(query: str) -> tuple[str, ...]:
    """Return the different words of a query, which white space separates, in folded case.

    >>> words_of("Zwei  Straßen zwei")
    ('zwei', 'strassen')
    """
    return tuple(dict.fromkeys(fold(query).split()))


def fold(text: str) -> str:
    """Return the text in folded case.

    >>> fold("In der STRASSE"), fold("in der Straße")
    ('in der strasse', 'in der strasse')
    """
    return text.casefold()


def has_all(words: Iterable[str], folded: Sequence[str]) -> bool:
    """Tell whether each word occurs in at least one of the texts. words: as of `words_of`.

    folded: the texts, as of `fold`.

    >>> has_all(words_of("STRASSE zwei"), [fold("Zwei"), fold("in der Straße")])
    True
    """
    finders = map(_finder, words)
    return all(any(finder.search(text) for text in folded) for finder in finders)


def may_have_all(words: Iterable[str], json_text: str, folded: Sequence[str] = ()) -> bool:
    r"""Return False if the strings of JSON text, with other texts, surely do not have all words.

    It needs not read the JSON. folded: the other texts, as of `fold`.

    >>> may_have_all(words_of("two/three nights"), r'["Two\/three\nNIGHTS"]')
    True
    >>> may_have_all(words_of("four nights"), '["Two nights"]')
    False
    """
    if r"\u" in json_text:  # such an escape spells any character
        return True
    pieces = (piece for word in words for piece in _ESCAPED_IN_JSON.split(word))
    return has_all(pieces, [fold(json_text), *folded])


@lru_cache(maxsize=1024)
def _finder(word: str) -> re.Pattern[str]:
    """Return a pattern that finds the word.

    The time is linear in the text. That of `word in text` grows with the word, too.
    """
    return re.compile(re.escape(word))


def highlights(words: Iterable[str], texts: Sequence[str], folded: Sequence[str]) -> list[str]:
    """Return the text around the first occurrence of each word, at most HIGHLIGHTS_MAX pieces.

    Only the first HIGHLIGHTED_WORDS_MAX words are looked for. The pieces are in the order of the
    texts. A word that an earlier piece shows has no piece of its own. A piece is cut out of its
    text unchanged, with CUT where the text goes on.
    folded: the texts, as of `fold`. There may be further texts: they are not shown.

    >>> texts = ["Two nights", "Where in Lisbon?"]
    >>> highlights(words_of("lisbon two"), texts, [fold(text) for text in texts])
    ['Two nights', 'Where in Lisbon?']
    """
    shown = folded[: len(texts)]
    firsts = (_first(word, shown) for word in islice(words, HIGHLIGHTED_WORDS_MAX))
    places = sorted(place for place in firsts if place is not None)
    pieces: list[str] = []
    shown_of, shown_to = -1, 0
    for at, folded_start, folded_end in places:
        start, end = _unfolded(texts[at], folded[at], folded_start, folded_end)
        if at == shown_of and end <= shown_to:
            continue
        if len(pieces) == HIGHLIGHTS_MAX:
            break
        text = texts[at]
        first, last = max(0, start - AROUND_CHARACTERS), min(len(text), end + AROUND_CHARACTERS)
        pieces.append(CUT * (first > 0) + text[first:last] + CUT * (last < len(text)))
        shown_of, shown_to = at, last
    return pieces


def _first(word: str, folded: Sequence[str]) -> tuple[int, int, int] | None:
    """Return where the word first occurs: the number of the text, the start and the end in it."""
    finder = _finder(word)
    for at, text in enumerate(folded):
        place = finder.search(text)
        if place is not None:
            return at, *place.span()
    return None


def _unfolded(text: str, folded: str, start: int, end: int) -> tuple[int, int]:
    """Return where in a text the letters are that are between two places when it is folded.

    A letter may fold into several ones, so the letters before the place are counted.
    """
    if len(folded) == len(text):  # no letter became longer, so each is where it was
        return start, end
    begin = counted = 0
    while counted + (more := len(fold(text[begin : begin + FOLDED_AT_ONCE]))) <= start:
        begin, counted = begin + FOLDED_AT_ONCE, counted + more
    while counted + (more := len(fold(text[begin]))) <= start:
        begin, counted = begin + 1, counted + more
    beyond = begin
    while counted < end:
        beyond, counted = beyond + 1, counted + len(fold(text[beyond]))
    return begin, beyond
