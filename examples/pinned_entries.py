"""Pin what is important in a conversation: all who see it see the pin, and so does each fork."""

from os import environ

from forklore import Conversation, Forklore

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")


def pinned(chat: Conversation) -> list[str]:
    """Return the pinned words, in the order of the conversation."""
    return [entry.content[0]["text"] for entry in chat.pinned_entries()]


trip = fl.conversation()
trip.say("user", "Where do we stay in Lisbon?")
address = trip.say("ai", "Casa do Jardim, Rua das Flores 12.")
rain = trip.say("ai", "Take an umbrella.")
budget = trip.say("user", "We have 450 euros for it all.")

trip.pin_entry(budget)
trip.pin_entry(address)
print("pinned:", pinned(trip))

earlier = trip.fork(before=rain)  # it shows what was said until then, and the pins on that
earlier.say("ai", "It will be sunny.")
print("in a fork:", pinned(earlier))

earlier.unpin_entry(address)  # the entry is one and the same in both
print("unpinned:", pinned(trip))
