"""Lines on standard error: they show where something failed, and nothing of the request's content.

All lines have one format, also those of the functions and of libraries: plain text, or JSON as on
Lambda.
"""

import json
import logging
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Collection
from typing import IO, Any

METRICS = "_aws"
"""The member that tells CloudWatch which other members are metrics. It is not shown here."""
FRAMES = "frames"
"""The field with the stack frames of an error."""
LAMBDAS_ID = "aws_request_id"
"""The attribute of a record with Lambda's own id of the request."""
_OF_RECORDS = {*logging.makeLogRecord({}).__dict__, LAMBDAS_ID, "message", "asctime", "taskName"}
_OF_LINES = {
    "timestamp",
    "level",
    "logger",
    "stackTrace",
    "errorType",
    "errorMessage",
    "requestId",
    "location",
}
_FIRST = ("timestamp", "level", "message")
FORMATS = ("plain", "json")
_PLAIN = re.compile(r"[\w.:/+-]+")
"""A value that needs no quotes in a plain line."""


class JsonLines(logging.Formatter):
    """Writes a record as a line of JSON with its `extra` fields at the top level.

    Lambda's runtime does the same: it leaves out a field that is None, and no field replaces one
    that every line has. But the text of an exception is not shown. without: more fields to leave
    out.
    Source: awslambdaric, lambda_runtime_log_utils.JsonFormatter; Lambda developer guide, "Log and
    monitor Python Lambda functions", "Using the logging module with JSON".
    """

    def __init__(self, *, without: Collection[str] = ()) -> None:
        super().__init__()
        self._hidden = {*_OF_RECORDS, *_OF_LINES, *without}

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self._line(record), ensure_ascii=False, default=str)

    def _line(self, record: logging.LogRecord) -> dict[str, Any]:
        line: dict[str, Any] = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname,
            "message": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[0]:
            line |= {"errorType": record.exc_info[0].__name__, FRAMES: frames(record.exc_info[1])}
        line["requestId"] = getattr(record, LAMBDAS_ID, None)
        line |= {name: held for name, held in record.__dict__.items() if name not in self._hidden}
        return {name: held for name, held in line.items() if held is not None}


class PlainLines(JsonLines):
    """Writes the same as text for people: the time, the level, the message, then `name=value`.

    Stack frames follow on lines of their own.
    """

    def format(self, record: logging.LogRecord) -> str:
        line = self._line(record)
        found = line.pop(FRAMES, "")
        below = found if isinstance(found, str) else "\n".join(found)
        told = [f"{name}={_plain(held)}" for name, held in line.items() if name not in _FIRST]
        return "\n".join([" ".join([*(line[name] for name in _FIRST), *told]), *below.splitlines()])


class _ToStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        write(self.format(record), sys.stderr)


def _plain(held: Any) -> str:
    text = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False, default=str)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def show_lines_of(logger: logging.Logger, *, verbose: bool, form: str = FORMATS[0]) -> None:
    """Show a logger's lines on standard error: from WARNING, or from INFO when verbose.

    form: one of FORMATS.
    """
    handler = _ToStandardError()
    handler.setFormatter((JsonLines if form == "json" else PlainLines)(without=[METRICS]))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    logger.propagate = False


def frames(error: BaseException | None) -> str:
    """Return the stack frames and the types of an exception and its causes, without their texts.

    The text of an exception may quote the request. A KeyError quotes the key, and a parser error
    quotes the input.
    """
    text = ""
    while error is not None:
        text += "".join(traceback.format_tb(error.__traceback__)) + f"{type(error).__qualname__}\n"
        error = error.__cause__ or error.__context__
    return text


def end_with_reader() -> None:
    """Let this program end in silence when nobody reads its output any more, as `cat` does."""
    if os.name == "posix":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def write(text: str, stream: IO[str]) -> None:
    """Write a text to a standard stream, at once. What nobody reads any more goes nowhere.

    It is written as a whole: other processes may write to the stream, too.
    """
    try:
        print(f"{text}\n", end="", file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
