"""How near texts are to a question in meaning. A model of language tells it, from outside. Pure."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

PIECE_CHARACTERS = 1_500
PIECES_MAX = 8
"""Of an entry so many pieces are compared with the question. The rest is found by words."""
SCORE_DECIMALS = 4
CURVE = 0.25
"""The power of each part of a score. From 0.15 to 0.35 it makes no difference that was measured."""
_MARKS = re.compile(r'(?<!\S)\+|"')


class Nearness(Protocol):
    """A model of language."""

    @property
    def model(self) -> str:
        """What tells it from every other model, also of its own name. No vectors or scores of two
        are ever compared.

        Raises UnavailableError if the model does not answer.
        """
        ...

    @property
    def is_remote(self) -> bool:
        """Whether each text is paid for and takes a request. So only what is stored is compared."""
        ...

    def near(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how near each text is to the question: 1 at most, -1 at least.

        Raises UnavailableError if the model does not answer.
        """
        ...

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text, packed; empty for a text that the model refuses.

        All others of one `model` are equally long. Raises UnavailableError if the model does not
        answer.
        """
        ...

    def asked(self, question: str) -> bytes:
        """Return the vector of a question, packed as those of texts. Raises UnavailableError."""
        ...

    def compare(self, question: str, packed: Sequence[bytes]) -> Sequence[float]:
        """Return how near each of these vectors is to the question, as `near` does.

        packed: any number of vectors each, of this `model`. Raises UnavailableError if the model
        does not answer.
        """
        ...


def question_in(query: str) -> str:
    """Return the text of a query, without the marks of what it demands.

    >>> question_in('what of "the hotel" +lisbon 1+1')
    'what of the hotel lisbon 1+1'
    """
    return " ".join(_MARKS.sub(" ", query).split())


def pieces_of(texts: Sequence[str], indexed: str | None) -> list[str]:
    """Return the pieces of an entry that are compared with a question.

    texts: what the entry holds. indexed: what it is found by, which then alone counts.

    >>> pieces_of(["Two nights.", " "], None), pieces_of(["%PDF"], "a bill"), pieces_of([], None)
    (['Two nights.'], ['a bill'], [])
    >>> [len(piece) for piece in pieces_of(["a" * 1_600], None)]
    [1500, 100]
    """
    whole = indexed or "\n".join(text for text in texts if text.strip())
    starts = range(0, min(len(whole), PIECES_MAX * PIECE_CHARACTERS), PIECE_CHARACTERS)
    pieces = (whole[at : at + PIECE_CHARACTERS] for at in starts)
    return [piece for piece in pieces if piece.strip()]


class Scale(NamedTuple):
    """What scores by meaning and words are made of: of the entries that are ranked first.

    best: the best score by words. nearest: how near the nearest entry is. furthest: how near the
    furthest one is, if they are as many as are ranked together, else 0.
    """

    best: float = 0.0
    nearest: float = 0.0
    furthest: float = 0.0


def score(near: float, words: float, scale: Scale) -> float:
    """Return how well an entry fits by meaning and by words together: 2 at most.

    words: its score by words. Each of both is a part of its range; what is further than that is
    below 0. Of two entries that are good at the one, that one comes first which is not bad at the
    other, so small parts count for much. It needs no ranks, so the score of an entry is the same on
    each page.
    Source: Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval (2023).

    >>> score(0.5, 2.0, Scale(best=2.0, nearest=0.5)), score(0.1, 0.0, Scale(0.0, 0.5, 0.3))
    (2.0, -0.2)
    """
    span, above = scale.nearest - scale.furthest, near - scale.furthest
    meant = math.pow(min(above / span, 1.0), CURVE) if above > 0 < span else min(above, 0.0)
    said = math.pow(words / scale.best, CURVE) if words > 0 < scale.best else 0.0
    return round(meant + said, SCORE_DECIMALS)
