"""A model that knows a few topics, for tests of recall by meaning."""

import math
from collections.abc import Sequence

from forklore_service.storage.embedded_texts import EmbeddedTexts
from forklore_service.storage.schema import DIMENSIONS

TOPICS = {"hotel": 0, "inn": 0, "lodging": 0, "fish": 1, "sardine": 1, "train": 2, "railway": 2}


class Model:
    """Makes vectors of texts. asked: all texts that it was shown. error: what it raises. refused:
    of what it makes none.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.refused = set[str]()

    def __call__(self, texts: list[str]) -> list[list[float] | None]:
        if self.error is not None:
            raise self.error
        self.asked += texts
        return [None if text in self.refused else vector_of(text) for text in texts]


def vectors_of(texts: list[str]) -> list[list[float]]:
    """Return the vector of each text."""
    return [vector_of(text) for text in texts]


def vector_of(text: str) -> list[float]:
    """Return how often a text names each topic, and a little that all texts have.

    It is as long as the vectors of an index.
    """
    vector = [0.0, 0.0, 0.0, 0.1, *[0.0] * (DIMENSIONS - 4)]
    for word in text.lower().replace(".", " ").replace("?", " ").split():
        if word in TOPICS:
            vector[TOPICS[word]] += 1
    return vector


def cosine(one: str, other: str) -> float:
    """Return how near two texts are."""
    left, right = vector_of(one), vector_of(other)
    return sum(a * b for a, b in zip(left, right, strict=True)) / math.hypot(*left) / math.hypot(*right)


def by_length(texts: list[str]) -> Sequence[Sequence[float]]:
    """Return vectors as another model makes them."""
    return [[1.0, float(len(text))] for text in texts]


def nearness(model: Model | None = None) -> EmbeddedTexts:
    """Return what a table asks."""
    return EmbeddedTexts(model or Model(), "topics")
