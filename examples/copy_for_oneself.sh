#!/usr/bin/env bash
# A reader copies a conversation, or the whole tree, to a tree of their own, and goes on there.
. "$(dirname "$0")/client.sh"
conversation=$(new_id) mine=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which plants need little light?')" > /dev/null
call alice POST "/conversations/$conversation/entries" "$(message AI 'Java fern and anubias.')" > /dev/null
call alice POST "/conversations/$conversation/memberships" '{"userId": "carol", "accessLevel": "reader"}' > /dev/null

echo "carol forks: $(status carol POST "/conversations/$conversation/fork" '{}')"
call carol POST "/conversations/$conversation/copy" '{"id": "'$mine'", "title": "My plants"}' | field ownerUserId
call carol POST "/conversations/$mine/entries" "$(message USER 'And which of them float?')" > /dev/null

call carol GET "/conversations/$mine/entries" | texts
echo "alice reads it: $(status alice GET "/conversations/$mine/entries")"

call alice POST "/conversations/$conversation/fork" '{}' > /dev/null
tree=$(call carol POST "/conversations/$conversation/copy-tree" '{}' | field id)
branches='import json, sys; print("branches of the copied tree:", len(json.load(sys.stdin)["data"]))'
call carol GET "/conversations/$tree/forks" | python3 -c "$branches"
