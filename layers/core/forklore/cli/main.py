"""The console script `forklore`. It needs the packages of the extra `cli`."""

from forklore.extras import from_extra


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    with from_extra("cli"):
        from forklore.cli.app import make_app
    make_app()(prog_name="forklore")
