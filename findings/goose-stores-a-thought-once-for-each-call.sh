#!/bin/sh
# Goose 1.52.0 (npm @aaif/goose-binary-linux-x64): where a model thinks once and makes two calls in one
# answer, the database has two messages of the assistant, one for each call, and BOTH hold the thought.
# Only the first has the id of the model's answer and its usage; the second has an id that Goose made.
# So messages do not count answers, and thoughts that are counted in the database were not all thought.
# The request that follows has it right again: one message with one thought and both calls.
#
# Seen: after one such answer there are two rows with "ONE THOUGHT", each with one call and followed by
# its result; in the next request the assistant's message has two calls, and the thought once.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/goose" \
	@aaif/goose-binary-linux-x64@1.52.0 >/dev/null 2>&1
mkdir home project

# A model that thinks, calls the shell twice, and then answers "Noted."; it keeps what it was sent.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(404); self.send_header("content-length", "0"); self.end_headers()
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        open("sent.json", "wb").write(body)
        asked = json.loads(body)
        calls = [{"index": n, "id": f"call_{n}", "type": "function", "function": {"name": "shell", "arguments": json.dumps({"command": f"echo {n}"})}} for n in (0, 1)]
        if any(one["role"] == "tool" for one in asked["messages"]) or not asked.get("tools"):
            deltas, end = [{"role": "assistant", "content": "Noted."}], "stop"
        else:
            deltas, end = [{"role": "assistant", "reasoning_content": "ONE THOUGHT"}, {"tool_calls": calls}], "tool_calls"
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "created": 1}
        said = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        said.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in said:
            self.wfile.write(f"data: {json.dumps(one)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
open("port.new", "w").write(str(server.server_address[1]))
os.rename("port.new", "port")
threading.Timer(300, lambda: os._exit(0)).start()
server.serve_forever()
PY
python3 model.py &
server=$!
while [ ! -f port ]; do sleep 0.2; done
(cd project && HOME="$folder/home" GOOSE_PROVIDER=openai OPENAI_HOST="http://127.0.0.1:$(cat ../port)" OPENAI_API_KEY=made-up \
	GOOSE_MODEL=m GOOSE_MODE=auto GOOSE_DISABLE_KEYRING=1 GOOSE_TELEMETRY_ENABLED=false \
	"$folder/goose/node_modules/@aaif/goose-binary-linux-x64/bin/goose" run -n talk -t "Count." </dev/null >../said.txt 2>&1) || { cat said.txt; exit 1; }
python3 - <<'PY'
import json, sqlite3, sys
rows = sqlite3.connect("home/.local/share/goose/sessions/sessions.db").execute("SELECT role, content_json, metadata_json FROM messages ORDER BY id")
stored = []
for role, content, metadata in rows:
    kinds = [part["type"] for part in json.loads(content)]
    if kinds != ["text"]:
        stored.append((role, kinds, "usage" in json.loads(metadata)))
        print("stored:", *stored[-1])
sent = [(len(one["tool_calls"]), one.get("reasoning_content")) for one in json.load(open("sent.json"))["messages"] if one.get("tool_calls")]
print("sent:", sent)
call, result = ["thinking", "toolRequest"], ["toolResponse"]
expected = [("assistant", call, True), ("user", result, False), ("assistant", call, False), ("user", result, False)]
sys.exit(stored != expected or sent != [(2, "ONE THOUGHT")])
PY
