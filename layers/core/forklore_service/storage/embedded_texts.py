"""How near texts are to a question, by any function that makes vectors of texts.

Vectors are kept in memory, by a digest of their text. What was erased no search reads any more, so
it is in no answer. Packed for the table, a number takes two bytes.
"""

import math
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from operator import mul
from typing import TypeAlias

from forklore_service.domain.meaning import PIECE_CHARACTERS, PIECES_MAX
from forklore_service.errors import TextRefusedError, UnavailableError

Embed: TypeAlias = Callable[[list[str]], Sequence[Sequence[float] | None]]
"""Returns a vector of each text, all of one length. None: it has none of this text, nor will have.
"""

TEXTS_AT_ONCE = 256
"""A function is asked for the vectors of at most so many texts at once."""
REMOTE_AT_ONCE = 16
"""The same of a model over the network. If it fails, no more answers than these are lost."""
KEPT_MAX = 50_000
"""So many vectors are kept; of 256 numbers they take 60 MB."""
Vector: TypeAlias = "array[float]"
"""Numbers of 4 bytes."""
ONE = 32_767
"""The number that stands for 1 in a packed vector, whose length is 1."""
PROBE = "Which of two models made a vector? 1 + 1"
"""What tells models apart: the vector that they make of this text."""


class EmbeddedTexts:
    """Compares the vectors of texts. Threads may share it.

    embed: makes them. name: of the model. is_remote: it is asked over the network, and its name
    says which one it is. is_named: its name says so, too, with the length of its vectors.
    of_questions: makes those of questions, if the model has another kind for them. kept_max: how
    many vectors are kept.
    """

    def __init__(
        self,
        embed: Embed,
        name: str,
        *,
        is_remote: bool = False,
        is_named: bool = False,
        of_questions: Embed | None = None,
        kept_max: int = KEPT_MAX,
    ) -> None:
        self._embed, self._name, self._kept_max = embed, name, kept_max
        self._of_questions = of_questions
        self.is_remote, self._is_named = is_remote, is_named
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._model: str | None = None
        self._length = 0  # of a vector; not known yet

    @property
    def model(self) -> str:
        """The name with a digest: any function may be called by one name, so of a vector, too."""
        if self._model is None:
            probe = b"" if self.is_remote else self._probe()
            cut = f"{PIECE_CHARACTERS} {PIECES_MAX} ".encode()
            self._model = f"{self._name}-{blake2b(cut + probe, digest_size=8).hexdigest()}"
        return self._model

    def _probe(self) -> bytes:
        """Return what tells the model apart from others of its name.

        Raises UnavailableError if that would be something else the next time: all vectors would be
        made again then, each time a program starts.
        """
        vector = self._vector_of(PROBE, None)
        if self._is_named:
            return str(len(vector)).encode()
        if [_packed(vector)] != [*map(_packed, self._made(self._embed, [PROBE]))]:
            raise UnavailableError(
                "the model of recall makes different vectors of one text; if they are near enough,"
                " name the function: set its attribute `model` to a text"
            )
        return _packed(vector)

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        return [_packed(one) for one in self._vectors(texts)]

    def asked(self, question: str) -> bytes:
        return _packed(self._question(question))

    def compare(self, question: str, packed: Sequence[bytes]) -> list[float]:
        asked = self._question(question)
        return _packed_products(asked, b"".join(packed))

    def near(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine of the question and each text; 0 for a text without a direction.

        Raises UnavailableError if the function raises, or returns what are no such vectors.
        """
        asked = self._question(question)
        others = [one or array("f", bytes(4 * len(asked))) for one in self._vectors(texts)]
        return _products(asked, others)

    def _question(self, question: str) -> Vector:
        return self._vector_of(question, self._of_questions)

    def _vector_of(self, text: str, embed: Embed | None) -> Vector:
        [vector] = self._vectors([text], embed)
        if not vector:
            raise TextRefusedError("the model of recall has no vector of what was asked")
        return vector

    def _vectors(self, texts: Sequence[str], of_questions: Embed | None = None) -> list[Vector]:
        """Return a vector of length 1, or of zeros, of each text; an empty one if it is refused."""
        embed, kind = (of_questions, b"question") if of_questions else (self._embed, b"")
        digests = [
            blake2b(text.encode(errors="surrogatepass"), digest_size=16, person=kind).digest()
            for text in texts
        ]
        with self._lock:
            known = {one: self._kept[one] for one in digests if one in self._kept}
        new = {one: text for one, text in zip(digests, texts, strict=True) if one not in known}
        wanted, at_once = list(new), REMOTE_AT_ONCE if self.is_remote else TEXTS_AT_ONCE
        for at in range(0, len(wanted), at_once):
            some = wanted[at : at + at_once]
            made = dict(zip(some, self._made(embed, [new[one] for one in some]), strict=True))
            known |= made
            self._keep(made)
        self._keep({one: known[one] for one in digests})
        return [known[one] for one in digests]

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors by the digests of their texts. Those that were used least lately go."""
        with self._lock:
            for digest, vector in vectors.items():
                self._kept[digest] = vector
                self._kept.move_to_end(digest)
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)

    def _made(self, embed: Embed, texts: list[str]) -> list[Vector]:
        try:
            told = [array("f", () if one is None else _numbers(one)) for one in embed(texts)]
        except UnavailableError:
            raise
        except Exception as error:
            raise UnavailableError(f"the model of recall failed: {type(error).__name__}") from error
        if len(told) != len(texts):
            raise UnavailableError("the model of recall did not return one vector of each text")
        lengths = {len(one) for one in told if one}
        length = self._length or max(lengths, default=0)
        if lengths - {length}:
            raise UnavailableError("the model of recall returned vectors of different lengths")
        self._length = length
        if not all(map(math.isfinite, chain(*told))):
            raise UnavailableError("the model of recall returned a vector that is no direction")
        return [_direction(one) for one in told]


def _numbers(vector: Sequence[float]) -> list[float]:
    """Raises ValueError if there are none."""
    if not len(vector):
        raise ValueError("an empty vector")
    return [*map(float, vector)]


def _products(one: Vector, others: Sequence[Vector]) -> list[float]:
    """Return the product of a vector and each of the others. numpy does it, if it is installed.

    >>> _products(array("f", [3, 4]), [array("f", [0, 1]), array("f", [1, 0])])
    [4.0, 3.0]
    """
    try:
        import numpy as np
    except ModuleNotFoundError:
        return [sum(map(mul, one, other)) for other in others]
    rows = np.frombuffer(b"".join(others), dtype="float32").reshape(len(others), len(one))
    products: list[float] = (rows @ np.frombuffer(one, dtype="float32")).tolist()
    return products


def _packed(vector: Vector) -> bytes:
    """Return a vector of length 1 as whole numbers of two bytes, the lower one first."""
    numbers = array("h", [round(ONE * number) for number in vector])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _packed_products(one: Vector, packed: bytes) -> list[float]:
    """Return the product of a vector and each of those that are packed.

    >>> _packed_products(array("f", [3, 4]), _packed(array("f", [0, 1, -1, 0])))
    [4.0, -3.0]
    """
    length = len(one)
    try:
        import numpy as np
    except ModuleNotFoundError:
        numbers = array("h")
        numbers.frombytes(packed)
        if sys.byteorder == "big":
            numbers.byteswap()
        starts = range(0, len(numbers), length)
        return [sum(map(mul, one, numbers[at : at + length])) / ONE for at in starts]
    rows = np.frombuffer(packed, dtype="<i2").reshape(-1, length)
    products: list[float] = (rows @ np.frombuffer(one, dtype="float32") / ONE).tolist()
    return products


def _direction(vector: Vector) -> Vector:
    """Return the vector with length 1; one without a direction stays.

    >>> _direction(array("f", [3, 0])), _direction(array("f", [0, 0]))
    (array('f', [1.0, 0.0]), array('f', [0.0, 0.0]))
    """
    length = math.hypot(*vector)
    return array("f", [number / length for number in vector]) if length else vector
