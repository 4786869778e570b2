"""The lease of a JOB: until when somebody is at work on it, or a message for it is on its way.

A time that cannot be read, or that lies further ahead than any worker lives, holds nobody up.
"""

from forklore.domain import ids
from forklore.domain.clock import OFFSET_MAX_MS
from forklore.storage import items
from forklore.storage.connection import Item

WORKER_SECONDS_MAX = 900
"""How long a worker can live: the bound of Lambda."""
ANNOUNCED_SECONDS = 900
"""How long a message that was sent is waited for before the next one. Three sweeps."""
_AHEAD_MS_MAX = max(WORKER_SECONDS_MAX, ANNOUNCED_SECONDS) * 1000 + OFFSET_MAX_MS


def lies_ahead(at: str | None, now_ms: int) -> bool:
    """Tell whether something lasts until `at`, as far as that can be so."""
    try:
        return at is not None and 0 < ids.milliseconds(at) - now_ms <= _AHEAD_MS_MAX
    except (TypeError, ValueError):
        return False


def is_awaited(job: Item, now_ms: int) -> bool:
    """Tell whether a JOB needs no message now: somebody is at work on it, or one is on its way."""
    return lies_ahead(items.leased_until(job), now_ms) or lies_ahead(items.announced_until(job), now_ms)


def check(job: Item) -> None:
    """Raise ValueError if a JOB's times cannot be read."""
    held, announced = items.leased_until(job), items.announced_until(job)
    if held is None:
        raise ValueError("a job does not say who holds it")
    for at in (held, announced or held):
        try:
            ids.milliseconds(at)
        except TypeError as error:  # a time without a zone
            raise ValueError("a job has a time without a zone") from error


def announced_from(now_ms: int) -> str:
    """Return until when a message that is sent now is waited for."""
    return ids.timestamp(now_ms + ANNOUNCED_SECONDS * 1000)
