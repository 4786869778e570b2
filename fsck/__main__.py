"""`python -m fsck` is `forklore fsck`."""

import sys

from fsck.command import main

if __name__ == "__main__":
    sys.exit(main(["fsck", *sys.argv[1:]]))
