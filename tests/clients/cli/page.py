"""The examples of docs/command-line.md: command lines, and what they print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.clients.cli.running import Forklore
from tools.harness.local_server import ROOT

PATH = ROOT / "docs" / "command-line.md"
BLOCKS = re.compile(r"```console\n(.*?)```", re.DOTALL)
SHELL_BLOCKS = re.compile(r"```sh\n(.*?)```", re.DOTALL)
LINE = re.compile(r"(?:printf '(?P<stdin>[^']*)' \| )?forklore (?P<line>.*?)(?P<shows_code>; echo \$\?)?")
ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
END = re.compile(r"\b[0-9a-f]{8}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d{3}Z)?")


@dataclass(frozen=True)
class Example:
    """A line behind `$ `, and what the page shows below it."""

    line: str
    output: str


def examples(text: str) -> Iterator[Example]:
    """Yield the examples of a page."""
    for block in BLOCKS.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield Example(line, output)


def shell_lines(text: str) -> list[str]:
    """Return the lines of the page that are not tried as they are."""
    return [line for block in SHELL_BLOCKS.findall(text) for line in block.splitlines()]


def output_of(forklore: Forklore, line: str) -> str:
    """Return what an example prints on a terminal without colours."""
    found = LINE.fullmatch(line)
    assert found, line
    stdin = (found["stdin"] or "").encode().decode("unicode_escape").encode()
    ran = forklore(found["line"], stdin=stdin, is_terminal=True, NO_COLOR="1", FORKLORE_PAGER="")
    code = f"{ran.code}\n" if found["shows_code"] else ""
    assert code or ran.code == 0, (line, ran)
    return ran.out + ran.err + code


def comparable(text: str) -> str:
    """Return a text whose ids are numbered in their order, and whose times are all equal.

    The end of an id has the number of the id.
    """
    numbers: dict[str, str] = {}
    for found in ID.findall(text):
        numbers.setdefault(found, f"<id {len(numbers)}>")
    ends = {one[-8:]: f"<end of {number}>" for one, number in numbers.items()}
    text = END.sub(lambda found: ends[found[0]], ID.sub(lambda found: numbers[found[0]], text))
    return TIME.sub(r"<time\1>", text)
