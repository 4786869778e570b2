#!/usr/bin/env bash
# Call a session by a name, and go back in it.
. "$(dirname "$0")/client.sh"
me=$(new_id)
named() { call "$me" POST /names/entries "$(message "$1" "$2" ', "name": "trip"')"; }
shown() { call "$me" GET "/names/entries?name=trip" | texts; }

# There is no id to make up: the first message makes the conversation and the name.
first=$(named USER 'Plan two nights.' | field conversationId)
paris=$(named USER 'In Paris.' | field id)
named AI 'Hotel Lutetia.' > /dev/null
shown

echo 'Go back, and say something else:'
revision=$(call "$me" GET '/names/lookup?name=trip' | field revision)
fork='{"atEntryId": "'"$paris"'", "name": {"name": "trip", "expectRevision": '"$revision"'}}'
call "$me" POST "/conversations/$first/fork" "$fork" > /dev/null
named USER 'In Lisbon.' > /dev/null
shown

echo 'What was left behind is still there:'
call "$me" GET "/conversations/$first/entries" | texts
