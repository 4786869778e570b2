"""Search all conversations that one may see."""

from os import environ

from forklore import Forklore

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

fl.conversation().say("user", "Plan two nights in Lisbon.", title="Trip")
fish = fl.conversation()
fish.say("user", "Is a goldfish awake at night?", title="Fish")

# Content can be anything. It is found by the text that goes with it.
fish.append(["JVBERi0xLjcK"], content_type="application/pdf", indexed_content="A lamp, 24 EUR")

for words in ("night", "nights lisbon", "lamp"):
    print(f"{words}:")
    for hit in fl.search(words):
        print(f"  {hit.conversation_title}: {hit.highlights}")
