#!/usr/bin/env bash
# Search all conversations that one may see, also for entries whose content is not text.
. "$(dirname "$0")/client.sh"
me=$(new_id) trip=$(new_id) fish=$(new_id)

call "$me" POST "/conversations/$trip/entries" "$(message USER 'Plan two nights in Lisbon.')" > /dev/null
call "$me" POST "/conversations/$fish/entries" "$(message USER 'Is a goldfish awake at night?')" > /dev/null

# The content is opaque; it is found by its indexedContent, which no answer shows.
pdf='{"contentType": "application/pdf", "content": ["JVBERi0xLjcK"], "indexedContent": "2 NIGHTS, 240 EUR"}'
call "$me" POST "/conversations/$trip/entries" "$pdf" > /dev/null

for query in 'night' 'lisbon nights' 'eur'; do
  echo "$query:"
  call "$me" POST /conversations/search '{"query": "'"$query"'", "includeEntry": false}' | python3 -c 'import json, sys
for hit in json.load(sys.stdin)["data"]: print("  {conversationTitle}: {highlights}".format(**hit))'
done
