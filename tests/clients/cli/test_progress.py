"""The progress bar: on a terminal only, and without what could act on the terminal."""

from contextlib import redirect_stderr

from forklore.cli.progress import progress
from tests.clients.cli.running import Stream


def shown(stream: Stream) -> str:
    with redirect_stderr(stream), progress("importing [red]a\x1b[2J.json") as bar:
        bar.expect(3)
        bar.advance(2)
    return stream.text()


def test_a_terminal_shows_how_far_it_is() -> None:
    text = shown(Stream(is_terminal=True))

    assert "importing [red]a\\x1b[2J.json" in text
    assert "2/3" in text


def test_elsewhere_nothing_is_shown() -> None:
    assert shown(Stream()) == ""
