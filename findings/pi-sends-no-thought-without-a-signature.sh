#!/bin/sh
# pi 1.6.0 (npm @earendil-works/pi-coding-agent) shows a thought of a session file, but sends it back
# to a model of OpenAI's chat completions only if the block has a `thinkingSignature`, which is no
# signature: it is the name of the member that the thought goes back in. A block without it is left
# out without a word, though the type in its docs/message-types.md has the member as optional, and says
# that it is opaque.
#
# Seen: two sessions that differ in that member alone. The request for the next answer holds the
# thought as `reasoning_content` with it, and nowhere without it.
# Who writes sessions for pi has to write the name of the member as the signature.
set -eu
folder=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
server=
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/pi" \
	@earendil-works/pi-coding-agent@1.6.0 node@22.23.3 >/dev/null 2>&1
PATH="$folder/pi/node_modules/node/bin:$PATH"
export PATH HOME="$folder/home" PI_OFFLINE=1
mkdir -p "$HOME/.pi/agent" "$folder/project"

# A model that answers "Noted." to everything, and keeps what it was sent.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        open("sent.json", "wb").write(body)
        chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Noted."}, "finish_reason": None}]}
        last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in (chunk, last):
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
cat >"$HOME/.pi/agent/models.json" <<JSON
{"providers": {"here": {"baseUrl": "http://127.0.0.1:$(cat port)/v1", "api": "openai-completions", "apiKey": "made-up",
 "models": [{"id": "m", "reasoning": true}]}}}
JSON
echo '{"defaultProvider": "here", "defaultModel": "m"}' >"$HOME/.pi/agent/settings.json"

ask() { # $1: more members of the thought's block
	usage='{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}'
	at='"timestamp":"2026-11-01T10:00:00.000Z"'
	{
		echo "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",$at,\"cwd\":\"$folder/project\"}"
		echo "{\"type\":\"message\",\"id\":\"a1\",\"parentId\":null,$at,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"How deep?\"}],\"timestamp\":1}}"
		echo "{\"type\":\"message\",\"id\":\"a2\",\"parentId\":\"a1\",$at,\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"THE THOUGHT\"$1},{\"type\":\"text\",\"text\":\"Two metres.\"}],\"api\":\"openai-completions\",\"provider\":\"here\",\"model\":\"m\",\"usage\":$usage,\"stopReason\":\"stop\",\"timestamp\":2}}"
	} >session.jsonl
	(cd project && pi -p --session ../session.jsonl "Go on." </dev/null >../said.txt 2>&1)
	grep -q "Two metres." sent.json || { echo "the session was not sent at all"; cat said.txt; exit 1; }
	python3 - <<'PY'
import json
messages = json.load(open("sent.json"))["messages"]
print([one.get("reasoning_content") for one in messages if one["role"] == "assistant"])
PY
}
PATH="$folder/pi/node_modules/.bin:$PATH"
without=$(ask '')
with=$(ask ',"thinkingSignature":"reasoning_content"')
echo "without: $without"
echo "with:    $with"
[ "$without" = "[None]" ] && [ "$with" = "['THE THOUGHT']" ]
