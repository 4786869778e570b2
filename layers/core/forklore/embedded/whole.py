"""Calls that a signal cannot end midway.

Python raises what a signal's handler raises, such as KeyboardInterrupt, in the main thread and
wherever that thread is at the moment. So what must not be left half done runs in another thread.
"""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def whole(call: Callable[[], Result]) -> Result:
    """Return what `call` returns, or raise what it raises.

    In the main thread: `call` runs in a thread of its own. An exception that a signal raises is
    raised here at once, and `call` goes on to its end. Python waits for it before it exits.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            outcome.set_exception(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="forklore-call", daemon=False)
    try:
        thread.start()
    except RuntimeError:  # the process ends, and starts no thread any more
        return call()
    return outcome.result()
