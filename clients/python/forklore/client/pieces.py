"""The pieces of an answer: all that was written, and what of it the next part shows."""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from forklore.client import jsontext
from forklore.client.generated.limits import ELEMENTS_MAX, escaped_size
from forklore.client.messages import Said, message

PART_BYTES_MAX = 32_000
"""Of the content of a part, as `escaped_size` counts. The service takes a little more."""
TEXT_CHARACTERS_MAX = 2_500
"""Of one text in a part. A character has at most 12 bytes there."""
HALF = re.compile("[\\ud800-\\udfff]")
"""Half of a character beyond U+FFFF, such as an emoji. A model's piece may end behind the first."""
Piece = str | Mapping[str, Any]


class Pieces:
    """What was written of an answer. One thread may write while another one takes parts."""

    def __init__(self) -> None:
        self._written: list[Piece] = []
        self._unsent = deque[tuple[Piece, int]]()
        self._half = ""

    def add(self, said: Said) -> None:
        """Add a text, or parts as of `say`. Raises InputError for anything else.

        The first half of a character at the end of a text waits for the other half. An element that
        is too large for a part is in no part.

        >>> pieces = Pieces()
        >>> for said in ("smile \\ud83d", "\\ude00 end"):
        ...     pieces.add(said)
        >>> ascii(pieces.text())
        "'smile \\\\U0001f600 end'"
        """
        if isinstance(said, str):
            said = self._with_half(said)
        else:
            self.end()
        [told] = message("ai", said)
        pieces: list[Piece] = [said] if isinstance(said, str) else jsontext.copied(told["content"])
        sized = [
            (each, escaped_size(jsontext.write(each, "text")) + 1) for one in pieces for each in _cut(one)
        ]
        self._written += pieces
        self._unsent += [one for one in sized if one[1] <= PART_BYTES_MAX]

    def end(self) -> None:
        """Add half of a character that still waits, as U+FFFD."""
        if half := self._half:
            self._half = ""
            self.add(_whole(half))

    def _with_half(self, text: str) -> str:
        """Return the text behind the half that waits. One at its own end waits in its place."""
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _whole(text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return not any(self._written)

    @property
    def has_unsent(self) -> bool:
        """Whether there is something for the next part."""
        return bool(self._unsent)

    def next_part(self) -> list[Piece]:
        """Take as much of what is unsent as a part can hold.

        >>> pieces = Pieces()
        >>> for said in ("Casa ", "do Jardim.", [{"type": "image"}]):
        ...     pieces.add(said)
        >>> pieces.next_part(), pieces.next_part()
        (['Casa do Jardim.', {'type': 'image'}], [])
        """
        taken: list[Piece] = []
        left = PART_BYTES_MAX
        while self._unsent and len(taken) < ELEMENTS_MAX and self._unsent[0][1] <= left:
            piece, size = self._unsent.popleft()
            taken.append(piece)
            left -= size
        return _joined(taken)

    def text(self) -> str:
        """Return all texts."""
        return "".join(piece for piece in self._written if isinstance(piece, str))

    def said(self) -> Said:
        """Return what a message with all pieces says: its text, or its parts."""
        whole = _joined(self._written)
        if all(isinstance(piece, str) for piece in whole):
            return self.text()
        return [{"type": "text", "text": one} if isinstance(one, str) else one for one in whole]


def _whole(text: str) -> str:
    """Return the text with two halves as a character, and with U+FFFD for one without the other."""
    if not HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cut(piece: Piece) -> list[Piece]:
    if not isinstance(piece, str):
        return [piece]
    return [piece[at : at + TEXT_CHARACTERS_MAX] for at in range(0, len(piece), TEXT_CHARACTERS_MAX)]


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces, with texts that follow each other as one."""
    whole: list[Piece] = []
    for is_text, run in groupby(pieces, lambda one: isinstance(one, str)):
        held = list(run)
        whole += ["".join(map(str, held))] if is_text else held
    return whole
