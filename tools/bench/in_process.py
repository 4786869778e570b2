"""What calls in this process take: `tools.bench.machine` runs this with each checkout's Python.

It imports nothing but forklore's client, so that any version of forklore can run it. It prints the
names of its rows as JSON. Then each line of the input, `[name, times]`, is answered by a line with
the milliseconds of CPU and of wall time of one call.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

from forklore import Forklore

TEXT = "x" * 500
FORKS, FORKS_AT_ONCE = 300, 10


def calls(fl: Forklore) -> Mapping[str, Callable[[], object]]:
    """Make what they need, and return the calls by name."""
    talk, tree, name, api = fl.create(), fl.create(), fl.named("bench"), fl.api
    tree.say("user", TEXT)
    for _ in range(FORKS // FORKS_AT_ONCE):
        api.fork_conversation(tree.id, count=FORKS_AT_ONCE)
    content = [{"role": "USER", "text": TEXT}]
    return {
        "append": lambda: api.append_entry(talk.id, content_type="history", content=content),
        "named().say": lambda: name.say("user", TEXT),
        f"list of 200 of {FORKS + 1} forks": lambda: api.list_forks(tree.id, limit=200),
    }


def taken(call: Callable[[], object], times: int) -> tuple[float, float]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for _ in range(times):
        call()
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return cpu / times / 1e6, wall / times / 1e6


def main() -> None:
    """Answer until the input ends."""
    with tempfile.TemporaryDirectory() as data, Forklore.local(user="ann", client="planner", data=data) as fl:
        rows = calls(fl)
        print(json.dumps(list(rows)), flush=True)
        for line in sys.stdin:
            named, times = json.loads(line)
            print(json.dumps(taken(rows[named], times)), flush=True)


if __name__ == "__main__":
    main()
