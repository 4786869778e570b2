"""Try something in a fork, and bring the result back."""

from os import environ

from forklore import Forklore, role_of, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

chat = fl.conversation()
chat.say("user", "Which filter fits 60 l?")
answer = chat.say("ai", "An internal one.")

attempt = chat.fork(after=answer)
asked = attempt.say("user", "And without noise?")
result = attempt.say("ai", "A sponge filter.")

# A summary is an entry that names the branch, and the last entry of it that it covers.
chat.say(
    "ai",
    "If it must be quiet: a sponge filter.",
    merged_from_conversation_id=attempt.id,
    merged_up_to_entry_id=result.id,
)
for entry in chat.entries(channel="history"):
    print(f"{role_of(entry)}: {text_of(entry)}")

# Or copy the entries themselves. Each copy names its original.
second = chat.fork(after=answer)
copies = second.merge(attempt, after_entry_id=asked.id)
print("copied:", *map(text_of, copies))
print("from the attempt:", copies[0].copied_from_entry_id == result.id)
