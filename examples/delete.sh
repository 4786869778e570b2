#!/usr/bin/env bash
# Delete a conversation, with its whole fork tree and all child conversations.
. "$(dirname "$0")/client.sh"
root=$(new_id) task=$(new_id)

call alice POST "/conversations/$root/entries" "$(message USER 'Forget this.')" > /dev/null
fork=$(call alice POST "/conversations/$root/fork" '{}' | field id)
by=', "startedByConversationId": "'$root'"'
call alice POST "/conversations/$task/entries" "$(message USER 'And this.' "$by")" > /dev/null

# Any conversation of the tree may be named. trash.sh takes it back.
echo "delete: $(status alice DELETE "/conversations/$fork")"
for each in "$root" "$fork" "$task"; do
  echo "read: $(status alice GET "/conversations/$each/entries")"
done
echo "the same id again: $(status alice POST /conversations '{"id": "'"$root"'"}')"
