"""Call sessions by names, and move a name."""

from os import environ

from forklore import ConflictError, Forklore, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

# There is no id to make up: the first entry makes the conversation and the name.
for session in ("session/fish", "session/trip"):
    fl.named(session).say("user", f"Hello from {session}.")
for name in fl.names("session/"):
    print(name.name)

# Rewind: fork before an entry, and move the name to the fork in the same step.
trip = fl.named("session/trip")
known = fl.api.look_up_name(name="session/trip").revision
wrong = trip.say("user", "In Paris.")
rewound = trip.fork(before=wrong, move_name=True)
rewound.say("user", "In Lisbon.")
print("trip:", *map(text_of, fl.named("session/trip").entries(channel="history")))

# Move a name only if nobody else has moved it.
try:
    trip.point("session/trip", expect_revision=known)
except ConflictError as error:
    print("not moved:", error.reason)
print("moves:", fl.api.look_up_name(name="session/trip").revision - known)
