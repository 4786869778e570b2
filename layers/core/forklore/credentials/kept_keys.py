"""The issuer's keys as this process keeps them: fetched seldom, good for a while when the issuer is not."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from forklore.credentials.issuer_keys import Key, KeySet
from forklore.errors import UnavailableError

FRESH_SECONDS = 600
KEPT_SECONDS = 3600
"""How long after they were fetched the keys are used, when no newer ones can be had."""
REFRESH_SECONDS = 60
"""Between two fetches, while there are keys to use."""
RETRY_SECONDS = 5
"""Between two fetches, while there are none, so that nobody at all can be let in."""
STEP_BACK_SECONDS = 30
"""How far the clock may be set back without the keys being taken for old ones."""
_log = logging.getLogger("forklore")


@dataclass(frozen=True, slots=True)
class _Kept:
    keys: KeySet
    at: float


class KeptKeys:
    """The keys that `load` returns, for many threads: one of them loads, and the others use what there is.

    load: raises OSError or ValueError if the keys cannot be had. now: the time in seconds, by the wall clock:
    a monotonic one may stand still while Lambda freezes the process.
    """

    def __init__(self, load: Callable[[], KeySet], *, now: Callable[[], float]) -> None:
        self._load = load
        self._now = now
        self._kept: _Kept | None = None
        self._tried_at: float | None = None
        self._loading = threading.Lock()

    def find(self, kid: str, algorithm: str) -> Key | None:
        """Return the key of that id and algorithm, None if the issuer has none.

        Raises UnavailableError if there are no keys to look in.
        """
        kept = self._usable()
        if kept is None or not self._is_younger(kept.at, FRESH_SECONDS) or (kid, algorithm) not in kept.keys:
            kept = self._refreshed()
        return kept.keys.get((kid, algorithm))

    def _refreshed(self) -> _Kept:
        """Return the keys, loaded anew unless that was tried a moment ago or another thread is at it."""
        if self._loading.acquire(blocking=self._usable() is None):
            try:
                if self._is_due():
                    self._try_to_load()
            finally:
                self._loading.release()
        kept = self._usable()
        if kept is None:
            raise UnavailableError("the issuer's keys cannot be had")
        return kept

    def _try_to_load(self) -> None:
        try:
            self._kept = _Kept(self._load(), self._now())
        except (OSError, ValueError) as error:
            _log.error("the issuer's keys cannot be had", extra={"type": type(error).__name__})
        finally:
            self._tried_at = self._now()  # only now: who waited meanwhile must not try at once

    def _usable(self) -> _Kept | None:
        kept = self._kept
        return kept if kept is not None and self._is_younger(kept.at, KEPT_SECONDS) else None

    def _is_due(self) -> bool:
        wait = RETRY_SECONDS if self._usable() is None else REFRESH_SECONDS
        return self._tried_at is None or not self._is_younger(self._tried_at, wait)

    def _is_younger(self, at: float, seconds: float) -> bool:
        """Tell whether less than so many seconds have gone by; not, if the clock was set far back since."""
        return -STEP_BACK_SECONDS <= self._now() - at < seconds
