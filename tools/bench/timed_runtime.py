"""Lambda's runtime client, which also says what it has cost so far, each time that it asks for an event.

Run as a script inside a function's runtime, in place of `python -m awslambdaric`. It writes lines of
`asked <milliseconds of CPU>` to the log, those of the process from its very start. The first stands where
the init ends.
"""

import os
import sys
import time
from importlib import import_module
from typing import Any

SAYS = "asked "


def main() -> None:
    runtime = import_module("awslambdaric.__main__")  # it is where the function runs, and not here
    wait = runtime.LambdaRuntimeClient.wait_next_invocation

    def say_and_wait(client: Any) -> Any:
        os.write(2, f"{SAYS}{time.process_time() * 1000:.2f}\n".encode())
        return wait(client)

    runtime.LambdaRuntimeClient.wait_next_invocation = say_and_wait
    runtime.main(sys.argv)


if __name__ == "__main__":
    sys.path[0] = ""  # as `python -m` has it: the function's own folder, not this one
    main()
