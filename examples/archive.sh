#!/usr/bin/env bash
# Archive a conversation. It is left out of one's own lists, and stays where it is for all others.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which filter do we buy?')" > /dev/null
member='{"userId": "bob", "accessLevel": "reader"}'
call alice POST "/conversations/$conversation/memberships" "$member" > /dev/null

listed() { # user, query: whether the user's list has the conversation
  if call "$1" GET "/conversations?$2" | grep -q "$conversation"; then echo yes; else echo no; fi
}

echo "bob archives: $(status bob PUT "/conversations/$conversation/archive")"
echo "bob lists it: $(listed bob "")"
echo "bob lists it in the archive: $(listed bob archived=only)"
echo "alice lists it: $(listed alice "")"

call alice POST "/conversations/$conversation/entries" "$(message USER 'The quiet one.')" > /dev/null
echo "bob lists it after a new message: $(listed bob "")"
echo "bob takes it out: $(status bob DELETE "/conversations/$conversation/archive")"
echo "bob lists it: $(listed bob "")"
