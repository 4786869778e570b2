"""`python -m forklore.local`: the local server. It needs the packages of the extra `local`."""

import os
import sys

from forklore.extras import from_extra

if __name__ == "__main__":
    with from_extra("local"):
        from forklore.local.server import main
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread cannot be stopped: a handler that hangs would keep the process alive
