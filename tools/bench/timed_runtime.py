"""Lambda's runtime client, which also logs its CPU time each time that it asks for an event.

It runs as a script inside a function's runtime, in place of `python -m awslambdaric`. It logs lines
such as `asked 311.20`: the milliseconds of CPU since the process started. The first line is the end
of the init.
"""

import os
import sys
import time
from importlib import import_module
from typing import Any

SAYS = "asked "


def main() -> None:
    runtime = import_module("awslambdaric.__main__")  # installed in the function's environment only
    wait = runtime.LambdaRuntimeClient.wait_next_invocation

    def say_and_wait(client: Any) -> Any:
        os.write(2, f"{SAYS}{time.process_time() * 1000:.2f}\n".encode())
        return wait(client)

    runtime.LambdaRuntimeClient.wait_next_invocation = say_and_wait
    runtime.main(sys.argv)


if __name__ == "__main__":
    sys.path[0] = ""  # as with `python -m`: the function's folder, not this one
    main()
