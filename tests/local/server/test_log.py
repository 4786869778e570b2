"""The functions' log lines on standard error: JSON with all fields at the top, as on Lambda."""

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


def test_the_line_names_an_exception() -> None:
    line = line_of(exc_info=(ValueError, ValueError("wrong"), None))

    assert (line["errorType"], line["errorMessage"]) == ("ValueError", "wrong")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("tests.shown")
    yield made
    made.handlers.clear()


@pytest.mark.parametrize(("verbose", "shown"), [(False, ["warning"]), (True, ["info", "warning"])])
def test_lines_below_warning_are_shown_only_on_request(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str], verbose: bool, shown: list[str]
) -> None:
    show_lines_of(logger, verbose=verbose)
    logger.debug("debug")
    logger.info("info", extra={"_aws": {"Timestamp": 1}})
    logger.warning("warning")
    output, errors = capsys.readouterr()

    assert [json.loads(line)["message"] for line in errors.splitlines()] == shown
    assert "_aws" not in errors
    assert output == ""
