"""Delegate a task to a sub-agent, which works in a conversation of its own."""

from os import environ

from forklore import Forklore, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

trip = fl.conversation()
asked = trip.say("user", "Plan two nights in Lisbon.")

# A child is made by its first entry. It has the members of the trip, and none of its entries.
task = trip.start_child("hotel-finder", by=asked)
task.say("user", "Find a quiet hotel.")
task.say("ai", "Casa do Jardim, two nights.")

# The result goes into the trip as an entry of its own.
[result] = task.entries(backward=True, channel="history").list(limit=1)
trip.say("ai", f"Your hotel: {text_of(result)}")

for child in trip.children(by=asked):
    print(f"{child.agent_id}: {child.last_message_preview}")
print("the trip:", *map(text_of, trip.entries(channel="history")))
