#!/bin/sh
# OpenHands SDK 1.58.2: each call of a model adds two lines to the metrics in the base state, what it used
# and how long it took, and none of them goes. The whole base state is written again three times for each
# call. So what a conversation writes grows with the square of its calls: here the second question has
# written about 6,800 bytes of base state, and the sixtieth, which is as short, 53,000.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.12}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openhands-sdk==1.58.2
cd "$folder"
HOME="$folder" LITELLM_LOCAL_MODEL_COST_MAP=True OPENHANDS_SUPPRESS_BANNER=1 "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from openhands.sdk import LLM, Agent
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.io import InMemoryFileStore
from pydantic import SecretStr

logging.disable(logging.CRITICAL)


class Model(BaseHTTPRequestHandler):
    calls = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Model.calls += 1
        message = {"role": "assistant", "content": "Yes."}
        body = {
            "id": f"call-{Model.calls}",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        }
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


class Counting(InMemoryFileStore):
    times = size = 0

    def write(self, path, contents):
        if path == "base_state.json":
            self.times, self.size = self.times + 1, self.size + len(contents)
        super().write(path, contents)


server = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
llm = LLM(model="openai/m", base_url=url, api_key=SecretStr("a-made-up-key"), usage_id="agent")
store = Counting()
talk = LocalConversation(agent=Agent(llm=llm, tools=[]), workspace=".", file_store=store, visualizer=None)
written = []
for _ in range(60):
    store.times = store.size = 0
    talk.send_message("Still there?")
    talk.run()
    written.append((store.times, store.size))
lines = json.loads(store.read("base_state.json"))["stats"]["usage_to_metrics"]["agent"]
kept = [len(lines[name]) for name in ("token_usages", "response_latencies")]
first, last = written[1], written[-1]
print(f"question 2 wrote the base state {first[0]} times, {first[1]:,} bytes")
print(f"question 60 wrote it {last[0]} times, {last[1]:,} bytes; lines of the metrics: {kept}")
talk.close()
server.shutdown()
assert kept == [60, 60], kept
assert first[0] == last[0] == 3, (first, last)
assert last[1] > 5 * first[1], (first, last)
PYTHON
