"""Attach files to a message, name one again in a fork, and read the bytes."""

from os import environ

from forklore import Forklore, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

# A file is a path, what is open for reading bytes, or a name with bytes.
photo = b"\x89PNG\r\n\x1a\n" + bytes(2_000_000)
chat = fl.conversation()
asked = chat.say("user", "Is it this one?", files=[("casa.png", photo)])
[casa] = asked.attachments
print(casa.name, casa.content_type, casa.size)

# Nothing is uploaded a second time: a fork shows the same file, and an entry may name it again.
sent: list[int] = []
fork = chat.fork(after=asked)
known = fl.upload(("casa.png", photo), progress=lambda done, _: sent.append(done))
again = fork.say("user", "Or the one beside it?", files=[known])
print(text_of(again), known.id == casa.id, len(sent))

# Everybody who is shown the entry reads the bytes.
print(fl.read(casa) == photo)
