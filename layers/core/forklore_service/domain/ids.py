"""Entry ids and logical time: an entry id is a position.

An entry id is a UUIDv7 (RFC 9562, section 5.7) whose 48-bit milliseconds are the entry's
`createdAt`. Read as a number without its fixed version and variant bits it has 122 bits; string
order, number order and time order are one order. Nothing here reads a clock or makes randomness:
both are arguments.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

EntryId = NewType("EntryId", str)
"""A lower-case UUIDv7 between FIRST and LAST."""

RANDOM_BITS = 74
STEP_MAX = 1 << 32
MILLISECONDS_MAX = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: later years do not fit the fixed width of `createdAt`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOW = (1 << 62) - 1
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_uuid(text: str) -> bool:
    """Tell whether `text` is a UUID of any version, spelled in lower case with hyphens."""
    return _UUID.fullmatch(text) is not None


def _of_number(number: int) -> EntryId:
    milliseconds, random = number >> RANDOM_BITS, number & ((1 << RANDOM_BITS) - 1)
    assert 0 <= milliseconds <= MILLISECONDS_MAX, "logical time has left the year 9999"
    value = milliseconds << 80 | 7 << 76 | random >> 62 << 64 | 0b10 << 62 | random & _LOW
    return spelled(f"{value:032x}")


def spelled(digits: str) -> EntryId:
    """Return the id with these 32 hexadecimal digits. uuid.UUID takes three times as long.

    >>> spelled("019ca8adfa2070008000000000000005")
    '019ca8ad-fa20-7000-8000-000000000005'
    """
    return EntryId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")


def _number(entry_id: EntryId) -> int:
    value = int(entry_id.replace("-", ""), 16)
    return value >> 80 << RANDOM_BITS | (value >> 64 & 0xFFF) << 62 | value & _LOW


FIRST: EntryId = _of_number(0)
"""Before every entry: the floor of a conversation that inherits nothing."""

LAST: EntryId = _of_number((MILLISECONDS_MAX + 1 << RANDOM_BITS) - 1)
"""After every entry: the open end of a conversation's own segment."""


def is_entry_id(text: str) -> bool:
    """Tell whether `text` could be the id of an entry, so that it has a position."""
    return is_uuid(text) and text[14] == "7" and text[19] in "89ab" and FIRST <= text < LAST


def fresh_id(now_ms: int, random: int) -> EntryId:
    """Return the id for `now_ms`, milliseconds since 1970. random: an integer of RANDOM_BITS bits.

    >>> fresh_id(1_772_356_500_000, 5)
    '019ca8ad-fa20-7000-8000-000000000005'
    """
    assert 0 <= random < 1 << RANDOM_BITS, random
    return _of_number(now_ms << RANDOM_BITS | random)


def next_id(after: EntryId, step: int = 1) -> EntryId:
    """Return the id `step` (1 to STEP_MAX) places after `after`, carried into the milliseconds.

    >>> next_id(EntryId('019ca8ad-fa20-7fff-bfff-ffffffffffff'))
    '019ca8ad-fa21-7000-8000-000000000000'
    """
    assert 1 <= step <= STEP_MAX, step
    return _of_number(_number(after) + step)


def moved_id(entry_id: EntryId, by: int) -> EntryId:
    """Return the id `by` places after another one. Moved by the same, ids keep their order.

    by: less than 2 ** RANDOM_BITS. So the time moves by a millisecond at most.

    >>> moved_id(EntryId('019ca8ad-fa20-7fff-bfff-ffffffffffff'), 2)
    '019ca8ad-fa21-7000-8000-000000000001'
    """
    assert 0 <= by < 1 << RANDOM_BITS, by
    return _of_number(_number(entry_id) + by)


def previous_id(before: EntryId) -> EntryId:
    """Return the id one place before `before`, which is not FIRST.

    >>> previous_id(EntryId('019ca8ad-fa21-7000-8000-000000000000'))
    '019ca8ad-fa20-7fff-bfff-ffffffffffff'
    """
    return _of_number(_number(before) - 1)


def mint_id(now_ms: int, *, last: EntryId, random: int, step: int) -> EntryId:
    """Return the id of a new entry: now, or a step after `last`, whichever is later.

    last: the conversation's last id. So entries are acknowledged, stored and read in one order,
    whatever the clocks say.
    """
    return max(fresh_id(max(now_ms, 0), random), next_id(last, step))


def milliseconds_of(entry_id: EntryId) -> int:
    """Return the id's milliseconds since 1970."""
    return int(entry_id[:8] + entry_id[9:13], 16)


def timestamp(milliseconds: int) -> str:
    """Return RFC 3339 in UTC with three decimals: only a fixed width sorts.

    >>> timestamp(1_772_356_500_000)
    '2026-03-01T09:15:00.000Z'
    """
    minutes, within = divmod(milliseconds, 60_000)
    return f"{_minute(minutes)}:{within // 1000:02}.{within % 1000:03}Z"


@lru_cache(1_000)
def _minute(minutes: int) -> str:
    return (_EPOCH + timedelta(minutes=minutes)).isoformat()[: len("2026-03-01T09:15")]


def created_at(entry_id: EntryId) -> str:
    return timestamp(milliseconds_of(entry_id))


def milliseconds(at: str) -> int:
    """Return the milliseconds since 1970 of a `timestamp`."""
    return (datetime.fromisoformat(at) - _EPOCH) // timedelta(milliseconds=1)


def is_timestamp(at: str) -> bool:
    """Tell whether a text is a `timestamp`.

    >>> is_timestamp("2026-03-01T09:15:00.000Z"), is_timestamp("2026-02-30T09:15:00.000Z")
    (True, False)
    """
    try:
        return (
            len(at) == len("2026-03-01T09:15:00.000Z") and at[-1] == "Z" and timestamp(milliseconds(at)) == at
        )
    except ValueError:
        return False
