"""`python -m tests.support.writer SHIFT date|no-date`: a process that appends, with a wrong clock.

Each line of its standard input is a job with the members name, user, client, conversations, appends
and threads. An append that finds the service busy is repeated if it has an Idempotency-Key.

It prints a line for each entry as soon as the entry is acknowledged; a line with `perhaps` and the
texts of each append whose result is unknown; and at the end a line with `done` or `failed`.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from queue import Queue
from random import Random
from typing import Any

from tests.support.machine_clock import MachineClock, end_with_parent, set_machine_clock

BATCH_SHARE = 0.15
CONTEXT_SHARE = 0.25
KEY_SHARE = 0.5


def main() -> None:
    """Do jobs until the standard input closes."""
    set_machine_clock(MachineClock.from_arguments(sys.argv[1:]))
    jobs: Queue[str] = Queue()
    end_with_parent(jobs.put)
    while True:
        job = json.loads(jobs.get())
        with ThreadPoolExecutor(job["threads"]) as threads:
            done = [threads.submit(append_all, job, number) for number in range(job["threads"])]
        failures = [repr(error) for future in done if (error := future.exception())]
        say({"failed": failures} if failures else {"done": True})


def append_all(job: Any, number: int) -> None:
    """Append to random conversations of the job: one entry, three entries, or context."""
    from forklore_service.domain.model import Caller, Channel
    from forklore_service.errors import UnavailableError
    from tests.support.writing import append, open_table

    table, random = open_table(), Random(f"{job['name']} {number}")
    caller = Caller(job["user"], job["client"])
    for at in range(job["appends"]):
        texts = [
            f"{job['name']}.{number}.{at}.{part}" for part in range(3 if random.random() < BATCH_SHARE else 1)
        ]
        channel = Channel.CONTEXT if random.random() < CONTEXT_SHARE else Channel.HISTORY
        conversation_id = random.choice(job["conversations"])
        key = texts[0] if random.random() < KEY_SHARE else None
        try:
            for acknowledged in append(table, caller, conversation_id, texts, channel, key=key):
                say(asdict(acknowledged))
        except UnavailableError:
            say({"perhaps": texts})


def say(line: Any) -> None:
    """Print one line at once, because threads share the output."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
