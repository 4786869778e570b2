"""Test a prompt: fifty tries of one answer as forks, each with a score. `pytest` runs it, too."""

from os import environ
from random import Random

from forklore import Forklore, Way

if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")

TRIES = 50
draw = Random(7)


def model(question: str) -> tuple[str, int]:
    """Answer as a model would, and say how many tokens it took. Here it is wrong now and then."""
    right = draw.random() < 0.9
    return ("Lisbon." if right else "Madrid."), len(question) + draw.randint(2, 9)


def tries_of(question: str, wanted: str) -> list[Way]:
    """Answer a question many times, keep each answer on a branch of its own, and score it."""
    chat = fl.conversation()
    asked = chat.say("user", question, title=question)
    tries, scores = chat.fork(after=asked, count=TRIES), {}
    for fork in tries:
        answer, tokens = model(question)
        fork.say("ai", answer, usage={"inputTokens": len(question), "outputTokens": tokens})
        scores[fork.id] = int(wanted in answer)
    chat.set_scores(scores)
    return chat.ways(tries[0].history().list()[-1])


def test_most_tries_name_the_capital() -> None:
    """Hold the prompt against what it must reach."""
    ways = tries_of("What is the capital of Portugal?", "Lisbon")

    assert len(ways) == TRIES
    assert sum(way.score or 0 for way in ways) / TRIES >= 0.8
    assert max(way.output_tokens for way in ways) < 50
    print(sum(way.score == 1 for way in ways), "of", len(ways), "are right")
    print({way.last for way in ways if way.score == 0}, "is wrong")


if __name__ == "__main__":
    test_most_tries_name_the_capital()
