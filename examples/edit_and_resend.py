"""Edit a message and send it again. The old branch stays as it is."""

from os import environ

from forklore import Conversation, Forklore, role_of, text_of

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")


def show(title: str, chat: Conversation) -> None:
    """Print the history of a conversation."""
    print(title)
    for entry in chat.entries(channel="history"):
        print(f"  {role_of(entry)}: {text_of(entry)}")


chat = fl.named("weekend")
chat.say("user", "Where can I swim in May?")
chat.say("ai", "On Madeira.")
asked = chat.say("user", "Is it cheap?", key="message 3")
chat.say("ai", "Rather not.")

# The fork shows what came before the question. The name moves to it in the same step.
edit = chat.fork(before=asked, move_name=True)
edit.say("user", "Which beach is quiet?")
edit.say("ai", "Porto Santo.")

show("weekend:", fl.named("weekend"))
show("as it was:", chat)

# The ones that an interface shows beside "Is it cheap?", as 2 of 2.
for other in chat.alternatives_of(asked):
    [first] = other.entries(channel="history", own=True).list(limit=1)
    print("or:", text_of(first))

# By a key of one's own, one append does it all: it forks, and makes the fork the current branch.
again = fl.conversation()
again.say("user", "Is it far?", forked_at_conversation_id=chat.id, forked_at_key="message 3", promote=True)
show("current:", again)
