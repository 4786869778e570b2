#!/bin/sh
# Claude Code 2.1.332 (npm @anthropic-ai/claude-code): a compaction keeps some messages as they are.
# They are not written again: they stand above the row `compact_boundary`, which names them, and has no
# parent. Where they go in what the model gets is not told by any order in the file, but by
# `compactMetadata.preservedSegment.anchorUuid`: is that the summary's row, they come BEHIND the
# summary; is it the boundary's own, they come BEFORE it. `/compact` itself keeps the last answer so.
#
# Seen: one transcript, of a boundary, a summary and one more question, resumed with both anchors; the
# rows, their order and their parents are the same. The kept answer is behind the summary, or before it.
# Without `preservedSegment` and `preservedMessages` it is not sent at all.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/claude" @anthropic-ai/claude-code@2.1.332 >/dev/null 2>&1
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
anchor = sys.argv[1]
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
kept = {}
if anchor != "none":
    kept = {"preservedSegment": {"headUuid": ids["a1"], "anchorUuid": ids[anchor], "tailUuid": ids["a1"]},
            "preservedMessages": {"anchorUuid": ids[anchor], "uuids": [ids["a1"]], "allUuids": [ids["a1"]]}}
rows[2]["compactMetadata"] = {"trigger": "manual", "preTokens": 100, **kept}
user("u2", "s", "NEW QUESTION")
answer("a2", "u2", "NEW ANSWER")
place = home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(project))
place.mkdir(parents=True, exist_ok=True)
(place / f"{session}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{open('port').read()}",
    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
claude = pathlib.Path("claude/node_modules/.bin/claude").resolve()
subprocess.run([claude, "-p", "--resume", session, "Go on."], cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)
words = ("OLD QUESTION", "KEPT ANSWER", "THE SUMMARY", "NEW QUESTION", "NEW ANSWER")
sent = json.dumps(json.load(open("sent.json"))["messages"])
print(sorted((one for one in words if one in sent), key=sent.index))
PY
behind=$(python3 ask.py s)
before=$(python3 ask.py b)
without=$(python3 ask.py none)
echo "anchor is the summary:  $behind"
echo "anchor is the boundary: $before"
echo "nothing is named:       $without"
[ "$behind" = "['THE SUMMARY', 'KEPT ANSWER', 'NEW QUESTION', 'NEW ANSWER']" ]
[ "$before" = "['KEPT ANSWER', 'THE SUMMARY', 'NEW QUESTION', 'NEW ANSWER']" ]
[ "$without" = "['THE SUMMARY', 'NEW QUESTION', 'NEW ANSWER']" ]
