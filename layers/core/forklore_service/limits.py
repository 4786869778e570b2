"""What the service takes and answers at most, and the packing of values within bounds.

Every room may import this module, also those that run at the caller. A bound that only one room
knows stays in that room.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from json.encoder import encode_basestring_ascii
from typing import TypeVar

ENTRY_BYTES_MAX = 2_500_000
"""Of one entry's content, as `escaped_size` counts."""
ESCAPED_BYTES_MAX = 12
"""Of a character, as `escaped_size` counts."""
ELEMENTS_MAX = 1_000
"""Of one entry's content."""
APPEND_ENTRIES_MAX = 50
"""Of one append, and of one merge."""
FORKS_AT_ONCE = 10
PAGE_ENTRIES_MAX = 1_000
PAGE_BYTES_MAX = 5_000_000
"""Of the content of a page and of an append, which is answered as a whole."""
BODY_CHARACTERS_MAX = 5_500_000
"""A longer body is refused before it is read. An answer holds at most 5 MB of content."""
DEPTH_MAX = 64
"""Levels of arrays and objects in a body."""
KEY_CHARACTERS_MAX = 128
"""Of the key of an entry."""
IDEMPOTENCY_KEY_CHARACTERS_MAX = 255
NAME_BYTES_MAX = 255
TITLE_CHARACTERS_MAX = 500
METADATA_BYTES_MAX = 16 * 1024
SCORES_AT_ONCE = 40
ATTACHMENT_BYTES_MAX = 100_000_000
ATTACHMENT_INLINE_BYTES_MAX = 999_999
"""Of an attachment that is sent in the request, where three bytes are four letters."""
ATTACHMENTS_PER_ENTRY_MAX = 10
ATTACHMENT_NAME_BYTES_MAX = 255
NOTE_CHARACTERS_MAX = 2_000
"""So that a page of 200 fits into an answer."""
NOTE_SCORE_MAX = 1_000_000_000
NOTES_PER_ENTRY_MAX = 100
LINK_DAYS_MAX = 365
LINKS_MAX = 100
"""Of one fork tree: links for readers that have not ended."""
LINK_REQUESTS_PER_MINUTE = 600
"""By one link, where a deployment has no limit of the requests of a user."""
WAIT_SECONDS_MAX = 20
"""How long a request may ask to be held until its answer is another one. Lambda holds none."""
PINS_MAX = 50
"""Of one user."""
RETENTION_DAYS_MAX = 36_500
"""A hundred years. The parameter of the template has the same bound, as for the next one."""
DELETED_DAYS_MAX = 365

T = TypeVar("T")


def escaped_size(text: str) -> int:
    """Return the bytes of `text` inside a JSON string in ASCII, as Lambda's answer carries it.

    >>> escaped_size('["é"]')
    12
    """
    return len(encode_basestring_ascii(text)) - 2


def packs(
    values: Iterable[T], most: Sequence[int], figures: Callable[[T], Sequence[int]]
) -> Iterator[list[T]]:
    """Yield the values in order in packs, each as large as possible.

    figures: what a value counts. most: the most that each of these may sum up to in a pack. A value
    that is larger alone is a pack alone.

    >>> list(packs([4, 3, 3, 9, 1, 1, 1], (2, 7), lambda n: (1, n)))
    [[4, 3], [3], [9], [1, 1], [1]]
    """
    pack: list[T] = []
    sums: Sequence[int] = ()
    for value in values:
        own = figures(value)
        sums = [a + b for a, b in zip(sums, own, strict=True)] if pack else own
        if pack and any(a > b for a, b in zip(sums, most, strict=True)):
            yield pack
            pack, sums = [], own
        pack.append(value)
    if pack:
        yield pack
