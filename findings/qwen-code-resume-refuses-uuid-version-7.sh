#!/bin/sh
# Qwen Code 0.24.4 stores a session under any UUID, but resumes only those of versions 1 to 5. An id
# of version 7, the one that many stores make today, is taken for the title of a session and not
# found, though the file is there and whole. The same file under an id of version 4 is resumed.
#
# Seen: `qwen --resume <v7>` ends at once with "No saved session found with title"; with <v4> it goes
# on to ask the model (here nobody listens at its address, so it fails later and in other words).
# Who writes sessions for Qwen Code must not use version 7.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix "$folder/qwen" @qwen-code/qwen-code@0.24.4 node@22.23.3 >/dev/null 2>&1
PATH="$folder/qwen/node_modules/node/bin:$PATH"
export PATH HOME="$folder/home" OPENAI_API_KEY=made-up OPENAI_BASE_URL=http://127.0.0.1:9/v1 OPENAI_MODEL=none
mkdir -p "$HOME" "$folder/project"
cd "$folder/project"
here=$(pwd -P)
slug=$(printf %s "$here" | sed 's/[^A-Za-z0-9]/-/g')

resume() {
	mkdir -p "$HOME/.qwen/projects/$slug/chats"
	about="\"sessionId\":\"$1\",\"cwd\":\"$here\",\"version\":\"0.24.4\",\"timestamp\":\"2026-11-01T10:00:00.000Z\""
	{
		echo "{\"uuid\":\"00000000-0000-4000-8000-000000000001\",\"parentUuid\":null,$about,\"type\":\"user\",\"message\":{\"role\":\"user\",\"parts\":[{\"text\":\"One boat\"}]}}"
		echo "{\"uuid\":\"00000000-0000-4000-8000-000000000002\",\"parentUuid\":\"00000000-0000-4000-8000-000000000001\",$about,\"type\":\"assistant\",\"message\":{\"role\":\"model\",\"parts\":[{\"text\":\"Noted.\"}]}}"
	} >"$HOME/.qwen/projects/$slug/chats/$1.jsonl"
	timeout 30 "$folder/qwen/node_modules/.bin/qwen" --auth-type openai --resume "$1" -p "And two?" 2>&1 </dev/null || true
}

seven=$(resume 01a223bb-6459-75fc-bfab-c49cc746d100)
four=$(resume 01a223bb-6459-45fc-bfab-c49cc746d100)
echo "version 7: $(echo "$seven" | grep -m 1 'No saved session' || echo resumed)"
echo "version 4: $(echo "$four" | grep -m 1 'No saved session' || echo resumed)"
echo "$seven" | grep -q 'No saved session found with title' || { echo "changed: version 7 is resumed"; exit 1; }
if echo "$four" | grep -q 'No saved session'; then echo "changed: version 4 is not resumed"; exit 1; fi
