"""Calls that a signal cannot end midway.

Python raises what a signal's handler raises, such as KeyboardInterrupt, in the main thread and
wherever that thread is at the moment. So what must not be left half done runs in another thread.

A signal may break `threading.Condition`, and with it `Thread.start` and `Future.result` where they
wait: they raise RuntimeError then. So the main thread waits for a bare lock only, and a bare thread
starts the other thread.
"""

import _thread
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

IDLE_SECONDS = 1.0
"""How long a thread waits for the next call before it ends."""
Result = TypeVar("Result")
Inbox = SimpleQueue[Callable[[], None]]
_IDLE: dict[int, list[Inbox]] = {}
"""The threads that wait for a call, by process: a process that was forked has none of them."""


def whole(call: Callable[[], Result]) -> Result:
    """Return what `call` returns, or raise what it raises.

    In the main thread: `call` runs in another thread. An exception that a signal raises is raised
    here at once, and `call` goes on to its end.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return call()
    outcome: Future[Result] = Future()
    done = _thread.allocate_lock()
    done.acquire()
    context = contextvars.copy_context()
    idle = _IDLE.setdefault(os.getpid(), [])

    def run() -> None:
        try:
            outcome.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            outcome.set_exception(error)

    begun: list[bool] = []

    def run_in_thread() -> None:
        begun.append(True)
        run()
        idle.append(inbox)
        done.release()

    try:
        inbox = idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        inbox.put(run_in_thread)
        try:
            _thread.start_new_thread(_start, (inbox, idle))
        except RuntimeError:  # there can be no more threads
            return call()
    else:
        try:
            inbox.put(run_in_thread)
        except BaseException:  # of a signal, before or after; without the call its thread is idle again
            inbox.put(lambda: None if begun else idle.append(inbox))
            raise
    done.acquire()
    return outcome.result()


def _start(inbox: Inbox, idle: list[Inbox]) -> None:
    """Start a thread that Python knows of. If there can be none, this one makes the calls."""
    thread = threading.Thread(target=_make_calls, args=(inbox, idle), name="forklore-call", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _make_calls(inbox, idle)


def _make_calls(inbox: Inbox, idle: list[Inbox]) -> None:
    """Make the calls of `inbox`, until none has come for IDLE_SECONDS."""
    while True:
        try:
            run = inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            try:
                idle.remove(inbox)
                return
            except ValueError:
                continue  # the main thread has taken it, and a call comes
        run()
        del run  # it holds what the call returned
