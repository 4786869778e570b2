#!/usr/bin/env bash
# Delete one branch of a conversation. The branches that were forked from it keep what they inherited.
. "$(dirname "$0")/client.sh"
root=$(new_id)

call alice POST "/conversations/$root/entries" "$(message USER 'Where to in May?')" > /dev/null
draft=$(call alice POST "/conversations/$root/fork" '{}' | field id)
call alice POST "/conversations/$draft/entries" "$(message AI 'Lisbon.')" > /dev/null
final=$(call alice POST "/conversations/$draft/fork" '{}' | field id)
call alice POST "/conversations/$draft/entries" "$(message AI 'Or Porto?')" > /dev/null
call alice POST "/conversations/$final/entries" "$(message USER 'Lisbon it is.')" > /dev/null

# The draft is gone at once. What nobody shows any more, its last entry, is removed soon after.
echo "delete the draft: $(status alice DELETE "/conversations/$draft?scope=branch")"
echo "read the draft: $(status alice GET "/conversations/$draft/entries")"
call alice GET "/conversations/$final/entries" | texts

# A root is a branch like any other. Another branch is the tree's current one from then on.
echo "delete the root: $(status alice DELETE "/conversations/$root?scope=branch")"
call alice GET "/conversations/$final/entries" | texts

# To delete the last branch is to delete the tree.
echo "delete the last: $(status alice DELETE "/conversations/$final?scope=branch")"
