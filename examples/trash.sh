#!/usr/bin/env bash
# A deleted chat waits in the trash. Its owner restores it, or deletes it for good.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which fish are easy?')" > /dev/null
call alice POST "/conversations/$conversation/memberships" '{"userId": "bob", "accessLevel": "reader"}' > /dev/null
in_trash() { call alice GET /trash | grep -c "$conversation" || true; }

echo "delete: $(status alice DELETE "/conversations/$conversation")"
echo "bob reads it: $(status bob GET "/conversations/$conversation")"
echo "in the trash: $(in_trash)"
echo "bob restores it: $(status bob POST "/conversations/$conversation/restore")"
echo "alice restores it: $(status alice POST "/conversations/$conversation/restore")"
echo "in the trash: $(in_trash)"
call bob GET "/conversations/$conversation/entries" | texts

echo "delete for good: $(status alice DELETE "/conversations/$conversation?forGood=true")"
echo "alice restores it: $(status alice POST "/conversations/$conversation/restore")"
