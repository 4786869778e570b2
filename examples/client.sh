# The recipes source this file to call forklore. FORKLORE_URL is the address of the service.
set -euo pipefail
api=${FORKLORE_URL:-http://127.0.0.1:8080}/v1

new_id() { python3 -c 'import uuid; print(uuid.uuid4())'; }

# call USER METHOD PATH [BODY]: prints the answer. With KEY set, the call is an agent's.
call() {
  curl --silent --show-error --request "$2" "$api$3" --header "Authorization: Bearer $1" \
    --header 'Content-Type: application/json' ${KEY:+--header "X-API-Key: $KEY"} ${4:+--data "$4"} ${show:-}
}

# status USER METHOD PATH [BODY]: prints only the answer's status.
status() { show='--output /dev/null --write-out %{http_code}\n' call "$@"; }

# field NAME: prints a field of the JSON object on standard input.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# message ROLE TEXT [MORE FIELDS]: prints the body of a message to append.
message() {
  printf '{"channel": "history", "contentType": "history", "content": [{"role": "%s", "text": "%s"}]%s}' \
    "$1" "$2" "${3:-}"
}

# texts: prints the messages of a page of entries on standard input.
texts() {
  python3 -c 'import json, sys
for entry in json.load(sys.stdin)["data"]: print("  {role}: {text}".format(**entry["content"][0]))'
}
