#!/bin/sh
# Codex 0.171.0 (npm @openai/codex): a rollout's row `compacted` has the summary as its `message`.
# If the row has no `replacement_history`, a resume does not go on with the summary alone: ALL that
# the user said before it is sent again, before the summary, and only the answers and the calls are
# gone. With `replacement_history` the model gets that list as it is, whatever stood above.
#
# Seen: the same rollout, resumed with and without that member. Without it, the words "FIRST" and
# "SECOND" of the user, from before the compaction, are in the request; with it they are not.
# So the summary's own text does not say what the model has; a reader that takes the message for the
# whole memory is wrong for the one kind of row, and one that keeps the user's words for the other.
set -eu
folder=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
server=
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/codex" @openai/codex@0.171.0 >/dev/null 2>&1
export HOME="$folder/home" MADE_UP=made-up
mkdir -p "$HOME/.codex/sessions/2026/11/01" "$folder/project"

# A model that answers "Noted." to everything, and keeps what it was sent.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        self.send_response(404); self.send_header("content-length", "0"); self.end_headers()
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        open("sent.json", "wb").write(body)
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": "r", "object": "response", "status": "completed", "output": [item], "usage": usage}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for kind, more in (("created", {"response": {**response, "status": "in_progress", "output": []}}), ("output_item.done", {"output_index": 0, "item": item}), ("completed", {"response": response})):
            self.wfile.write(f"event: response.{kind}\ndata: {json.dumps({'type': 'response.' + kind, **more})}\n\n".encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
open("port.new", "w").write(str(server.server_address[1]))
os.rename("port.new", "port")
threading.Timer(300, lambda: os._exit(0)).start()
server.serve_forever()
PY
python3 model.py &
server=$!
while [ ! -f port ]; do sleep 0.2; done
cat >"$HOME/.codex/config.toml" <<TOML
model = "m"
model_provider = "here"
check_for_update_on_startup = false
[model_providers.here]
name = "here"
base_url = "http://127.0.0.1:$(cat port)/v1"
wire_api = "responses"
env_key = "MADE_UP"
[analytics]
enabled = false
TOML

ask() { # $1: the session's id; $2: more members of the row
	at='"timestamp":"2026-11-01T10:00:00.000Z"'
	said() { echo "{$at,\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"$1\",\"content\":[{\"type\":\"$2_text\",\"text\":\"$3\"}]}}"; }
	{
		echo "{$at,\"type\":\"session_meta\",\"payload\":{\"id\":\"$1\",$at,\"cwd\":\"$folder/project\",\"originator\":\"x\",\"cli_version\":\"0.171.0\"}}"
		said user input FIRST
		said assistant output "An answer."
		said user input SECOND
		said assistant output "Another answer."
		echo "{$at,\"type\":\"compacted\",\"payload\":{\"message\":\"THE SUMMARY\"$2}}"
		said user input THIRD
		said assistant output "After it."
	} >"$HOME/.codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-$1.jsonl"
	(cd project && "$folder/codex/node_modules/.bin/codex" exec --skip-git-repo-check resume "$1" "Go on." </dev/null >../said.txt 2>&1) || { cat said.txt; exit 1; }
	python3 - <<'PY'
import json
items = json.load(open("sent.json"))["input"]
texts = [part["text"] for one in items if one.get("role") in ("user", "assistant") for part in one["content"] if "text" in part]
print([text for text in texts if not text.startswith("<")])
PY
}
without=$(ask 11111111-1111-4111-8111-111111111111 '')
with=$(ask 22222222-2222-4222-8222-222222222222 ',"replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"THE SUMMARY"}]}]')
echo "without: $without"
echo "with:    $with"
[ "$without" = "['FIRST', 'SECOND', 'THE SUMMARY', 'THIRD', 'After it.', 'Go on.']" ]
[ "$with" = "['THE SUMMARY', 'THIRD', 'After it.', 'Go on.']" ]
