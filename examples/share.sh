#!/usr/bin/env bash
# Share a conversation with a team. A membership is valid for every fork of the tree. Revoking it
# takes effect at once.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which filter do we buy?')" > /dev/null
for member in '"bob", "accessLevel": "writer"' '"carol", "accessLevel": "reader"'; do
  status alice POST "/conversations/$conversation/memberships" '{"userId": '"$member"'}'
done

echo "bob appends: $(status bob POST "/conversations/$conversation/entries" "$(message USER 'The quiet one.')")"
echo "carol appends: $(status carol POST "/conversations/$conversation/entries" "$(message USER 'Me too.')")"
echo "carol reads:"
call carol GET "/conversations/$conversation/entries" | texts

echo "revoke: $(status alice DELETE "/conversations/$conversation/memberships?userId=bob")"
echo "bob appends: $(status bob POST "/conversations/$conversation/entries" "$(message USER 'One more thing.')")"
