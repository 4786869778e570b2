"""The message for a missing package that one of forklore's extras installs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_CODE = 2


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context.

    If a package of another project is missing, raise a ModuleNotFoundError that names the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "forklore"):
            raise
        said = f"{missing} is not installed: pip install 'forklore[{extra}]'"
        raise ModuleNotFoundError(said, name=missing) from None


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context, for a command.

    If one is missing, write a line to standard error and raise SystemExit with EXIT_CODE.
    """
    try:
        with needing(extra):
            yield
    except ModuleNotFoundError as error:
        if error.name == "forklore" or not error.name or error.name.startswith("forklore."):
            raise
        sys.stderr.write(f"forklore: {error}\n")
        raise SystemExit(EXIT_CODE) from None
