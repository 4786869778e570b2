"""`python -m forklore_local.server.calling MODULE:FUNCTION`: call a function with events.

Each line of the standard input is `{"call": N, "event": …}`. Each call is answered by a line
`{"call": N}`, with `"failure"` if the function raised. The first answer, of call 0, says whether
the function was imported. The process ends when its input closes: at the latest when the process
that started it ends, however it ends.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

Function = Callable[[Any], Any]


def main(named: str) -> None:
    """Answer calls until the input closes."""
    answers = _take_stdout()
    one_at_a_time = threading.Lock()

    def answer(number: int, failure: str | None) -> None:
        line = {"call": number} if failure is None else {"call": number, "failure": failure}
        with one_at_a_time:
            print(json.dumps(line), file=answers, flush=True)

    try:
        function = find(named)
    except Exception as error:  # noqa: BLE001 (whatever the module raises)
        if not isinstance(error, ImportError | AttributeError):
            traceback.print_exc()
        answer(0, f"{type(error).__name__}: {error}")
        return
    answer(0, None)

    def take(asked: dict[str, Any]) -> None:
        answer(asked["call"], call(function, asked["event"]))

    for line in sys.stdin:
        threading.Thread(target=take, args=[json.loads(line)], daemon=True).start()
    os._exit(0)  # a function that hangs must not keep the process


def find(named: str) -> Function:
    """Import a function by `module:function`.

    Raises ImportError, AttributeError, and whatever the module raises.
    """
    module, _, path = named.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in path.split("."):
        found = getattr(found, attribute)
    if not callable(found):
        raise AttributeError(f"{named} is no function")
    function: Function = found
    return function


def call(function: Function, event: Any) -> str | None:
    """Call a function and wait for it; return the name of what it raised, if it did.

    The traceback goes to the standard error: the function is the user's own.
    """
    try:
        made = function(event)
        if inspect.isawaitable(made):
            asyncio.run(_awaited(made))
    except BaseException as error:  # noqa: BLE001 (SystemExit, too, must not end the process)
        traceback.print_exc()
        return type(error).__name__
    return None


async def _awaited(made: Any) -> None:
    await made


def _take_stdout() -> IO[str]:
    """Return the standard output, for answers. What is printed goes to the standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


if __name__ == "__main__":
    main(*sys.argv[1:])
