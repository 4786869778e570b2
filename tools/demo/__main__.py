"""The command line: read the file, load it, verify it, print the result."""

import argparse
import os
import sys
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import httpx2

from forklore import ApiError, Forklore
from forklore.cli.drawing import show_graph
from forklore.cli.exits import line_of
from forklore.cli.importing.carrying_out import carry_out
from forklore.cli.importing.files import read_file
from forklore.cli.importing.plan import plan_tree
from forklore.cli.importing.sending import sender
from forklore.cli.importing.values import Format, MalformedFileError, Report, Tree, printable
from forklore.cli.output import Output
from forklore.cli.progress import progress
from tools.demo.loaded import LoadedTree, leaves, loaded_tree
from tools.demo.verify import Client, verify_tree

SAME, DIFFERENT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
DIFFERENCES_SHOWN_MAX = 10
PARALLEL_MAX = 64


LOOPBACK = ("127.0.0.1", "localhost", "::1")


class RefusedError(Exception):
    """A message was refused. The message is one line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. loaded: in the file's order. load_s, verify_s: wall time in seconds."""

    loaded: list[LoadedTree]
    differences: list[str]
    load_s: float
    verify_s: float


def main(argv: Sequence[str] | None = None, *, transport: httpx2.BaseTransport | None = None) -> int:
    """Return the exit code.

    0: everything is the same. 1: differences. 2: bad input or no server. 130: interrupted.

    transport: for tests, in place of the network.
    Raises SystemExit with 2 for bad arguments, with 0 after --help.
    """
    options = _parser().parse_args(argv)
    try:
        found = read_file(options.file, Report(), given=Format.TREES)
        trees = [tree for tree in islice(found, options.limit_trees) if isinstance(tree, Tree)]
    except MalformedFileError as error:
        return _give_up(f"{options.file}: {error}")
    except OSError as error:
        return _give_up(f"{options.file}: {error.strerror or error}")
    if options.draw > len(trees):
        return _give_up(f"--draw {options.draw}: no such tree, there are {len(trees)}")
    requests = 0

    def count(_: httpx2.Request) -> None:
        nonlocal requests
        requests += 1

    is_near = httpx2.URL(options.url).host in LOOPBACK
    hooks = {"request": [count]}
    try:
        with (
            httpx2.Client(transport=transport, trust_env=not is_near, event_hooks=hooks) as http,
            Forklore(options.url, token=options.user, http=http) as client,
        ):
            client.with_options(retries=0).api.check_health()
            outcome = _run(client, trees, user=options.user, threads=options.parallel)
            sent = requests
            if options.draw:
                _draw(client, outcome.loaded[options.draw - 1])
    except (ApiError, RefusedError) as error:
        return _give_up(line_of(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    _print_differences(outcome.differences)
    _print_summary(outcome, requests=sent)
    return DIFFERENT if outcome.differences else SAME


def _run(client: Forklore, trees: list[Tree], *, user: str, threads: int) -> Outcome:
    """Load everything, then verify everything. Raises RefusedError, and ApiError."""
    run, report = str(uuid.uuid4()), Report()
    plans = [plan_tree(tree, owner=user, report=report, again=run) for tree in trees]
    started = time.monotonic()
    with progress("loading") as bar:
        bar.expect(sum(plan.entries for plan in plans))
        carried = sorted(
            carry_out(plans, sender(client), threads=threads, on_entries=bar.advance),
            key=lambda one: one.number,
        )
    for one in carried:
        if one.problems:
            raise RefusedError(one.problems[0])
    loaded = [loaded_tree(tree, one.loading) for tree, one in zip(trees, carried, strict=True)]
    loaded_at = time.monotonic()
    reader = Client(client)
    with progress("verifying") as bar, ThreadPoolExecutor(threads) as executor:
        bar.expect(sum(len(tree.conversation_ids) for tree in loaded))
        found = executor.map(lambda tree: verify_tree(reader, tree, on_path=lambda: bar.advance(1)), loaded)
        differences = [difference for of_one_tree in found for difference in of_one_tree]
    return Outcome(loaded, differences, load_s=loaded_at - started, verify_s=time.monotonic() - loaded_at)


def _draw(client: Forklore, loaded: LoadedTree) -> None:
    """Draw a tree as `forklore log --graph` does."""
    is_terminal = sys.stdout.isatty()
    out = Output(is_terminal=is_terminal, has_colours=is_terminal and not os.environ.get("NO_COLOR"))
    out.line(f"tree {printable(loaded.tree.tree_id, 60)}")
    show_graph(out, client, client.conversation(loaded.conversation_ids[0]))
    out.line()
    out.close()


def _print_differences(differences: list[str]) -> None:
    for difference in differences[:DIFFERENCES_SHOWN_MAX]:
        print(f"DIFFERENT  {difference}")
    if len(differences) > DIFFERENCES_SHOWN_MAX:
        print(f"… and {len(differences) - DIFFERENCES_SHOWN_MAX} more differences")
    if differences:
        print()


def _print_summary(outcome: Outcome, *, requests: int) -> None:
    conversations = sum(len(tree.conversation_ids) for tree in outcome.loaded)
    lines = {
        "trees": len(outcome.loaded),
        "messages": sum(len(tree.entry_ids) for tree in outcome.loaded),
        "conversations": conversations,
        "forks": conversations - len(outcome.loaded),
        "paths": sum(1 for loaded in outcome.loaded for _ in leaves(loaded.tree)),
        "requests": requests,
        "seconds": f"{outcome.load_s + outcome.verify_s:.1f}"
        f"  (loading {outcome.load_s:.1f}, verifying {outcome.verify_s:.1f})",
        "differences": len(outcome.differences),
    }
    for name, value in lines.items():
        print(f"{name:<14}{value}")


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
        url = httpx2.URL(value)
    except httpx2.InvalidURL as error:
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
