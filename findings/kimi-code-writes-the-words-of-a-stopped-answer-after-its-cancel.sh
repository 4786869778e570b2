#!/bin/sh
# Kimi Code 2.1.0 (npm @moonshot-ai/kimi-code): what was shown of an answer that the user stops is
# written into the session's log only after the row `turn.cancel`, and nowhere before it. The words
# that were streamed stand in no row until then: one `content.part` holds them all.
#
# Seen: a slow answer, stopped with Escape when "Once 3" is on the screen. In agents/main/wire.jsonl the
# first row with "Once 0" comes behind `turn.cancel`.
# Who takes `turn.cancel` for the end of a turn loses what the person has read; `turn.ended` is the end.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/kimi" \
	@moonshot-ai/kimi-code@2.1.0 node@22.23.3 >/dev/null 2>&1
PATH="$folder/kimi/node_modules/node/bin:$folder/kimi/node_modules/.bin:$PATH"
export PATH HOME="$folder/home" KIMI_DISABLE_TELEMETRY=1 TERM=xterm-256color
mkdir -p home/.kimi-code project

# A model that says "Once 0 Once 1 …", a word in each tenth of a second.
cat >model.py <<'PY'
import http.server, json, os, threading, time
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self): self.answer(b'{"object": "list", "data": []}', "application/json")
    def answer(self, raw, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for number in range(600):
                choice = {"index": 0, "delta": {"content": f"Once {number} "}, "finish_reason": None}
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.1)
        except OSError:
            pass  # the program has stopped the answer
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
open("port.new", "w").write(str(server.server_address[1]))
os.rename("port.new", "port")
threading.Timer(300, lambda: os._exit(0)).start()
server.serve_forever()
PY
python3 model.py &
server=$!
while [ ! -f port ]; do sleep 0.2; done
cat >home/.kimi-code/config.toml <<TOML
default_model = "stand-in"
telemetry = false
[providers.stand-in]
type = "openai"
base_url = "http://127.0.0.1:$(cat port)/v1"
api_key = "made-up"
[models.stand-in]
provider = "stand-in"
model = "stand-in"
max_context_size = 100000
capabilities = ["tool_use"]
TOML

# A person in a terminal: trusts the folder, asks, and stops the answer.
cat >person.py <<'PY'
import os, pathlib, pty, re, select, signal, sys, time
child, terminal = pty.fork()
if not child:
    os.chdir("project")
    os.execvp("kimi", ["kimi"])
import fcntl, struct, termios
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
shown = ""
def wait_for(words, seconds=90):
    global shown
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", os.read(terminal, 65536).decode(errors="replace"))
        if words in shown:
            return
    sys.exit(f"{words} did not come: {shown[-1500:]}")
def logged(words, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in pathlib.Path("home/.kimi-code").rglob("wire.jsonl"):
            rows = path.read_text().splitlines()
            if any(words in row for row in rows):
                return rows
        if select.select([terminal], [], [], 0.2)[0]:
            os.read(terminal, 65536)
    sys.exit(f"{words} did not come into the log")
wait_for("Trust this folder?")
time.sleep(1)
os.write(terminal, b"\r")
time.sleep(5)
for letter in "Tell a story.":
    os.write(terminal, letter.encode())
    time.sleep(0.05)
time.sleep(1)
os.write(terminal, b"\r")
wait_for("Once 3")
os.write(terminal, b"\x1b")
rows = logged('"turn.ended"')
os.kill(child, signal.SIGKILL)
cancel = next(at for at, row in enumerate(rows) if '"type":"turn.cancel"' in row)
words = next(at for at, row in enumerate(rows) if "Once 0" in row)
print(f"turn.cancel is row {cancel}; the words that were shown are first in row {words}")
sys.exit(words < cancel)
PY
python3 person.py
