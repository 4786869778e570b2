"""Talk, fork, and compare."""

from os import environ

from forklore import Forklore, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

chat = fl.named("trip")  # found, or made with its first entry
asked = chat.say("user", "Two nights in Lisbon?")
memory = ["Lisbon: 2 nights, Casa do Jardim"]
chat.turn("ai", "Casa do Jardim, 240 EUR.", context=memory, usage={"outputTokens": 9})  # both or neither
edit = chat.fork(before=asked, move_name=True)  # edit and send again: "trip" is the fork now
edit.say("user", "Three nights in Porto?")
tries = chat.fork(after=asked, count=3)  # three more answers to the question
tries[0].say("ai", "Hotel Lumiares, 260 EUR.")
for branch in chat.compare(tries[0]).branches:
    print("one answer:", *map(text_of, branch.data))
print("asked in other words:", len(chat.alternatives_of(asked)))
task = chat.start_child("hotel-finder", by=asked)  # for a sub-agent
task.say("user", "Is Casa do Jardim quiet?")
chat.context.sync([*memory, "hotel-finder is asked"])  # only what is new is written
print("the agent remembers:", *chat.context.latest(), sep="\n  ")
print("trip:", *map(text_of, fl.named("trip").entries(channel="history")))
