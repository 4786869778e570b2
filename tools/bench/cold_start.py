"""What a cold start of each built function costs, beside that of a bare function.

The bare function only makes a DynamoDB client, and one call.

python -m tools.bench.cold_start [--runs 5]

Each function is started in Lambda's own runtime on this machine. A round starts every function
once, so that other load on the machine affects all of them. The medians go to stdout as Markdown.

The init is the interpreter, Lambda's client and the imports; on AWS, fetching the code comes on
top. The table is on moto, whose times are not those of DynamoDB. Therefore the requests are given
in CPU time of the function. `make size` prepares what this benchmark needs.
"""

import argparse
import json
import platform
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from forklore.local import token
from tools.bench import timed_runtime
from tools.bench.judging import NOISE, Target
from tools.bench.markdown import table
from tools.harness.deployed import Deployed, deployed
from tools.harness.dynamodb import engine_server
from tools.harness.runtime import BUILD, CLIENT, Built, Runtime, RuntimeMissing, runtime

EVENTS = Path(__file__).parents[2] / "events"
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
TIMED = (timed_runtime.__file__,)
PACKAGES = {
    "boto3": "boto3",
    "botocore": "boto3",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic",
    "aws_lambda_powertools": "Powertools",
    "jwt": "PyJWT",
    "cryptography": "PyJWT",
    "forklore": "forklore",
    "app": "forklore",
    "awslambdaric": "Lambda's client",
}
"""The package that a module counts for, by its top-level name.

Other modules count for the package that imported them first."""
PYTHON = "Python"
"""The name of the interpreter in the table of imports."""
TARGETS = {
    "init": Target(1.5),
    "both": Target(1.5),
}
"""The maximum of a function's CPU time divided by the bare function's.

init: in the init. both: in the init and the first request."""
KINDS = (PYTHON, *dict.fromkeys(PACKAGES.values()))


@dataclass(frozen=True, slots=True)
class Start:
    """One cold start.

    init_ms, first_ms: CPU time of the init and of the first request. cold_ms, warm_ms: wall time
    until the first and the second answer.
    """

    init_ms: float
    first_ms: float
    cold_ms: float
    warm_ms: float


@dataclass(frozen=True, slots=True)
class Import:
    """The time that a module's own code took. kind: one of KINDS."""

    kind: str
    ms: float


@contextmanager
def started(service: Deployed, function: str, *client: str, **variables: str) -> Iterator[Runtime]:
    """Start a function's runtime. The bare function has the same settings, but no layer."""
    built = service.functions.built
    if function == BARE:
        built = bare(built)
    with runtime(built, function, client=client, **service.functions.variables, **variables) as one:
        yield one


def bare(built: Built) -> Built:
    """Return the build with the bare function as its only function."""
    folder = Path(__file__).parent / "bare_function"
    properties = {"CodeUri": str(folder), "Layers": []}
    function = {"Type": "AWS::Serverless::Function", "Properties": properties}
    return replace(built, template={**built.template, "Resources": {BARE: function}})


def ask(one: Runtime, function: str) -> float:
    """Send a function its event; return the milliseconds until the answer."""
    invocation = one.invoke(json.loads((EVENTS / f"{FIRST[function]}.json").read_text()))
    answer = invocation.answer
    assert not (isinstance(answer, dict) and "errorType" in answer), (function, answer, one.log())
    return invocation.ms


def start(service: Deployed, function: str) -> Start:
    """Start a function and send it its event twice."""
    with started(service, function, *TIMED) as one:
        cold_ms, warm_ms = ask(one, function), ask(one, function)
        said = [line for line in one.log() if line.startswith(timed_runtime.SAYS)]
        init_ms, asked_again_ms = (float(line.removeprefix(timed_runtime.SAYS)) for line in said[:2])
    return Start(init_ms, asked_again_ms - init_ms, cold_ms, warm_ms)


def imports(service: Deployed, function: str) -> list[Import]:
    """Start a function and send it its event; return every module that it imported."""
    with started(service, function, *CLIENT, PYTHONPROFILEIMPORTTIME="1") as one:
        ask(one, function)
        return list(read_imports(one.log()))


def read_imports(lines: Iterable[str]) -> Iterator[Import]:
    """Yield the modules in the output of Python's `-X importtime`, the last one first.

    Python prints a module after the modules that it imports, which are indented by two more spaces.

    >>> said = [
    ...     "import time: self [us] | cumulative | imported package",
    ...     "import time:       200 |        200 | site",
    ...     "import time:       300 |        300 |     urllib3",
    ...     "import time:      1000 |       1300 |   botocore.session",
    ...     "import time:       500 |       1800 | app",
    ... ]
    >>> [(one.kind, one.ms) for one in read_imports(said)]
    [('forklore', 0.5), ('boto3', 1.0), ('boto3', 0.3), ('Python', 0.2)]
    """
    matches = (re.fullmatch(r"import time: +(\d+) \| +\d+ \| ( *)([\w.]+)", line.rstrip()) for line in lines)
    around: list[str] = []
    for match in reversed([match for match in matches if match]):
        microseconds, indented, name = match.groups()
        del around[len(indented) // 2 :]
        kind = PACKAGES.get(name.partition(".")[0], around[-1] if around else PYTHON)
        around.append(kind)
        yield Import(kind, int(microseconds) / 1000)


Medians = Mapping[str, Sequence[float]]
"""For each function: init_ms, first_ms, cold_ms, warm_ms."""


def medians_of(starts: Mapping[str, Sequence[Start]]) -> Medians:
    return {
        function: [
            statistics.median(getattr(one, name) for one in of_function)
            for name in ("init_ms", "first_ms", "cold_ms", "warm_ms")
        ]
        for function, of_function in starts.items()
    }


def ratios_of(medians: Medians) -> dict[str, dict[str, float]]:
    """Return each function's times divided by the bare function's: those of TARGETS, and `cold`."""
    bare_init, bare_first, bare_cold, _ = medians[BARE]
    return {
        function: {
            "init": init / bare_init,
            "both": (init + first) / (bare_init + bare_first),
            "cold": cold / bare_cold,
        }
        for function, (init, first, cold, _) in medians.items()
    }


def show_starts(medians: Medians) -> str:
    """Return a table of the medians in Markdown, with the ratios to the bare function."""
    ratios = ratios_of(medians)
    return table(
        [
            "function",
            "init, ms CPU",
            "× bare",
            "first, ms CPU",
            "both × bare",
            "cold, ms",
            "× bare",
            "warm, ms",
        ],
        [
            [
                function,
                f"{init:.0f}",
                f"{ratios[function]['init']:.2f}",
                f"{first:.0f}",
                f"{ratios[function]['both']:.2f}",
                f"{cold:.0f}",
                f"{ratios[function]['cold']:.2f}",
                f"{warm:.0f}",
            ]
            for function, (init, first, cold, warm) in medians.items()
        ],
    )


def show_targets(medians: Medians) -> str:
    """Return a table of the targets in Markdown, each with the function that takes the most."""
    ratios, cells = ratios_of(medians), []
    for name, target in TARGETS.items():
        function = max(ratios, key=lambda one: ratios[one][name])
        most = ratios[function][name]
        accepted = "" if target.accepted is None else f"{target.accepted:g}"
        cells.append(
            [name, function, f"{most:.2f}", f"{target.most:g}", accepted, target.verdict(round(most, 2))]
        )
    return table(["× bare", "slowest function", "measured", "target", "accepted", "verdict"], cells)


def show_imports(imported: dict[str, list[list[Import]]]) -> str:
    """Return a table of the medians of each package's imports in Markdown."""
    rows = []
    for function, of_function in imported.items():
        sums: dict[str, list[float]] = defaultdict(list)
        for one in of_function:
            for kind in KINDS:
                sums[kind].append(sum(module.ms for module in one if module.kind == kind))
        medians = [statistics.median(sums[kind]) for kind in KINDS]
        modules = statistics.median(len(one) for one in of_function)
        shown = [f"{ms:.0f}" if ms else "–" for ms in medians]
        rows.append([function, *shown, f"{sum(medians):.0f}", f"{modules:.0f}"])
    return table(["function", *KINDS, "all", "modules"], rows)


def main() -> None:
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
    starts: dict[str, list[Start]] = {name: [] for name in FIRST}
    imported: dict[str, list[list[Import]]] = {name: [] for name in FIRST}
    try:
        with engine_server() as endpoint, Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("Starting functions", total=options.runs * len(FIRST))
            for _ in range(options.runs):
                with deployed(options.build, endpoint=endpoint, **parameters) as service:
                    assert {BARE, *service.functions.built.functions} == set(FIRST), "FIRST lacks a function"
                    for function in FIRST:
                        starts[function].append(start(service, function))
                        imported[function].append(imports(service, function))
                        progress.advance(task)
    except RuntimeMissing as missing:
        raise SystemExit(f"the cold starts were not measured: {missing}") from None
    print(f"Cold starts: {platform.machine()}, medians of {options.runs}\n")
    print(show_starts(medians_of(starts)))
    print(f"\nTargets; the accepted column is the measured value, plus {NOISE - 1:.0%} for noise:\n")
    print(show_targets(medians_of(starts)))
    print("\nTime of the imports in ms, each package with the modules that it imports:\n")
    print(show_imports(imported))


if __name__ == "__main__":
    main()
