"""Keep an agent's memory with its answers, in every branch the one that fits."""

from os import environ

from forklore import Forklore

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

chat = fl.conversation()
question = chat.turn("user", "Name a fish.", context=["user: Name a fish."])

# The agent hands over its whole memory each time. Only what is new is written.
memory = ["user: Name a fish.", "ai: A goldfish."]
answer = chat.turn("ai", "A goldfish.", context=memory)
if answer.context and answer.context.entry:
    print("written:", answer.context.entry.content)

# A memory can also be synced alone. One that does not go on from the last one begins an epoch.
print("unchanged:", chat.context.sync(memory).no_op)
done = chat.context.sync(["fish: goldfish"])
print("compacted: epoch", done.epoch)
print("the agent remembers:", chat.context.latest())
for entry in chat.context.entries(epoch="all"):
    print(f"  epoch {entry.epoch}: {entry.content}")

# A fork before the answer has the memory of that moment.
second = chat.fork(before=answer)
print("before the answer:", second.context.latest())
