"""How long each built function takes from nothing to its first answer, and to the next one.

python -m bench.cold_start [--runs 3]

Each function is started anew in Lambda's own runtime on this machine: the time is that of the interpreter,
the imports, the first client of DynamoDB and a first request; AWS adds the fetching of the code. `make size`
sees to what it needs. The store is moto, so the requests themselves are slower than on AWS.
"""

import argparse
import json
import platform
import statistics
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from local_server import token
from tests.functions.story import read_event
from tests.support.deployed import Deployed, deployed
from tests.support.dynamodb_local import moto_server
from tests.support.runtime import BUILD, RuntimeMissing

FIRST = {
    "ConversationsFunction": "createConversation",
    "EntriesFunction": "appendEntry",
    "SharingFunction": "listTransfers",
    "AdminFunction": "adminListConversations",
    "AgentFunction": "agentAppendEntry",
    "AuthorizerFunction": "authorizer",
    "DeleteGroupFunction": "deleteGroup",
    "SweepFunction": "sweep",
}
"""The sample event that each function is asked first."""


def measure(service: Deployed, function: str) -> tuple[float, float]:
    """Return the milliseconds until a new runtime has answered its first event, and those of the second."""
    event = read_event(FIRST[function])
    first, second = service.functions.time(function, event), service.functions.time(function, event)
    return first.ms, second.ms


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="starts of each function; the median counts (3)")
    parser.add_argument(
        "--build", type=Path, default=BUILD, help="the folder of the build (.aws-sam/here/build)"
    )
    options = parser.parse_args()
    console = Console()
    keys = json.dumps(token.key_set(token.development_key()))
    parameters = {"Issuer": token.ISSUER, "Audience": token.AUDIENCE, "IssuerKeys": keys}
    times: dict[str, list[tuple[float, float]]] = {}
    try:
        with moto_server() as endpoint:
            for _ in track(range(options.runs), "Starting functions", console=console, transient=True):
                with deployed(options.build, endpoint=endpoint, **parameters) as service:
                    for function in service.functions.built.functions:
                        times.setdefault(function, []).append(measure(service, function))
    except RuntimeMissing as missing:
        raise SystemExit(f"no cold start was measured: {missing}") from None
    table = Table(
        "function", "cold, ms", "warm, ms", title=f"Cold starts ({platform.machine()}, {options.runs} runs)"
    )
    for function, measured in times.items():
        cold, warm = (statistics.median(column) for column in zip(*measured, strict=True))
        table.add_row(function, f"{cold:.0f}", f"{warm:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
