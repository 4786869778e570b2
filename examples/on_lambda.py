"""Invoke the function of a deployed stack, without HTTP. It needs credentials of AWS.

FORKLORE_FUNCTION is the stack's output AgentFunctionName.
"""

from os import environ

from forklore import Forklore, role_of, text_of

fl = Forklore.on_lambda(environ.get("FORKLORE_FUNCTION", "AgentFunction"), user="ann", client="planner")

chat = fl.conversation()
asked = chat.say("user", "Two nights in Lisbon?")
chat.turn("ai", "Casa do Jardim.", context=["Lisbon: 2 nights"])
for entry in chat.entries(channel="history"):
    print(f"{role_of(entry)}: {text_of(entry)}")
print("the agent remembers:", chat.context.latest())

# Whoever may invoke the function speaks for every user.
bob = fl.acting_as("bob")
chat.share("bob", "reader")
print("bob reads:", *map(text_of, bob.conversation(chat.id).entries()))
