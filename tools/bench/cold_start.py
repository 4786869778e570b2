"""What a cold start of each built function costs, beside that of a bare function.

The bare function only makes a DynamoDB client, and one call.

python -m tools.bench.cold_start [--runs 5]

Each function is started in Lambda's own runtime on this machine. A round starts every function
once, so that other load on the machine affects all of them. Fails where the CPU time of a function
is more than the target, in medians.

The init is the interpreter, Lambda's client and the imports; on AWS, fetching the code comes on
top. `make size` prepares what this needs.
"""

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from forklore_local.server import token
from tools.bench import timed_runtime
from tools.harness.deployed import Deployed, deployed
from tools.harness.dynamodb import engine_server
from tools.harness.runtime import BUILD, Built, RuntimeMissing, runtime
from tools.harness.sample_events import sample_event

BARE = "bare function"
FIRST = {
    BARE: "getConversation",
    "ConversationsFunction": "createConversation",
    "EntriesFunction": "appendEntry",
    "SharingFunction": "listTransfers",
    "AdminFunction": "adminListConversations",
    "AgentFunction": "agentAppendEntry",
    "AuthorizerFunction": "authorizer",
    "DeleteGroupFunction": "deleteGroup",
    "SweepFunction": "sweep",
    "PublishFunction": "publish",
}
"""The sample event that is sent to each function."""
LARGE = {"EmbedFunction", "McpFunction"}
"""Functions of an option: for one no request waits, the other loads a large library."""
TARGET = 1.5
"""The maximum of a function's CPU time divided by the bare function's, in the init and in both."""
NOISE = 1.05
"""The target may be exceeded by this factor: two quiet runs differ by 1 to 2 %."""


def bare(built: Built) -> Built:
    """Return the build with the bare function as its only function."""
    folder = Path(__file__).parent / "bare_function"
    function = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": str(folder)}}
    shared = {"Function": {**built.template["Globals"]["Function"], "Layers": []}}
    return replace(built, template={**built.template, "Globals": shared, "Resources": {BARE: function}})


def start(service: Deployed, function: str) -> tuple[float, float]:
    """Start a function and send it its event.

    Return the milliseconds of CPU of the init, and of the init with the request. The bare function
    has the same settings, but no layer.
    """
    built = service.functions.built
    if function == BARE:
        built = bare(built)
    event = sample_event(FIRST[function])
    with runtime(built, function, client=[timed_runtime.__file__], **service.functions.variables) as one:
        answer = one.invoke(event).answer
        assert not (isinstance(answer, dict) and "errorType" in answer), (function, answer, one.log())
        one.invoke(event)
        said = [line for line in one.log() if line.startswith(timed_runtime.SAYS)]
    init_ms, both_ms = (float(line.removeprefix(timed_runtime.SAYS)) for line in said[:2])
    return init_ms, both_ms


def main() -> int:
    """Return 1 if a function takes longer than the target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="starts of each function (default: 5)")
    parser.add_argument(
        "--build", type=Path, default=BUILD, help="the folder of the build (default: .aws-sam/here/build)"
    )
    options = parser.parse_args()
    keys = json.dumps(token.key_set(token.development_key()))
    parameters = {"Issuer": token.ISSUER, "Audience": token.AUDIENCE, "IssuerKeys": keys}
    starts: dict[str, list[tuple[float, float]]] = {name: [] for name in FIRST}
    try:
        with engine_server() as endpoint, Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("Starting functions", total=options.runs * len(FIRST))
            for _ in range(options.runs):
                with deployed(options.build, endpoint=endpoint, **parameters) as service:
                    named = {BARE, *service.functions.built.functions} - LARGE
                    assert named == set(FIRST), "FIRST lacks a function"
                    for function, taken in starts.items():
                        taken.append(start(service, function))
                        progress.advance(task)
    except RuntimeMissing as missing:
        raise SystemExit(f"the cold starts were not measured: {missing}") from None
    medians = {
        name: tuple(map(statistics.median, zip(*taken, strict=True))) for name, taken in starts.items()
    }
    most = 0.0
    print(f"{'ms CPU, medians; target: ' + f'{TARGET} x bare':<34} init  × bare  with a request  × bare")
    for name, (init_ms, both_ms) in medians.items():
        init, both = (mine / bare for mine, bare in zip((init_ms, both_ms), medians[BARE], strict=True))
        most = max(most, init, both)
        print(f"{name:<33} {init_ms:5.0f} {init:7.2f} {both_ms:15.0f} {both:7.2f}")
    return int(most > TARGET * NOISE)


if __name__ == "__main__":
    sys.exit(main())
