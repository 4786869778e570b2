"""What a search finds: the words of a query in texts, how well an entry fits, and what is shown of
it. Pure.

A word of a query is found where a word of the text begins with it: `night` in `nights`. What is
demanded is found wherever its letters occur. Upper and lower case are equal, by Unicode's full case
folding. Nothing else is: `e` and `é` are different letters.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

HIGHLIGHTS_MAX = 3
HIGHLIGHTED_WORDS_MAX = 10
"""Highlights are looked for around so many words of a query, its first ones."""
AROUND_CHARACTERS = 60
"""How much of a text a highlight shows on each side of a word."""
CUT = "…"
FOLDED_AT_ONCE = 4096
"""A place in a text is looked for in steps of so many characters."""
SATURATION, LENGTH_WEIGHT = 1.2, 0.75
"""The usual k1 and b of BM25."""
SCORE_DECIMALS = 4
_ESCAPED_IN_JSON = re.compile(r'["\\/\x08\s]')
"""What JSON may spell with a backslash and one more character, and white space."""
_PIECE = re.compile(r'\+?"(?P<quoted>[^"]*)"|\+(?P<demanded>\S+)|(?P<free>[^\s"]+|")')
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9d\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
"""Letters of scripts without spaces: Thai, Lao, Burmese, Khmer, kana, and Chinese characters."""
_INNER_OF_LETTERS, _INNER_OF_DIGITS = frozenset("'’.:·"), frozenset("'’.,;")
"""What a word may hold between two letters, or two digits. Source: UAX 29, WB6 to WB12."""


class Query(NamedTuple):
    """What to look for, in folded case, each once.

    demanded: what an entry must have, each at any place; white space stands for any white space.
    words: what it is ranked by. Without a demand it must have one of them.
    """

    demanded: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def query_of(text: str) -> Query:
    """Return the query that a text asks for: `+word` and `"some words"` are demanded.

    >>> query_of('Hotels in "Old  Town" +pool')
    Query(demanded=('old town', 'pool'), words=('hotels', 'in'))

    Text without words is looked for as it stands.

    >>> query_of("🫖"), query_of("?")
    (Query(demanded=(), words=('🫖',)), Query(demanded=(), words=('?',)))
    """
    demanded: dict[str, None] = {}
    words: dict[str, None] = {}
    for piece in _PIECE.finditer(fold(text)):
        if piece["free"] is not None:
            words |= dict.fromkeys(words_in(piece["free"]))
        else:
            demanded[" ".join((piece["quoted"] or piece["demanded"] or "").split())] = None
    demanded.pop("", None)
    if not demanded and not words:
        words = dict.fromkeys(fold(text).split())
    return Query(tuple(demanded), tuple(words))


def words_in(folded: str) -> list[str]:
    """Return the words of a text in folded case, as UAX 29 has them: letters, digits, marks, `_`.

    >>> words_in("o'neill's 3,5 well-known snake_case हिन्दी")
    ["o'neill's", '3,5', 'well', 'known', 'snake_case', 'हिन्दी']

    A symbol, such as an emoji, is a word of its own; punctuation is none. What has no spaces
    between its words is cut into pairs of letters.

    >>> words_in("tea🫖, 東京都 gehen!")
    ['tea', '🫖', '東京', '京都', 'gehen']
    """
    runs: list[str] = []
    before = ""
    for at, letter in enumerate(folded):
        kind = _kind(letter)
        if kind == "inner":
            is_inside = before in ("letter", "digit") and before == _kind(folded[at + 1 : at + 2])
            inner = _INNER_OF_LETTERS if before == "letter" else _INNER_OF_DIGITS
            kind = before if is_inside and letter in inner else ""
        goes_on = before in ("letter", "digit") and kind in ("letter", "digit")
        if kind and (goes_on or (kind == "pairs" == before)):
            runs[-1] += letter
        elif kind == "mark":
            if before:
                runs[-1] += letter
            kind = before
        elif kind:
            runs.append(letter)
        before = kind
    return [word for run in runs for word in _pairs(run)]


def _kind(letter: str) -> str:
    """Return what a letter is to a word; empty: nothing."""
    if letter in _INNER_OF_LETTERS | _INNER_OF_DIGITS:
        return "inner"
    if not letter:
        return ""
    if _NO_SPACES.match(letter):
        return "pairs"
    category = unicodedata.category(letter)
    if category[0] == "M" or letter in "\u200c\u200d":  # joiners
        return "mark"
    if category == "Nd":
        return "digit"
    if category[0] in "LN" or category == "Pc":
        return "letter"
    return "symbol" if category in ("So", "Sm", "Sc") else ""


def _pairs(run: str) -> Iterator[str]:
    if len(run) > 1 and _NO_SPACES.match(run):
        yield from map("".join, pairwise(run))
    else:
        yield run


def fold(text: str) -> str:
    """Return the text in folded case.

    >>> fold("In der STRASSE"), fold("in der Straße")
    ('in der strasse', 'in der strasse')
    """
    return text.casefold()


def _has_all(parts: Iterable[str], folded: Sequence[str]) -> bool:
    finders = map(_finder, parts)
    return all(any(finder.search(text) for text in folded) for finder in finders)


def may_fit(query: Query, json_text: str, folded: Sequence[str] = ()) -> bool:
    r"""Return False if the strings of JSON text, with other texts, surely do not fit the query.

    It needs not read the JSON. folded: the other texts, as of `fold`.

    >>> may_fit(query_of("+two/three +nights"), r'["Two\/three\nNIGHTS"]')
    True
    >>> may_fit(query_of("+four nights"), '["Two nights"]')
    False
    """
    if r"\u" in json_text:  # such an escape spells any character
        return True
    texts = [fold(json_text), *folded]
    wanted = (_ESCAPED_IN_JSON.split(part) for part in query.demanded or query.words)
    return (all if query.demanded else any)(_has_all(parts, texts) for parts in wanted)


@lru_cache(maxsize=1024)
def _finder(part: str) -> re.Pattern[str]:
    """Return a pattern that finds what is demanded.

    The time is linear in the text. That of `part in text` grows with the part, too.
    """
    return re.compile(r"\s+".join(map(re.escape, part.split())))


@lru_cache(maxsize=1024)
def _beginning(word: str) -> re.Pattern[str]:
    """Return a pattern that finds a word where a word begins; a pair or a symbol anywhere.

    The letters come first in it: the engine then looks for them fast, and behind them looks back.
    """
    letters = re.escape(word)
    is_word = _kind(word[0]) in ("letter", "digit")
    return re.compile(rf"{letters}(?<!\w{letters})" if is_word else letters)


class Fit(NamedTuple):
    """How often an entry has each word of a query, and how many characters it has."""

    counts: tuple[int, ...]
    characters: int

    @property
    def has_word(self) -> bool:
        return any(self.counts)


def fit(query: Query, folded: Sequence[str], *, needs_word: bool = True) -> Fit | None:
    """Return how an entry fits a query: None if it lacks what it must have.

    folded: as of `fold`. needs_word: whether it must have a word if nothing is demanded.

    >>> fit(query_of("night tea"), ["two nights, one night", "fortnight"])
    Fit(counts=(2, 0), characters=30)
    >>> fit(query_of("+rasse tea"), [fold("in der Straße")])
    Fit(counts=(0,), characters=14)
    >>> fit(query_of("rasse"), [fold("in der Straße")])
    """
    if not _has_all(query.demanded, folded):
        return None
    finders = map(_beginning, query.words)
    counts = tuple(sum(len(finder.findall(text)) for text in folded) for finder in finders)
    is_fit = query.demanded or any(counts) or not needs_word
    return Fit(counts, sum(map(len, folded))) if is_fit else None


def no_word(query: Query) -> Fit:
    """Return how an entry without a word of the query fits."""
    return Fit((0,) * len(query.words), 0)


class Weights(NamedTuple):
    """What scores are made of: of all entries that are ranked against each other.

    entries: how many there are. with_word: how many have a word. characters: of these together.
    having: for each word of the query, how many entries have it.
    """

    entries: int
    with_word: int
    characters: int
    having: tuple[int, ...]

    def fit(self, query: Query) -> bool:
        """Tell whether they can be the weights of a query's words."""
        most = max(self.having, default=0)
        return len(self.having) == len(query.words) and most <= self.with_word <= self.entries

    @property
    def of_words(self) -> tuple[float, ...]:
        """The weight of each word of the query: the rarer it is, the more."""
        return tuple(math.log(1 + (self.entries - one + 0.5) / (one + 0.5)) for one in self.having)


def weigh(query: Query, entries: int, fitting: Sequence[Fit]) -> Weights:
    """Return the weights of a query's words. entries: how many there are. fitting: as of `fit`."""
    with_word = [one for one in fitting if one.has_word]
    having = (sum(one.counts[at] > 0 for one in with_word) for at in range(len(query.words)))
    return Weights(entries, len(with_word), sum(one.characters for one in with_word), tuple(having))


def by_weight(query: Query, weights: Weights) -> Query:
    """Return the query with its rarest words first."""
    rarest = sorted(zip(weights.having, query.words, strict=True), key=lambda one: one[0])
    return query._replace(words=tuple(word for _, word in rarest))


def score(fit: Fit, weights: Weights) -> float:
    """Return how well an entry fits, by BM25: 0 without a word of the query.

    A length counts against the mean length of the entries that have a word.
    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).

    >>> score(Fit((2, 0), 30), Weights(entries=9, with_word=2, characters=60, having=(2, 1)))
    1.9062
    """
    mean = weights.characters / max(1, weights.with_word)
    long = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * fit.characters / max(1, mean)
    parts = (
        weight * count * (SATURATION + 1) / (count + SATURATION * long)
        for weight, count in zip(weights.of_words, fit.counts, strict=True)
        if count
    )
    return round(math.fsum(parts), SCORE_DECIMALS)


def highlights(query: Query, texts: Sequence[str], folded: Sequence[str]) -> list[str]:
    """Return the text around the first place of what is demanded, and of each word.

    At most HIGHLIGHTS_MAX pieces. Of both together only the first HIGHLIGHTED_WORDS_MAX are looked
    for. The pieces are in the order of the texts. A word that an earlier piece shows has no piece
    of its own. A piece is cut out of its text unchanged, with CUT where the text goes on.
    folded: the texts, as of `fold`. There may be further texts: they are not shown.

    >>> texts = ["Two nights", "Where in Lisbon?"]
    >>> highlights(query_of("lisbon two"), texts, [fold(text) for text in texts])
    ['Two nights', 'Where in Lisbon?']
    """
    shown = folded[: len(texts)]
    finders = [*map(_finder, query.demanded), *map(_beginning, query.words)]
    firsts = (_first(finder, shown) for finder in islice(finders, HIGHLIGHTED_WORDS_MAX))
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


def _first(finder: re.Pattern[str], folded: Sequence[str]) -> tuple[int, int, int] | None:
    """Return where a word first occurs: the number of the text, the start and the end in it."""
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
