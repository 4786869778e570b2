"""The command line: read the file, load it, verify it, print the result."""

import argparse
import os
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console

from forklore.cli.importing.values import MalformedFileError
from tools.demo.client import Client, ClientError
from tools.demo.draw import draw_tree
from tools.demo.load import LoadedTree, load_tree
from tools.demo.parallel import map_parallel
from tools.demo.plan import Plan, leaves, plan_tree
from tools.demo.progress import progress
from tools.demo.reading import read_trees
from tools.demo.verify import verify_tree

SAME, DIFFERENT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
DIFFERENCES_SHOWN_MAX = 10
PARALLEL_MAX = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. loaded: in the file's order. load_s, verify_s: wall time in seconds."""

    loaded: list[LoadedTree]
    differences: list[str]
    requests: int
    retries: int
    load_s: float
    verify_s: float


def main(argv: Sequence[str] | None = None, *, transport: httpx.BaseTransport | None = None) -> int:
    """Return the exit code.

    0: everything is the same. 1: differences. 2: bad input or no server. 130: interrupted.

    transport: for tests, in place of the network.
    Raises SystemExit with 2 for bad arguments, with 0 after --help.
    """
    options = _parser().parse_args(argv)
    try:
        trees = read_trees(options.file, limit=options.limit_trees)
    except MalformedFileError as error:
        return _give_up(f"{options.file}: {error}")
    except OSError as error:
        return _give_up(f"{options.file}: {error.strerror or error}")
    if options.draw > len(trees):
        return _give_up(f"--draw {options.draw}: no such tree, there are {len(trees)}")
    console = Console(highlight=False, markup=False, emoji=False)
    try:
        with Client(options.url, user=options.user, transport=transport) as client:
            outcome = _run(client, [plan_tree(tree) for tree in trees], console, threads=options.parallel)
    except ClientError as error:
        return _give_up(str(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if options.draw:
        console.print(draw_tree(outcome.loaded[options.draw - 1], width=console.width))
        console.print()
    _print_differences(console, outcome.differences)
    _print_summary(console, outcome)
    return DIFFERENT if outcome.differences else SAME


def _run(client: Client, plans: list[Plan], console: Console, *, threads: int) -> Outcome:
    """Load everything, then verify everything.

    Raises a ClientError if either could not be finished.
    """
    client.check_health()
    started = time.monotonic()
    with progress(console, "loading", total=sum(len(plan.tree.messages) for plan in plans)) as advance:
        loaded = map_parallel(
            lambda plan: load_tree(client, plan, new_id=lambda: str(uuid.uuid4()), on_append=advance),
            plans,
            threads=threads,
            stop=client.stop,
        )
    loaded_at = time.monotonic()
    with progress(console, "verifying", total=sum(len(plan.conversations) for plan in plans)) as advance:
        found = map_parallel(
            lambda tree: verify_tree(client, tree, on_path=advance), loaded, threads=threads, stop=client.stop
        )
    return Outcome(
        loaded,
        [difference for of_one_tree in found for difference in of_one_tree],
        requests=client.requests,
        retries=client.retries,
        load_s=loaded_at - started,
        verify_s=time.monotonic() - loaded_at,
    )


def _print_differences(console: Console, differences: list[str]) -> None:
    for difference in differences[:DIFFERENCES_SHOWN_MAX]:
        console.print(f"DIFFERENT  {difference}", soft_wrap=True)
    if len(differences) > DIFFERENCES_SHOWN_MAX:
        console.print(f"… and {len(differences) - DIFFERENCES_SHOWN_MAX} more differences")
    if differences:
        console.print()


def _print_summary(console: Console, outcome: Outcome) -> None:
    conversations = sum(len(tree.conversation_ids) for tree in outcome.loaded)
    retried = f"  ({outcome.retries} of them retries)" if outcome.retries else ""
    lines = {
        "trees": len(outcome.loaded),
        "messages": sum(len(tree.entry_ids) for tree in outcome.loaded),
        "conversations": conversations,
        "forks": conversations - len(outcome.loaded),
        "paths": sum(1 for tree in outcome.loaded for _ in leaves(tree.plan.tree)),
        "requests": f"{outcome.requests}{retried}",
        "seconds": f"{outcome.load_s + outcome.verify_s:.1f}"
        f"  (loading {outcome.load_s:.1f}, verifying {outcome.verify_s:.1f})",
        "differences": len(outcome.differences),
    }
    for name, value in lines.items():
        console.print(f"{name:<14}{value}", soft_wrap=True)


def _give_up(reason: str) -> int:
    print(f"demo: {reason}", file=sys.stderr)
    return BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo",
        description="Load a file of message trees into a running forklore, read every path back and compare.",
        epilog="Exit code: 0 everything reads back as written, 1 something differs, 2 bad input, no server, "
        "or a server that refuses an append. Every run makes new conversations.",
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="message trees, JSON lines (see examples/trees.jsonl)"
    )
    parser.add_argument(
        "--url",
        type=_url,
        default=_server(),
        help="the address of the server; the default comes from HOST and PORT (%(default)s)",
    )
    parser.add_argument(
        "--user",
        type=_token,
        default="demo",
        help="the bearer token, which is the user id on the local server (%(default)s)",
    )
    parser.add_argument("--limit-trees", type=_count, metavar="N", help="load only the first N trees")
    parser.add_argument(
        "--draw",
        type=_count_or_none,
        metavar="N",
        default=1,
        help="draw the Nth tree; 0 draws none (%(default)s)",
    )
    parser.add_argument(
        "--parallel",
        type=_threads,
        metavar="N",
        default=4,
        help=f"trees to process at the same time, up to {PARALLEL_MAX} (%(default)s)",
    )
    return parser


def _server() -> str:
    """Return the address at which `make run` serves with the same HOST and PORT."""
    host, port = os.environ.get("HOST", "127.0.0.1"), os.environ.get("PORT", "8080")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _url(value: str) -> str:
    try:
        url = httpx.URL(value)
    except httpx.InvalidURL as error:
        raise argparse.ArgumentTypeError(f"{value!r}: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise argparse.ArgumentTypeError(f"{value!r} is not an http:// or https:// address")
    return value


def _token(value: str) -> str:
    if not value.strip() or not (value.isascii() and value.isprintable()):
        raise argparse.ArgumentTypeError("not printable ASCII")
    return value


def _count(value: str) -> int:
    return _whole_number(value, at_least=1)


def _count_or_none(value: str) -> int:
    return _whole_number(value, at_least=0)


def _threads(value: str) -> int:
    return _whole_number(value, at_least=1, at_most=PARALLEL_MAX)


def _whole_number(value: str, *, at_least: int, at_most: int = 1_000_000) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 20) or not at_least <= int(value) <= at_most:
        raise argparse.ArgumentTypeError(f"{value!r} is not a whole number from {at_least} to {at_most}")
    return int(value)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):  # not every terminal has UTF-8
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main())
