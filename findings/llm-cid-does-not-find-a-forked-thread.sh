#!/bin/sh
# llm 0.36 (PyPI llm): `LogStore.fork` returns the id of a new thread, and `LogStore.thread_messages`
# reads all messages of it. But `llm --cid ID`, which goes on with any thread that the program itself
# has made, says "No conversation found" of this one: it takes the model from the thread's last row in
# `turns`, and a fork has none until something has been said in it. `-m` does not help.
#
# Seen: with a row in `turns` that holds no more than an id, the thread and a model's name, the same
# command finds the thread, and asks for that model.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check llm==0.36
export LLM_USER_PATH="$folder/llm" OPENAI_API_KEY=made-up
mkdir "$LLM_USER_PATH"
# A model at an address where nobody answers: what is seen is how far llm comes.
echo '[{"model_id": "nobody", "model_name": "nobody", "api_base": "http://127.0.0.1:9/v1"}]' \
	>"$LLM_USER_PATH/extra-openai-models.yaml"

fork=$("$folder/venv/bin/python" - <<'PY'
import os, llm, sqlite_utils
from llm.logs import LogStore
store = LogStore(sqlite_utils.Database(os.environ["LLM_USER_PATH"] + "/logs.db"))
tip = store.ensure_chain([llm.user("How deep is the harbour?"), llm.assistant("Twelve metres.")])
fork = store.fork(tip, name="Another way")
assert len(store.thread_messages(fork)) == 2
print(fork)
PY
)

said() {
	timeout 100 "$folder/venv/bin/llm" --cid "$fork" "$@" 2>&1 || true
}
alone=$(said "And at noon?")
named=$(said -m nobody "And at noon?")
echo "a fork: $alone"
echo "a fork, with -m: $named"
"$folder/venv/bin/python" - "$fork" <<'PY'
import os, sys, sqlite_utils
database = sqlite_utils.Database(os.environ["LLM_USER_PATH"] + "/logs.db")
database["turns"].insert({"id": "one", "thread_id": sys.argv[1], "model": "nobody"})
PY
found=$(said "And at noon?")
echo "with a turn: $found"
case "$alone$named" in *"No conversation found"*"No conversation found"*) ;; *) exit 1 ;; esac
case "$found" in *"No conversation found"*) exit 1 ;; *"onnection error"*) ;; *) exit 1 ;; esac
