#!/bin/sh
# Gemini CLI 0.61.0 (npm @google/gemini-cli): the result of a call is sent to the model once more after
# each resume of its session (a rewind does the same): one call, then twice, then three times its
# result. The log of a session holds a result in the call (`toolCalls[].result`) and as a message of
# the user; each resume makes both of them messages, and writes them all down again.
#
# Seen: one call of a tool; the request after the first resume has two `functionResponse`s with the
# call's id, the one after the second has three.
# Who reads such sessions has to know a result by its call, and who compares what is sent must, too.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/gemini" \
	@google/gemini-cli@0.61.0 node@22.23.3 >/dev/null 2>&1
PATH="$folder/gemini/node_modules/node/bin:$folder/gemini/node_modules/.bin:$PATH"
export PATH HOME="$folder/home"
mkdir -p home/.gemini project

# A model that calls a tool once, where it is asked to, and answers "Noted." to all else. It writes down
# how many results the newest request has.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("contents", [])
        results = [part for one in asked for part in one["parts"] if "functionResponse" in part]
        open("results.new", "w").write(f"{len(results)}\n")
        os.rename("results.new", "results")
        said = {"text": "Noted."}
        if not results and "CALL" in json.dumps(asked[-1]):
            said = {"functionCall": {"name": "run_shell_command", "args": {"command": "echo A_RESULT"}}}
        answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [said]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        text = json.dumps(answer)
        raw = (f"data: {text}\r\n\r\n" if "stream" in self.path else text).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if "stream" in self.path else "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
open("port.new", "w").write(str(server.server_address[1]))
os.rename("port.new", "port")
threading.Timer(300, lambda: os._exit(0)).start()
server.serve_forever()
PY
python3 model.py &
server=$!
while [ ! -f port ]; do sleep 0.2; done
export GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:$(cat port)" GEMINI_API_KEY=made-up GEMINI_CLI_TRUST_WORKSPACE=true
echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-pro"},
 "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}' >home/.gemini/settings.json

ask() {
	(cd project && timeout 120 gemini --yolo "$@" </dev/null >../said.txt 2>&1) || { cat said.txt; exit 1; }
}
ask -p "CALL the tool."
id=$(sed -n '1s/.*"sessionId":"\([^"]*\)".*/\1/p' home/.gemini/tmp/project/chats/session-*.jsonl)
echo "results in the request that ends the turn: $(cat results)"
[ "$(cat results)" = 1 ]
ask -r "$id" -p "And now?"
echo "after the first resume: $(cat results)"
[ "$(cat results)" = 2 ]
ask -r "$id" -p "And then?"
echo "after the second: $(cat results)"
[ "$(cat results)" = 3 ]
