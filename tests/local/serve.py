"""`python -m tests.local.serve FOLDER …`: the local server, on the sample project in a folder.

The other arguments are the server's own.
"""

import os
import sys

from forklore.local.server import main
from tests.local.project import FUNCTIONS

if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    status = main(lambda: FUNCTIONS)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
