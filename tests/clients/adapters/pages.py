"""The pages of `docs/adapters`: their code runs and prints what they say."""

import contextlib
import io
import re

from tools.harness.local_server import ROOT

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(name: str) -> int:
    """Run the blocks of a page in order; return how many there are.

    A block of text after one of Python is what that prints.
    """
    names: dict[str, object] = {"__name__": name}
    printed, run = "", 0
    for kind, text in BLOCK.findall((ROOT / "docs" / "adapters" / f"{name}.md").read_text()):
        if kind == "text":
            assert printed == text
            continue
        caught = io.StringIO()
        with contextlib.redirect_stdout(caught):
            exec(compile(text, f"{name}.md", "exec"), names)
        printed = caught.getvalue()
        run += 1
    return run
