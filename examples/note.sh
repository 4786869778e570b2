#!/usr/bin/env bash
# Note what is good or bad in a step. A fork that shows the step shows the note, and no model reads it.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)
fork=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which filter do we buy?')" > /dev/null
answer=$(call alice POST "/conversations/$conversation/entries" "$(message AI 'The loud one.')" | field id)
call alice POST "/conversations/$conversation/fork" "{\"id\": \"$fork\"}" > /dev/null

call alice POST "/conversations/$conversation/entries/$answer/notes" \
  '{"text": "Nobody can sleep beside it.", "score": 0.2}' > /dev/null
noted='import json, sys
for note in json.load(sys.stdin)["data"]: print(" ", note["score"], note["text"])'
echo "the fork shows the note:"
call alice GET "/conversations/$fork/notes" | python3 -c "$noted"
echo "the history has none of it:"
call alice GET "/conversations/$fork/entries" | texts
