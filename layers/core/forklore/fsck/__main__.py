"""`python -m forklore.fsck` is `forklore fsck`."""

import sys

from forklore.extras import from_extra

if __name__ == "__main__":
    with from_extra("cli"):
        from forklore.fsck.command import main
    sys.exit(main(["fsck", *sys.argv[1:]]))
