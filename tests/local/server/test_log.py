"""The lines on standard error: plain, or JSON with all fields at the top, as on Lambda."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from forklore_local.server.log import JsonLines, show_lines_of


def line_of(message: str = "said", /, *, exc_info: Any = None, **extra: Any) -> dict[str, Any]:
    record = logging.getLogger("a.b").makeRecord(
        "a.b", logging.WARNING, "file", 1, message, (), exc_info, extra=extra
    )
    text = JsonLines(without=["_aws"]).format(record)
    assert "\n" not in text
    line: dict[str, Any] = json.loads(text)
    assert line.pop("timestamp").endswith("Z")
    return line


def test_extra_fields_are_added_to_the_fields_of_every_line() -> None:
    assert line_of("said", status="200", frames=["a", "b"], odd={1}, _aws={"x": 1}, none=None) == {
        "level": "WARNING",
        "message": "said",
        "logger": "a.b",
        "status": "200",
        "frames": ["a", "b"],
        "odd": "{1}",
    }


def test_no_extra_field_replaces_a_field_of_every_line() -> None:
    assert line_of("a\nb", level="AUDIT", requestId="r", timestamp="t", logger="l") == {
        "level": "WARNING",
        "message": "a\nb",
        "logger": "a.b",
    }


def test_the_line_shows_where_an_exception_was_raised_and_not_its_text() -> None:
    with pytest.raises(ValueError, match="a secret") as raised:
        int("a secret")
    line = line_of(exc_info=(raised.type, raised.value, raised.tb))

    assert line["errorType"] == "ValueError"
    assert "test_log.py" in line["frames"]
    assert "a secret" not in str(line).replace('int("a secret")', "")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("tests.shown")
    yield made
    made.handlers.clear()


@pytest.mark.parametrize(("verbose", "shown"), [(False, ["warning"]), (True, ["info", "warning"])])
def test_lines_below_warning_are_shown_only_on_request(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], verbose: bool, shown: list[str]
) -> None:
    show_lines_of(logger, verbose=verbose, form="json")
    logger.debug("debug")
    logger.info("info", extra={"_aws": {"Timestamp": 1}})
    logger.warning("warning")
    output, errors = capsys.readouterr()

    assert [json.loads(line)["message"] for line in errors.splitlines()] == shown
    assert "_aws" not in errors
    assert output == ""


@pytest.mark.parametrize("frames", ["a.py:1 one\n  call()\n", ["a.py:1 one", "  call()"]])
def test_a_plain_line_has_the_same_fields_and_the_frames_below(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], frames: object
) -> None:
    show_lines_of(logger, verbose=False)
    logger.error("bug", extra={"status": 500, "route": 'GET /v1 "x"\n', "none": None, "frames": frames})
    line, *below = capsys.readouterr().err.splitlines()

    assert line.split(" ", 1)[1] == 'ERROR bug logger=tests.shown status=500 route="GET /v1 \\"x\\"\\n"'
    assert below == ["a.py:1 one", "  call()"]
