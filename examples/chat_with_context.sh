#!/usr/bin/env bash
# A chat loop: each message is saved together with the agent's context. Then an edit, a second answer
# and a compaction. In every branch the context fits the history.
. "$(dirname "$0")/client.sh"
KEY=local-key
chat=$(new_id) edit=$(new_id) second=$(new_id)

# turn CONVERSATION ROLE TEXT CONTEXT [MORE FIELDS]: appends a message with the whole context, and
# prints the message's id.
turn() {
  context=', "context": {"contentType": "text/plain", "content": '"$4"'}'
  call alice POST "/conversations/$1/entries" "$(message "$2" "$3" "$context${5:-}")" | field id
}

# look NAME CONVERSATION: prints the history and the context.
look() {
  echo "$1:"
  call alice GET "/conversations/$2/entries?channel=history" | texts
  call alice GET "/conversations/$2/entries?channel=context" | python3 -c 'import json, sys
print("  context:", [part for entry in json.load(sys.stdin)["data"] for part in entry["content"]])'
}

question=$(turn "$chat" USER 'Name a fish.' '["Name a fish."]')
answer=$(turn "$chat" AI 'A goldfish.' '["Name a fish.", "A goldfish."]')

# An edit: fork before the question. A second answer: fork before the answer.
before=', "forkedAtConversationId": "'$chat'", "forkedAtEntryId": '
turn "$edit" USER 'Name a small fish.' '["Name a small fish."]' "$before\"$question\"" > /dev/null
turn "$second" AI 'A danio.' '["Name a fish.", "A danio."]' "$before\"$answer\"" > /dev/null

# A compaction: the context that goes with the next message is a shorter one.
next=$(turn "$chat" USER 'Why?' '["fish: goldfish", "Why?"]')

look chat "$chat"
look edit "$edit"
look "second answer" "$second"

# A fork before the compaction has the long memory.
fork=$(call alice POST "/conversations/$chat/fork" '{"atEntryId": "'"$next"'"}' | field id)
look "before the compaction" "$fork"
