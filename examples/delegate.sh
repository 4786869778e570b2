#!/usr/bin/env bash
# Delegate a task to a sub-agent. It works in a child conversation and reports to the parent.
. "$(dirname "$0")/client.sh"
KEY=local-key
trip=$(new_id) task=$(new_id)

asked=$(call alice POST "/conversations/$trip/entries" "$(message USER 'Plan two nights in Lisbon.')" | field id)

# The child begins with its first entry. It inherits no entries, but the trip's owner and members.
by=', "startedByConversationId": "'$trip'", "startedByEntryId": "'$asked'", "agentId": "hotel-finder"'
call alice POST "/conversations/$task/entries" "$(message USER 'Find a quiet hotel.' "$by")" > /dev/null
call alice POST "/conversations/$task/entries" "$(message AI 'Casa do Jardim, two nights.')" > /dev/null

call alice POST "/conversations/$trip/entries" "$(message AI 'Your hotel: Casa do Jardim.')" > /dev/null
call alice GET "/conversations/$trip/entries?channel=history" | texts
echo "its children:"
call alice GET "/conversations/$trip/children" | python3 -c 'import json, sys
for child in json.load(sys.stdin)["data"]: print("  {agentId}: {lastMessagePreview}".format(**child))'
