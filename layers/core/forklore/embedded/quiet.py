"""Keeps what callers wrote out of botocore's log.

At DEBUG botocore logs each request and each answer, and a user may log everything at DEBUG. The
calls of our clients are left out of botocore's log. Those of other clients are logged as before.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOGGERS = "botocore"
_here = threading.local()


class QuietCalls:
    """Comes before botocore's own class in a client's bases. Its calls are not logged."""

    def _make_api_call(self, operation_name: str, api_params: Any) -> Any:
        with quiet():
            return super()._make_api_call(operation_name, api_params)  # type: ignore[misc]


def make_quiet(**event: Any) -> None:
    """Make the calls of a client quiet: a handler of botocore's event `creating-client-class`."""
    event["base_classes"].insert(0, QuietCalls)
    for name in (LOGGERS, *list(logging.root.manager.loggerDict)):
        if name == LOGGERS or name.startswith(f"{LOGGERS}."):
            logging.getLogger(name).addFilter(_is_wanted)  # a filter is added once only


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what this thread logs with botocore's loggers inside this context."""
    depth = getattr(_here, "depth", 0)
    _here.depth = depth + 1
    try:
        yield
    finally:
        _here.depth = depth


def _is_wanted(_record: logging.LogRecord) -> bool:
    return getattr(_here, "depth", 0) == 0
