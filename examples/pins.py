"""Pin what one comes back to: each user has an own order of pins, and nobody else sees it."""

from os import environ

from forklore import Forklore

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")


def pinned() -> list[str | None]:
    """Return the titles of the pinned trees, in the order of the pins."""
    return [one.title for one in fl.conversations(pinned=True, ancestry="all")]


trip, soup, house = (fl.conversation() for _ in range(3))
trip.say("user", "Two nights in Lisbon?", title="Lisbon")
soup.say("user", "Which beans go into it?", title="Soup")
house.say("user", "What does a new roof cost?", title="House")

trip.pin()
soup.pin()  # a new pin is the first
house.pin(after=soup)
print("pinned:", pinned())

trip.pin()  # once more: it moves
print("moved:", pinned())

later = trip.fork()  # a pin is of the whole fork tree
later.say("ai", "Casa do Jardim has a room.")
later.promote()
print("with a fork:", pinned())

for chat in (later, soup, house):
    chat.unpin()
print("unpinned:", pinned())
