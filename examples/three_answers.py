"""Give three answers to one question at once, compare them, and keep the best."""

from os import environ

from forklore import Forklore, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

chat = fl.conversation()
asked = chat.say("user", "Name a good first fish.", title="First fish")

# Three equal forks in one request. Each can be written to on its own.
answers = ["A goldfish.", "A zebra danio: small and hardy.", "A guppy: it has many young."]
tries = chat.fork(after=asked, count=3)
for answer, fork in zip(answers, tries, strict=True):
    fork.say("ai", answer)

# Where the branches part, and how each goes on.
for compared in tries[0].compare(*tries[1:]).branches:
    print("|", text_of(compared.data[0]))

# The current branch is the one that an interface opens.
best = tries[1]
best.promote()
for branch in chat.forks():
    mark = "*" if branch.is_current else " "
    details = fl.conversation(branch.conversation_id).details()
    print(f"{mark} {details.last_message_preview}")
