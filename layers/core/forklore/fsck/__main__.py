"""`python -m forklore.fsck` is `forklore fsck`."""

import sys

from forklore.fsck.command import main

if __name__ == "__main__":
    sys.exit(main(["fsck", *sys.argv[1:]]))
