#!/usr/bin/env bash
# Hand a conversation over: the owner offers it to a member, and the member accepts. There is always
# exactly one owner.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)

call alice POST /conversations '{"id": "'"$conversation"'", "title": "Our aquarium"}' > /dev/null
status alice POST "/conversations/$conversation/memberships" '{"userId": "bob", "accessLevel": "reader"}'

offer='{"conversationId": "'$conversation'", "newOwnerUserId": "bob"}'
transfer=$(call alice POST /ownership-transfers "$offer" | field id)
echo "bob accepts: $(status bob POST "/ownership-transfers/$transfer/accept")"

call alice GET "/conversations/$conversation/memberships" | python3 -c 'import json, sys
for member in json.load(sys.stdin)["data"]: print("  {userId}: {accessLevel}".format(**member))'
