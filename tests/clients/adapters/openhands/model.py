"""A server on this machine that speaks like a model, for agents of OpenHands."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

KEY = "a-made-up-key"


class _Speaking(BaseHTTPRequestHandler):
    """Answers with the number of questions; `Think: …` makes it call the tool `think` first."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["Authorization"] == f"Bearer {KEY}", "the key is lost"
        messages = asked["messages"]
        said = [_text(one) for one in messages if one["role"] == "user"]
        message: dict[str, Any] = {"role": "assistant", "content": f"This is answer {len(said)}."}
        if messages[-1]["role"] == "user" and said[-1].startswith("Think: "):
            call = {"name": "think", "arguments": json.dumps({"thought": said[-1].removeprefix("Think: ")})}
            message["tool_calls"] = [{"id": f"call-{len(messages)}", "type": "function", "function": call}]
        answer = {
            "id": f"answer-{len(messages)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": asked["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _text(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@contextmanager
def speaking() -> Iterator[str]:
    """Yield the address of a model, which stops at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Speaking) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()
