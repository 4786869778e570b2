"""How many functions a reader of a request passes: `python -m tools.bench.passed [--names]`.

Counts the functions of the service that an append of one message and a page of entries call, from
the event to the response, in a process that has done the same before. Only a function with a name
counts, and once. A chain is of functions that call each other. The figures do not depend on the
machine or its load. --names prints the functions, too.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import forklore_service
from tools.bench.shapes import ANN, BASE, world
from tools.harness.functions import functions_on
from tools.harness.gateway import Gateway, credentials
from tools.harness.sample_events import ROUTES, request_of

SERVICE = Path(forklore_service.__file__).parent
MOST = {"appendEntry": 190, "listEntries": 180}
"""How many functions a request may pass. One that passes more is harder to follow."""
SHAPE = replace(BASE, entries=20, forks=2)


class Passed(NamedTuple):
    """What a work has called. functions: their names, by module. chain: how long the longest is."""

    functions: Mapping[str, Sequence[str]]
    chain: int

    @property
    def number(self) -> int:
        return sum(map(len, self.functions.values()))

    def __str__(self) -> str:
        return f"{self.number} functions in {len(self.functions)} modules, a chain of {self.chain}"


def passed_by(work: Callable[[], object]) -> Passed:
    """Return the functions of the service that the work calls in this thread."""
    seen: set[CodeType] = set()
    waiting = chain = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal waiting, chain
        code = frame.f_code
        if code.co_name.startswith("<") or not Path(code.co_filename).is_relative_to(SERVICE):
            return
        if event == "call":
            seen.add(code)
            waiting += 1
            chain = max(chain, waiting)
        elif event == "return":
            waiting -= 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    functions = defaultdict(list)
    for code in sorted(seen, key=lambda one: (one.co_filename, one.co_firstlineno)):
        functions[str(Path(code.co_filename).relative_to(SERVICE))].append(code.co_qualname)
    return Passed(functions, chain)


def _passed(operation: str, given: Mapping[str, Any], gateway: Gateway) -> Passed:
    """Return what a request passes. given: its fields."""
    request = request_of(ROUTES[operation], given)
    function, event = gateway.event(
        request["method"],
        request["path"],
        query=request["query"],
        body=b"" if request["body"] is None else json.dumps(request["body"]).encode(),
        headers=[*credentials(ANN.user_id), ("Content-Type", "application/json")],
    )
    answer = gateway.handle(function, event)
    assert answer.status < 300, answer
    return passed_by(lambda: gateway.handle(function, event))


def measured() -> dict[str, Passed]:
    """Return what each request of MOST passes."""
    with world(None, SHAPE) as of, functions_on(of.store) as template:
        gateway, subject = Gateway(template), {"conversationId": of.subject}
        given = {"appendEntry": {**subject, **of.said()}, "listEntries": subject}
        return {operation: _passed(operation, given[operation], gateway) for operation in MOST}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if a request passes more functions than it may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", action="store_true", help="print the functions, too")
    asked = parser.parse_args(arguments)
    passed = measured()
    for operation, by in passed.items():
        print(f"{operation}: {by}; at most {MOST[operation]} functions")
        for module, names in by.functions.items() if asked.names else ():
            print(f"  {module}: {', '.join(names)}")
    return int(any(by.number > MOST[operation] for operation, by in passed.items()))


if __name__ == "__main__":
    sys.exit(main())
