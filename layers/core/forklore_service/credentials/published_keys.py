"""The keys that an issuer publishes: fetched seldom, and usable for a while without the issuer."""

import json
import logging
import threading
from collections.abc import Callable, Collection
from typing import NamedTuple

from forklore_service.credentials.fetching import is_https_url
from forklore_service.credentials.issuer_keys import Key, KeySet, read_key_set
from forklore_service.errors import UnavailableError

DOCUMENT = "/.well-known/openid-configuration"
"""Source: OpenID Connect Discovery 1.0, section 4."""
FRESH_SECONDS = 600
KEPT_SECONDS = 3600
"""How long the keys are used after a fetch, if no newer ones are available."""
REFRESH_SECONDS = 60
"""The pause between two fetches while there are usable keys."""
RETRY_SECONDS = 5
"""The pause between two fetches while there are none, and so every user is refused."""
STEP_BACK_SECONDS = 30
"""How far the clock may be set back before the keys count as old."""
_log = logging.getLogger("forklore")


def published_keys(issuer: str, algorithms: Collection[str], fetch: Callable[[str], bytes]) -> KeySet:
    """Fetch and return the issuer's usable keys.

    fetch: returns the body at an https URL.
    Raises the exceptions of `fetch`, and ValueError for a document of another issuer or no key set.
    """
    try:
        document = json.loads(fetch(issuer.rstrip("/") + DOCUMENT))
    except RecursionError:
        raise ValueError("the issuer's document nests too deep") from None
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("the issuer's document is another issuer's")
    keys_url = document.get("jwks_uri")
    if not isinstance(keys_url, str) or not is_https_url(keys_url):
        raise ValueError("the issuer's document names no https address of keys")
    return read_key_set(fetch(keys_url), algorithms)


class _Kept(NamedTuple):
    keys: KeySet
    at: float


class KeptKeys:
    """The keys that `load` returns. Of several threads, one loads and the others use the old keys.

    load: raises OSError or ValueError if the keys are not available. now: returns the time in
    seconds of the wall clock. A monotonic clock may stop while Lambda freezes the process.
    """

    def __init__(self, load: Callable[[], KeySet], *, now: Callable[[], float]) -> None:
        self._load = load
        self._now = now
        self._kept: _Kept | None = None
        self._tried_at: float | None = None
        self._loading = threading.Lock()

    def find(self, kid: str, algorithm: str) -> Key | None:
        """Return the key with that id and algorithm, None if the issuer has no such key.

        Raises UnavailableError if the issuer's keys are not available.
        """
        kept = self._usable()
        if kept is None or not self._is_younger(kept.at, FRESH_SECONDS) or (kid, algorithm) not in kept.keys:
            kept = self._refreshed()
        return kept.keys.get((kid, algorithm))

    def _refreshed(self) -> _Kept:
        """Return the keys, after loading them again.

        They are not loaded shortly after the last attempt, or while another thread loads them.
        """
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
            self._tried_at = self._now()  # set last, so that a waiting thread does not load again

    def _usable(self) -> _Kept | None:
        kept = self._kept
        return kept if kept is not None and self._is_younger(kept.at, KEPT_SECONDS) else None

    def _is_due(self) -> bool:
        wait = RETRY_SECONDS if self._usable() is None else REFRESH_SECONDS
        return self._tried_at is None or not self._is_younger(self._tried_at, wait)

    def _is_younger(self, at: float, seconds: float) -> bool:
        """Tell whether `at` is less than `seconds` ago. No, if the clock was set far back since."""
        return -STEP_BACK_SECONDS <= self._now() - at < seconds
