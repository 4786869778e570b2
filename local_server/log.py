"""Lines on standard error that show where something failed and nothing of what it worked on."""

import sys
import traceback


def frames(error: BaseException | None) -> str:
    """Return the stack frames and the types of an exception and its causes, without their texts.

    An exception's text may quote the request: a KeyError its key, a parser its input.
    """
    text = ""
    while error is not None:
        text += "".join(traceback.format_tb(error.__traceback__)) + f"{type(error).__qualname__}\n"
        error = error.__cause__ or error.__context__
    return text


def log(line: str) -> None:
    """Print a line on standard error."""
    print(line.rstrip(), file=sys.stderr, flush=True)
