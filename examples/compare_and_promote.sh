#!/usr/bin/env bash
# Ask for two more answers to one question, compare, and make the better one the current branch.
. "$(dirname "$0")/client.sh"
root=$(new_id)

call alice POST "/conversations/$root/entries" "$(message USER 'Name a good first fish.')" > /dev/null
answer=$(call alice POST "/conversations/$root/entries" "$(message AI 'A goldfish.')" | field id)

# Two equal forks before the answer, in one request.
equal() { python3 -c 'import json, sys; print(*(fork["id"] for fork in json.load(sys.stdin)["data"]))'; }
forks=$(call alice POST "/conversations/$root/fork" '{"atEntryId": "'"$answer"'", "count": 2}' | equal)
read -r danio guppy <<< "$forks"
call alice POST "/conversations/$danio/entries" "$(message AI 'A zebra danio: small and hardy.')" > /dev/null
call alice POST "/conversations/$guppy/entries" "$(message AI 'A guppy: it has many young.')" > /dev/null

# What two branches show after the last entry that both show.
sides() {
  python3 -c 'import json, sys
for side in json.load(sys.stdin)["branches"]: print("  {role}: {text}".format(**side["data"][0]["content"][0]))'
}
for fork in "$danio" "$guppy"; do
  echo 'The first answer and another:'
  call alice GET "/conversations/$root/compare?with=$fork" | sides
done

# An interface opens the current branch of each tree.
status alice POST "/conversations/$danio/promote"
opened() { python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0]["lastMessagePreview"])'; }
call alice GET '/conversations?mode=current&limit=1' | opened
