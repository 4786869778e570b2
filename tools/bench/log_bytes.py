"""How many bytes of log an append over HTTP writes: forklore's line, and the gateway's access log.

python -m tools.bench.log_bytes

forklore's line is written by the function itself. The line of the access log is the template's
format, filled in with values as API Gateway writes them. Lambda writes nothing about a run that
succeeds, as SystemLogLevel is WARN. The caller sends no X-Request-Id; with an own one of 36
characters the line has 54 bytes more.
"""

import logging
import uuid
from typing import NamedTuple

from forklore.local.log import JsonLines
from tools.deployment.loading import load
from tools.harness.gateway import PROJECT, Gateway, table_in_memory

PATH = "/v1/conversations/{conversationId}/entries"
VALUES = {
    "$context.requestId": "JKJaXmPLvHcESHA=",
    "$context.routeKey": f"POST {PATH}",
    "$context.status": "201",
    "$context.responseLatency": "25",
    "$context.integration.requestId": str(uuid.UUID(int=0)),
    "$context.integrationErrorMessage": "-",
    "$context.error.responseType": "-",
    "$context.authorizer.error": "-",
    "$context.identity.sourceIp": "203.0.113.117",
}
"""What API Gateway writes of a good request; `-` where there is nothing to tell."""


class LogBytes(NamedTuple):
    """Bytes of an append over HTTP. request: forklore's line. access: the access log's."""

    request: int
    access: int


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(JsonLines())
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


def log_bytes() -> LogBytes:
    """Append once to a table in this process, and count the bytes of the lines."""
    return LogBytes(len(_request_line().encode()), len(_access_line().encode()))


def _request_line() -> str:
    log, kept = logging.getLogger("forklore"), _Kept()
    level = log.level
    with table_in_memory() as template:
        gateway = Gateway(template)
        path = PATH.format(conversationId=uuid.uuid4())
        body = {"contentType": "history", "content": [{"role": "USER", "text": "x" * 1_000}]}
        log.addHandler(kept)
        log.setLevel(logging.INFO)
        try:
            for _ in range(2):  # the first append makes the conversation
                kept.texts.clear()
                assert gateway.send("POST", path, body=body).status == 201
        finally:
            log.setLevel(level)
            log.removeHandler(kept)
    [line] = kept.texts
    return line


def _access_line() -> str:
    stages = [
        one["Properties"]["AccessLogSettings"]["Format"]
        for one in load(PROJECT / "template.yaml")["Resources"].values()
        if one["Type"] == "AWS::ApiGatewayV2::Stage"
    ]
    [line] = stages
    for name, value in VALUES.items():
        line = line.replace(f'"{name}"', f'"{value}"')
    assert "$context" not in line, "a value is missing in VALUES"
    return str(line)


if __name__ == "__main__":
    print(log_bytes())
