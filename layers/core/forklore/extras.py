"""What is said when a package is missing that one of forklore's extras installs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_CODE = 2


@contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import packages of an extra inside this context.

    Raises SystemExit with EXIT_CODE, after a line on standard error that names the extra, if a package
    of another project is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "forklore"):
            raise
        sys.stderr.write(f"forklore: {missing} is not installed: pip install 'forklore[{extra}]'\n")
        raise SystemExit(EXIT_CODE) from None
