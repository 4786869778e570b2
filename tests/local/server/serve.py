"""`python -m tests.local.server.serve FOLDER …`: the local server, on the sample project there.

The other arguments are the server's own.
"""

import os
import sys

from forklore_local.server.server import main
from tests.local.server.project import FUNCTIONS

if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    status = main(lambda: FUNCTIONS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
