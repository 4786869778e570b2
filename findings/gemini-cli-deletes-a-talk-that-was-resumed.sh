#!/bin/sh
# Gemini CLI 0.61.0 (npm @google/gemini-cli): a session that is resumed in a later minute than it was
# made in goes on in its own file, but the program also makes a second file of the same session, with
# a head and no talk. The next NEW session in that folder takes the empty file for one to tidy up, and
# deletes by the session's id: the whole talk goes with it, the old part and what was said since.
#
# Seen: a talk of two messages, resumed by `-r`; then there are two files of the session, and the old
# one holds the talk. After one more start, without `-r`, neither is there.
# Who keeps such sessions has to read them before the next start, not when they have rested for a while.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/gemini" \
	@google/gemini-cli@0.61.0 node@22.23.3 >/dev/null 2>&1
PATH="$folder/gemini/node_modules/node/bin:$folder/gemini/node_modules/.bin:$PATH"
export PATH HOME="$folder/home"
mkdir -p home/.gemini/tmp/project/chats project

# A model that answers "Noted." to everything.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Noted."}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
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
files() {
	(cd home/.gemini/tmp/project/chats && grep -l "$id" ./* 2>/dev/null | wc -l | tr -d ' ')
}
ask -p "THE FIRST WORDS"
cd home/.gemini/tmp/project/chats
made=$(ls session-*.jsonl)
id=$(sed -n '1s/.*"sessionId":"\([^"]*\)".*/\1/p' "$made")
cd "$folder"
sleep $((61 - $(date +%-S))) # a later minute
ask -r "$id" -p "THE NEXT WORDS"
talk=$(cat "home/.gemini/tmp/project/chats/$made")
echo "after the resume: $(files) files of the session"
case "$talk" in *"THE FIRST WORDS"*"THE NEXT WORDS"*) ;; *) exit 1 ;; esac
[ "$(files)" = 2 ]
ask -p "Another talk."
echo "after a new session: $(files) files of the session"
[ "$(files)" = 0 ]
