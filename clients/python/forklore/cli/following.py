"""Entries that are shown as they come, until Ctrl+C, or until nobody reads the output any more."""

import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from forklore.cli.entries import show_entries
from forklore.cli.output import Output
from forklore.client.generated.results import AnswerLog, Entry
from forklore.client.parts import is_shown


def show_as_they_come(
    out: Output, news: Iterable[Entry | AnswerLog], *, oneline: bool, is_whole: bool
) -> None:
    """Show entries, each at once, with `--json` also the parts of answers in progress.

    is_whole: also entries of programs that have no text.
    Raises BrokenPipeError when the reader of the output leaves.
    """
    with _ended_by_reader():
        if out.is_json:
            for one in news:
                out.result(one)
                out.flush()
            return
        entries = (one for one in news if isinstance(one, Entry) and (is_whole or is_shown(one)))
        show_entries(out, entries, oneline=oneline, at_once=True)


@contextmanager
def _ended_by_reader() -> Iterator[None]:
    """Raise BrokenPipeError in the block when the reader of the standard output leaves.

    A write would raise it, too, but the block may wait for long before it writes.
    """
    main, has_left, is_over = threading.get_ident(), threading.Event(), threading.Event()
    deciding = threading.Lock()

    def look() -> None:
        poller.poll()
        with deciding:
            if not is_over.is_set():
                has_left.set()
                signal.pthread_kill(main, signal.SIGINT)  # it ends a call that waits

    with suppress(OSError, AttributeError):  # no such output, or no such call on this system
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)  # errors are told in any case
        threading.Thread(target=look, name="forklore-reader", daemon=True).start()
    try:
        try:
            yield
        finally:
            with deciding:
                is_over.set()
    except KeyboardInterrupt:
        if has_left.is_set():
            raise BrokenPipeError from None
        raise
