"""The console script `forklore`. It needs the packages of the extra `cli`."""

from forklore.extras import from_extra


def main() -> int:
    """Run the command that the arguments name; return its exit code.

    Raises SystemExit for bad arguments, and if the extra `cli` is not installed.
    """
    with from_extra("cli"):
        from forklore.fsck.command import main as run
    return run()
