#!/usr/bin/env bash
# Fork a conversation before an answer, give another answer, and compare. Nothing is copied.
. "$(dirname "$0")/client.sh"
root=$(new_id) fork=$(new_id)

call alice POST "/conversations/$root/entries" "$(message USER 'Name a good first fish.')" > /dev/null
answer=$(call alice POST "/conversations/$root/entries" "$(message AI 'A goldfish.')" | field id)

# forkedAtEntryId is the first entry that the fork does not inherit.
at=', "forkedAtConversationId": "'$root'", "forkedAtEntryId": "'$answer'"'
call alice POST "/conversations/$fork/entries" "$(message AI 'A zebra danio: small and hardy.' "$at")" > /dev/null

for each in "$root" "$fork"; do
  call alice GET "/conversations/$each" | field title
  call alice GET "/conversations/$each/entries" | texts
done
