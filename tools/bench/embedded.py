"""How much forklore.local.moto_speed saves: the same appends and reads, with and without it, in one run.

python -m tools.bench.embedded [--trees 100]
"""

import argparse
import subprocess
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).parent.parent


def measure(trees: int) -> tuple[float, float]:
    """Return the seconds that the last ten of `trees` small trees take to write, and to read."""
    from forklore.aws.wiring import open_table
    from forklore.domain.jsontext import text_of
    from forklore.domain.model import Caller, Channel
    from forklore.usecases.append import Append, Fork, append_entries
    from forklore.usecases.drafts import Draft
    from forklore.usecases.entries import ListEntriesRequest, PageStart, list_entries

    table, caller = open_table(), Caller("bench")
    draft = Draft(Channel.HISTORY, "history", text_of([{"role": "USER", "text": "hello " * 50}]))
    forks: list[str] = []
    started = 0.0
    for at in range(trees):
        if at == trees - 10:
            started = time.perf_counter()
        root, fork = str(uuid.uuid4()), str(uuid.uuid4())
        made = [append_entries(table, caller=caller, request=Append(root, [draft]))[0] for _ in range(4)]
        source = Fork(root, made[-1].entry_id)
        append_entries(table, caller=caller, request=Append(fork, [draft], fork=source))
        forks.append(fork)
    written = time.perf_counter() - started
    started = time.perf_counter()
    for fork in forks[-10:]:
        list_entries(table, caller=caller, request=ListEntriesRequest(fork, PageStart(), 50))
    return written, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trees", type=int, default=100, help="trees of two conversations and 5 entries")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        from forklore.local import embedded
        from forklore.local.template import read_template

        embedded.open_database(read_template(ROOT / "template.yaml").table, faster=not options.plain)
        print(*measure(options.trees))
        return
    seconds = []
    for flags in ([], ["--plain"]):
        command = [
            sys.executable,
            "-m",
            "tools.bench.embedded",
            "--one",
            "--trees",
            str(options.trees),
            *flags,
        ]
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        seconds.append([float(word) for word in out.split()])
    fast, plain = seconds
    items = options.trees * 22
    print(f"about {items} items; the last ten trees, plain moto against moto_speed:")
    print(f"  write {plain[0]:.2f} s : {fast[0]:.2f} s = {plain[0] / fast[0]:.1f}")
    print(f"  read  {plain[1]:.2f} s : {fast[1]:.2f} s = {plain[1] / fast[1]:.1f}")


if __name__ == "__main__":
    main()
