"""A model on this machine that answers by a script, behind the API that Claude Code calls."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Block = dict[str, Any]
Script = Callable[[list[dict[str, Any]]], list[Block]]
"""Returns the blocks of an answer to messages."""


@contextmanager
def model(script: Script) -> Iterator[tuple[str, list[list[dict[str, Any]]]]]:
    """Yield the address of the model, and the messages of each request, as they come."""
    requests: list[list[dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self._send("application/json", json.dumps({"input_tokens": 10}))
                return
            requests.append(body["messages"])
            blocks = script(body["messages"])
            if body.get("stream"):
                self._send("text/event-stream", "".join(_events(body["model"], blocks)))
            else:
                self._send("application/json", json.dumps(_message(body["model"], blocks)))

        def do_GET(self) -> None:
            self._send("application/json", "{}")

        do_HEAD = do_GET  # noqa: N815 (the name of the base class)

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _message(model: str, blocks: list[Block]) -> dict[str, Any]:
    is_tool = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if is_tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _events(model: str, blocks: list[Block]) -> Iterator[str]:
    whole = _message(model, blocks)

    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=index, content_block=begun)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stopped = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stopped, usage={"output_tokens": 5})
    yield event("message_stop")
