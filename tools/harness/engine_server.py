"""The engine over DynamoDB's own protocol, for tests of several processes without DynamoDB Local.

`python -m tools.harness.engine_server PORT` listens on 127.0.0.1. Every table is forklore's, and
ends with the process.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore import xform_name

from forklore_local.embedded.engine import Engine
from forklore_local.embedded.rows import to_text
from forklore_service.storage import schema
from forklore_service.storage.connection import CallRefused
from tools.harness.tapped import with_bytes

TYPE = "application/x-amz-json-1.0"


class Tables:
    """The tables by name."""

    def __init__(self) -> None:
        self._tables: dict[str, Engine] = {}
        self._lock = threading.Lock()

    def answer(self, operation: str, asked: Any) -> tuple[int, Any]:
        """Return the status and the body of an answer."""
        name = str(asked.get("TableName") or _name_of(asked))
        with self._lock:
            match operation:
                case "ListTables":
                    return 200, {"TableNames": sorted(self._tables)}
                case "CreateTable" if name in self._tables:
                    return _error("ResourceInUseException", f"there is a table {name}")
                case "CreateTable":
                    self._tables[name] = Engine.in_memory(name=name)
                    return 200, {"TableDescription": _described(name)}
                case "DeleteTable" if name in self._tables:
                    del self._tables[name]
                    return 200, {"TableDescription": _described(name)}
            engine = self._tables.get(name)
        if engine is None:
            return _error("ResourceNotFoundException", f"there is no table {name}")
        try:
            answer = getattr(engine, xform_name(operation))(**with_bytes(asked))
        except CallRefused as error:
            told = error.response
            status = told["ResponseMetadata"]["HTTPStatusCode"]
            more = {
                member: held for member, held in told.items() if member not in ("Error", "ResponseMetadata")
            }
            return _error(told["Error"]["Code"], told["Error"]["Message"], status, **more)
        if operation == "DescribeTable":
            answer = {"Table": answer["Table"] | _described(name)}
        return 200, {member: held for member, held in answer.items() if member != "ResponseMetadata"}


def _name_of(asked: Any) -> str | None:
    if parts := asked.get("TransactItems"):
        [part] = parts[0].values()
        return str(part["TableName"])
    return next(iter(asked.get("RequestItems", {})), None)


def _described(name: str) -> dict[str, Any]:
    """Return what DynamoDB says of a table."""
    members = {member: held for member, held in schema.TABLE.items() if member != "BillingMode"}
    return {**members, "TableName": name, "TableStatus": "ACTIVE"}


def _error(code: str, message: str, status: int = 400, **more: Any) -> tuple[int, Any]:
    return status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes
    tables = Tables()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self.tables.answer(self.headers["X-Amz-Target"].rpartition(".")[2], asked)
        body = to_text(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
