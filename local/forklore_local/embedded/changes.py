"""Failures as lines for people, in programs that have set up no logging.

Python itself would write the bare name of the event to stderr.
"""

import logging
import sys

LOGGER = "forklore"
EVENTS = {
    "bug": "an error of ours: {type} in {frame}",
    "failed": "work in the background failed: {type} in {frame}; a later run tries it again",
}
"""What is said of each event that is logged in this process."""


class _Telling(logging.Handler):
    """Writes a line to stderr, if nothing else handles the record. It holds no content."""

    def emit(self, record: logging.LogRecord) -> None:
        if _others_handle(record.name, self):
            return
        frames = getattr(record, "frames", None) or ["an unknown place"]
        fields = record.__dict__ | {"frame": frames[-1]}
        sentence = EVENTS.get(record.getMessage(), record.getMessage())
        try:
            sys.stderr.write(f"forklore: {sentence.format_map(fields)}\n")
        except Exception:  # noqa: BLE001 (as every handler does)
            self.handleError(record)


def tell() -> None:
    """Let failures be told. Calling this again changes nothing."""
    logger = logging.getLogger(LOGGER)
    if not any(isinstance(handler, _Telling) for handler in logger.handlers):
        logger.addHandler(_Telling(logging.WARNING))


def _others_handle(name: str, own: logging.Handler) -> bool:
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(handler is not own for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
