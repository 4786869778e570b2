#!/bin/sh
# Claude Agent SDK 0.2.189 (PyPI claude-agent-sdk), Claude Code 2.1.332 (npm): fork_session gives every row
# of the copy a new id, and writes parents and the compaction's logicalParentUuid anew. It does not do so
# with the ids in compactMetadata (preservedSegment, preservedMessages), by which a compaction names the
# messages that it kept as they were. They name rows of the first session. So the model of a fork never gets
# these messages; that of the session itself does, and --fork-session of the program keeps them, too.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/claude" @anthropic-ai/claude-code@2.1.332 >/dev/null 2>&1
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check claude-agent-sdk==0.2.189
mkdir -p home project

# A model that answers "Noted." to everything, and keeps the last request that had tools.
cat >model.py <<'PY'
import http.server, json, os, threading
class Model(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_HEAD(self):
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if json.loads(body).get("tools"):
            open("sent.json", "wb").write(body)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [("message_start", {"message": message}), ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Noted."}}), ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}), ("message_stop", {})]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for kind, more in events:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode())
        self.close_connection = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
open("port.new", "w").write(str(server.server_address[1]))
os.rename("port.new", "port")
threading.Timer(300, lambda: os._exit(0)).start()
server.serve_forever()
PY
python3 model.py &
server=$!
while [ ! -f port ]; do sleep 0.2; done

cat >ask.py <<'PY'
import json, os, pathlib, re, subprocess, sys, uuid
how = sys.argv[1]
home, project = pathlib.Path("home").resolve(), pathlib.Path("project").resolve()
session = str(uuid.uuid4())
rows, ids = [], {}
def row(name, above, **more):
    ids[name] = str(uuid.uuid4())
    rows.append({"uuid": ids[name], "parentUuid": ids.get(above), "sessionId": session, "isSidechain": False, "timestamp": f"2026-11-01T10:00:0{len(rows)}.000Z", **more})
def user(name, above, text, **more):
    row(name, above, type="user", message={"role": "user", "content": text}, **more)
def answer(name, above, text):
    row(name, above, type="assistant", message={"id": f"msg_{name}", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]})
user("u1", None, "OLD QUESTION")
answer("a1", "u1", "KEPT ANSWER")
row("b", None, type="system", subtype="compact_boundary", content="Conversation compacted", level="info", logicalParentUuid=ids["a1"])
user("s", "b", "THE SUMMARY", isCompactSummary=True, isVisibleInTranscriptOnly=True)
kept = {"preservedSegment": {"headUuid": ids["a1"], "anchorUuid": ids["s"], "tailUuid": ids["a1"]},
            "preservedMessages": {"anchorUuid": ids["s"], "uuids": [ids["a1"]], "allUuids": [ids["a1"]]}}
rows[2]["compactMetadata"] = {"trigger": "manual", "preTokens": 100, **kept}
user("u2", "s", "NEW QUESTION")
answer("a2", "u2", "NEW ANSWER")
place = home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(project))
place.mkdir(parents=True, exist_ok=True)
(place / f"{session}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{open('port').read()}",
    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
claude = pathlib.Path("claude/node_modules/.bin/claude").resolve()
asked = ["--resume", session]
if how == "sdk":
    from claude_agent_sdk import fork_session
    os.environ["HOME"] = str(home)
    asked = ["--resume", fork_session(session, directory=str(project)).session_id]
elif how == "program":
    asked += ["--fork-session"]
subprocess.run([claude, "-p", *asked, "Go on."], cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)
words = ("OLD QUESTION", "KEPT ANSWER", "THE SUMMARY", "NEW QUESTION", "NEW ANSWER")
sent = json.dumps(json.load(open("sent.json"))["messages"])
print(sorted((one for one in words if one in sent), key=sent.index))
PY
itself=$(venv/bin/python ask.py itself)
program=$(venv/bin/python ask.py program)
sdk=$(venv/bin/python ask.py sdk)
echo "the session, resumed:        $itself"
echo "resumed with --fork-session: $program"
echo "a fork of fork_session:      $sdk"
[ "$itself" = "['THE SUMMARY', 'KEPT ANSWER', 'NEW QUESTION', 'NEW ANSWER']" ]
[ "$program" = "$itself" ]
[ "$sdk" = "['THE SUMMARY', 'NEW QUESTION', 'NEW ANSWER']" ]
