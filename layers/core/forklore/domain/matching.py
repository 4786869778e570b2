"""What a search finds: the words of a query in texts, and what is shown around them. Pure.

A word is found wherever its letters occur, also inside another word. Upper and lower case are
equal, by Unicode's full case folding. Nothing else is: `e` and `é` are different letters.
"""

from collections.abc import Iterable, Sequence

HIGHLIGHTS_MAX = 3
AROUND_CHARACTERS = 60
"""How much of a text a highlight shows on each side of a word."""
CUT = "…"


def words_of(query: str) -> tuple[str, ...]:
    """Return the different words of a query, which white space separates, in folded case.

    >>> words_of("Zwei  Straßen zwei")
    ('zwei', 'strassen')
    """
    return tuple(dict.fromkeys(query.casefold().split()))


def has_all(words: Iterable[str], texts: Iterable[str]) -> bool:
    """Tell whether each word occurs in at least one of the texts. words: as of `words_of`.

    >>> has_all(words_of("STRASSE zwei"), ["Zwei", "in der Straße"])
    True
    """
    folded = [text.casefold() for text in texts]
    return all(any(word in text for text in folded) for word in words)


def highlights(words: Iterable[str], texts: Sequence[str]) -> list[str]:
    """Return the text around the first occurrence of each word, at most HIGHLIGHTS_MAX pieces.

    They are in the order of the texts. A word that an earlier piece shows has no piece of its own.
    A piece is cut out of its text unchanged, with CUT where the text goes on.

    >>> highlights(words_of("lisbon two"), ["Two nights", "Where in Lisbon?"])
    ['Two nights', 'Where in Lisbon?']
    """
    places = sorted(place for word in words if (place := _first(word, texts)) is not None)
    pieces: list[str] = []
    shown_of, shown_to = -1, 0
    for at, start, end in places:
        if at == shown_of and end <= shown_to:
            continue
        if len(pieces) == HIGHLIGHTS_MAX:
            break
        text = texts[at]
        first, last = max(0, start - AROUND_CHARACTERS), min(len(text), end + AROUND_CHARACTERS)
        pieces.append(CUT * (first > 0) + text[first:last] + CUT * (last < len(text)))
        shown_of, shown_to = at, last
    return pieces


def _first(word: str, texts: Iterable[str]) -> tuple[int, int, int] | None:
    """Return where the word first occurs: the number of the text, the start and the end in it."""
    for at, text in enumerate(texts):
        folded = text.casefold()
        start = folded.find(word)
        if start < 0:
            continue
        end = start + len(word)
        if len(folded) == len(text):  # no letter became shorter, so each is where it was
            return at, start, end
        sources = [place for place, letter in enumerate(text) for _ in letter.casefold()]
        return at, sources[start], sources[end - 1] + 1
    return None
