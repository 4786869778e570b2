"""The message for a missing package that one of forklore's extras installs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_CODE = 2


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context.

    If a package of another project is missing, write a line that names the extra to standard error
    and raise SystemExit with EXIT_CODE.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "forklore"):
            raise
        sys.stderr.write(f"forklore: {missing} is not installed: pip install 'forklore[{extra}]'\n")
        raise SystemExit(EXIT_CODE) from None
