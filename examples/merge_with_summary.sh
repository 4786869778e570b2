#!/usr/bin/env bash
# Try something in a fork, and bring the result back: as a summary, or as copies of its entries.
. "$(dirname "$0")/client.sh"
root=$(new_id) try=$(new_id)

call alice POST "/conversations/$root/entries" "$(message USER 'Which filter fits 60 l?')" > /dev/null
answer=$(call alice POST "/conversations/$root/entries" "$(message AI 'An internal one.')" | field id)

# Try something else in a fork after the answer.
call alice POST "/conversations/$root/fork" '{"id": "'$try'", "atEntryId": "'$answer'", "position": "after"}' > /dev/null
call alice POST "/conversations/$try/entries" "$(message USER 'And without noise?')" > /dev/null
result=$(call alice POST "/conversations/$try/entries" "$(message AI 'A sponge filter.')" | field id)

# The summary names the branch, and the last entry of it that it covers.
from=', "mergedFromConversationId": "'$try'", "mergedUpToEntryId": "'$result'"'
call alice POST "/conversations/$root/entries" "$(message AI 'If it must be quiet: a sponge filter.' "$from")" > /dev/null
call alice GET "/conversations/$root/entries" | texts

# Or copy the entries themselves, here only the last one.
echo "copied into a second fork:"
second=$(call alice POST "/conversations/$root/fork" '{"atEntryId": "'$answer'", "position": "after"}' | field id)
asked=$(call alice GET "/conversations/$try/entries" | python3 -c 'import json, sys
print(json.load(sys.stdin)["data"][-2]["id"])')
call alice POST "/conversations/$second/merge" '{"fromConversationId": "'$try'", "afterEntryId": "'$asked'"}' | texts
