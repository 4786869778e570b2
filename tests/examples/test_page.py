"""The page "From Python": its examples run one after the other, and print what the page says."""

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import pytest

from forklore_local.in_process import opened
from tests.support.tables import Ticking
from tools.harness.local_server import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
EXAMPLES = [
    (PAGE.count("\n", 0, found.start(1)), found[1], found[2] or "") for found in BLOCKS.finditer(PAGE)
]
"""For each example: the lines before it, the code, and the output that the page shows."""


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """The names that the examples share, as at a prompt."""
    return {"__name__": "page"}


@pytest.fixture(scope="module", autouse=True)
def surroundings() -> Iterator[None]:
    """A region for the client of boto3 of an example, which sends nothing, and a clock that ticks.

    Entries of two branches that are made in one millisecond have no order.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        patch.setattr(opened, "Clock", Ticking)
        yield


@pytest.mark.parametrize(("line", "code", "output"), EXAMPLES, ids=[f"line-{one[0]}" for one in EXAMPLES])
def test_an_example_prints_what_the_page_says(
    names: dict[str, Any], line: int, code: str, output: str
) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile("\n" * line + code, "docs/python.md", "exec"), names)

    assert printed.getvalue() == output


def test_every_block_of_output_belongs_to_an_example() -> None:
    assert PAGE.count("```text\n") == sum(1 for _, _, output in EXAMPLES if output)
