#!/usr/bin/env bash
# An agent's memory: send the whole context each time. forklore writes only the new part, or a new
# epoch.
. "$(dirname "$0")/client.sh"
KEY=local-key
conversation=$(new_id)

# sync CONTENT: what was done, and in which epoch.
sync() {
  call alice POST "/conversations/$conversation/entries/sync" '{"contentType": "text/plain", "content": '"$1"'}' |
    python3 -c 'import json, sys
done = json.load(sys.stdin)
entry = done["entry"]
print("epoch", done["epoch"], "wrote", entry["content"] if entry else "nothing")'
}

sync '["likes fish", "has a 60 l tank"]'
sync '["likes fish", "has a 60 l tank"]'
sync '["likes fish", "has a 60 l tank", "bought a danio"]'
sync '["keeps a danio in 60 l"]'

# The latest epoch is what the agent remembers; the older ones stay.
for epoch in latest all; do
  call alice GET "/conversations/$conversation/entries?channel=context&epoch=$epoch" | python3 -c 'import json, sys
print(sys.argv[1], [part for entry in json.load(sys.stdin)["data"] for part in entry["content"]], sep=": ")' "$epoch"
done
