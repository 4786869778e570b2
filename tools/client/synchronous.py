"""Makes the modules without `await` from those of `asynchronous/`."""

import re
from pathlib import Path

NOTICE = "# Made from the module of the same name in `asynchronous/` by `python -m tools.client`."
_WORDS = {
    r"async (def|for|with)": r"\1",
    r"await ": "",
    r"Awaitable\[([^\[\]]*(\[[^\[\]]*\])?)\]": r"\1",
    r"\bAwaitable, ": "",
    r"\bAsync([A-Z])": r"\1",
    r"\baclose\b": "close",
    r"\b__a(enter|exit|iter|next)__": r"__\1__",
    r"\bStopAsyncIteration\b": "StopIteration",
    r"\banext\b": "next",
    r"\baiter\b": "iter",
    r"\badrive\b": "drive",
    r"\basync_(over|on|in)_": r"\1_",
    r"\bforklore\.client\.asynchronous\b": "forklore.client.generated.synchronous",
    r"\basynchronous\b": "synchronous",
    r", for asyncio and trio": "",
    r", in the first call, which opens it": "",
}
"""What is replaced, in this order."""


def synchronous(text: str) -> str:
    """Return a module without `await`.

    >>> print(synchronous("async def f(x: AsyncFoo) -> None:\\n    await x.aclose()"))
    # Made from the module of the same name in `asynchronous/` by `python -m tools.client`.
    def f(x: Foo) -> None:
        x.close()
    """
    for pattern, word in _WORDS.items():
        text = re.sub(pattern, word, text)
    return f"{NOTICE}\n{text}"


def synchronous_modules(folder: Path) -> dict[str, str]:
    """Return the text of each module that `folder` needs, by its name."""
    return {path.name: synchronous(path.read_text()) for path in sorted(folder.glob("*.py"))}
