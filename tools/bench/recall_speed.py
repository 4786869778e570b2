"""Measure what a recall costs one machine: python -m tools.bench.recall_speed [THOUSANDS]

THOUSANDS: of entries, each of 60 words, in conversations of 1,000; 100 if it is not set. All is
measured in one run, in CPU time, on a folder of its own, with the model of the extra `recall`:

* what it takes to make the vectors of 10,000 entries;
* a recall in a conversation beside a page of 50 of it, and a recall over all, warm;
* how much memory a process takes more at its peak than one that reads a page;
* an append with a model beside one without.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from forklore import Forklore
from forklore_local.in_process.embedding import Embedding
from forklore_local.in_process.models import WORDLLAMA

SYLLABLES = [first + vowel + last for first in "bcdfgklm" for vowel in "aeiou" for last in "lmnrst"]
WORDS = [f"{one}{other}" for one in SYLLABLES[:60] for other in SYLLABLES[::5]]
TIMES, APPENDS = 20, 300
OF_CONVERSATION = 1_000


def main(thousands: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, thousands)
        with Embedding(folder, WORDLLAMA) as embedding:
            begun = process_time()
            embedding.rebuild(lambda _: None)
            each = (process_time() - begun) / thousands / OF_CONVERSATION
        print(f"vectors of 10,000 entries: {10_000 * each:.1f} s")
        without, with_it = (asked(folder, how) for how in ("page", "recall"))
        print(f"in one conversation: {with_it['one'] / with_it['page']:.1f} times a page of 50")
        print(f"over {thousands},000 entries: {1_000 * with_it['all']:.0f} ms")
        print(f"memory: {with_it['peak'] - without['peak']:.0f} MB more")
        print(f"an append: {appended():.3f} times one without a model")


def said(random_: random.Random) -> str:
    return " ".join(random_.choices(WORDS, k=60))


def fill(folder: Path, thousands: int) -> None:
    """Put entries into a folder."""
    random_ = random.Random(1)
    with Forklore.local(user="ann", client="bench", data=folder) as fl:
        for _ in range(thousands):
            chat = fl.conversation()
            for number in range(OF_CONVERSATION):
                chat.say("ai" if number % 2 else "user", said(random_))


def asked(folder: Path, how: str) -> dict[str, float]:
    """Return what a new process measures."""
    command = [sys.executable, "-m", "tools.bench.recall_speed", how, str(folder)]
    answer: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer


def measured(how: str, folder: Path) -> dict[str, float]:
    """Return CPU seconds, and the peak of the memory in MB."""
    random_ = random.Random(2)
    with Forklore.local(user="ann", data=folder, recall=WORDLLAMA if how == "recall" else None) as fl:
        chat = fl.conversation(next(iter(fl.conversations())).id)

        def question() -> str:
            return "what did we say of " + " ".join(random_.choices(WORDS, k=4))

        calls: dict[str, Callable[[], Any]] = {"page": lambda: fl.api.list_entries(chat.id, limit=50)}
        if how == "recall":
            calls |= {"one": lambda: chat.recall(question()), "all": lambda: fl.recall(question())}
        times = spent(calls)
    return times | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000}


def spent(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median CPU time of each call, which was made before; by turns."""
    for call in calls.values():
        call()
    taken = [{name: time_of(call) for name, call in calls.items()} for _ in range(TIMES)]
    return {name: median(one[name] for one in taken) for name in calls}


def time_of(call: Callable[[], Any]) -> float:
    begun = process_time()
    call()
    return process_time() - begun


def appended() -> float:
    """Return how long an append takes with a model, as a part of one without; by turns."""
    random_ = random.Random(3)
    with (
        Forklore.local(user="ann", client="bench") as without,
        Forklore.local(user="ann", client="bench", recall=WORDLLAMA) as with_it,
    ):
        chats = [without.conversation(), with_it.conversation()]
        times: list[list[float]] = [[], []]
        for _ in range(APPENDS):
            text = said(random_)
            for chat, taken in zip(chats, times, strict=True):
                taken.append(time_of(lambda chat=chat, text=text: chat.say("user", text)))  # type: ignore[misc]
    return median(times[1]) / median(times[0])


if __name__ == "__main__":
    if sys.argv[1:2] in (["page"], ["recall"]):
        print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
