"""Write an answer while others read it. What breaks off does not look whole."""

import time
from collections.abc import Iterator
from os import environ

from forklore import Forklore, text_of
from forklore.client.results import AnswerLog

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")


def show(log: AnswerLog) -> None:
    """Print what others see of an answer."""
    print(f"{log.state}:", "".join(text for part in log.parts for text in part.content))


def failing_model() -> Iterator[str]:
    """Say something, and fail."""
    yield "And "
    yield "in the"
    raise TimeoutError("the model does not answer")


chat = fl.conversation()
asked = chat.say("user", "Where can I swim in May?")

with chat.answer(after=asked) as answer:
    answer.write("On Madeira")
    while not (log := fl.api.get_answer(chat.id, answer.id)).parts:
        time.sleep(0.1)  # what is new is sent twice a second
    show(log)
    answer.write(", in the north.")
print("entries:", [text_of(one) for one in chat.entries()])

# Another answer to the same question becomes a fork when it is finished.
with chat.answer(after=asked) as answer:
    answer.write("On Porto Santo.")
    entry = answer.finish(fork=True)
fork = fl.conversation(entry.conversation_id)
print("fork:", [text_of(one) for one in fork.entries()])

# If the model fails, others see how far it came, and there is no entry.
try:
    with chat.answer() as answer:
        for word in failing_model():
            answer.write(word)
except TimeoutError as error:
    print(error)
show(fl.api.get_answer(chat.id, answer.id))
print("entries:", len(chat.entries().list()))
