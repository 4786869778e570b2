#!/usr/bin/env bash
# Show a conversation to somebody without an account, by a link. It shows nothing that is said later.
. "$(dirname "$0")/client.sh"
conversation=$(new_id)

call alice POST "/conversations/$conversation/entries" "$(message USER 'Which filter do we buy?')" > /dev/null
call alice POST "/conversations/$conversation/entries" "$(message AI 'The quiet one.')" > /dev/null
made=$(call alice POST "/conversations/$conversation/links" '{"days": 2}')
secret=$(field secret <<< "$made")
call alice POST "/conversations/$conversation/entries" "$(message USER 'Between us: the cheap one.')" > /dev/null

echo "who has the link reads:"
curl --silent --show-error "$api/links/$secret/entries" | texts
curl --silent --show-error "$api/links/$secret" > /dev/null
opens='import json, sys; print(json.load(sys.stdin)["data"][0]["opens"])'
echo "it was opened: $(call alice GET "/conversations/$conversation/links" | python3 -c "$opens")"
echo "alice ends it: $(status alice DELETE "/conversations/$conversation/links/$(field id <<< "$made")")"
echo "it opens: $(curl --silent --output /dev/null --write-out '%{http_code}' "$api/links/$secret")"
