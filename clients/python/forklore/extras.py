"""The message for a missing package that one of forklore's extras installs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_CODE = 2


class MissingExtraError(ModuleNotFoundError):
    """A package is not installed. The message is one line, which names the extra."""


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context.

    Raises MissingExtraError if a package of another project is missing.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "forklore", "forklore_local", "forklore_service"):
            raise
        said = f"{missing} is not installed: pip install 'forklore[{extra}]'"
        raise MissingExtraError(said, name=missing) from None


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context, for a command.

    If one is missing, write a line to standard error and raise SystemExit with EXIT_CODE.
    """
    try:
        with needing(extra):
            yield
    except MissingExtraError as error:
        sys.stderr.write(f"forklore: {error}\n")
        raise SystemExit(EXIT_CODE) from None
