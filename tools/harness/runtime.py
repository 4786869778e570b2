"""Built functions in Lambda's own runtime, without containers.

For each function the emulator of Lambda's runtime interface, which AWS SAM brings along, starts
AWS's client in the folder that `make build` filled: with the built layer on its path, and with the
handler, the limits and the environment of the built template and nothing else.
"""

import http.client
import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import yaml

from tools.harness.ports import end_session, free_port, on_free_port, wait_until_it_listens

PROJECT = Path(__file__).parents[2]
BUILD = PROJECT / ".aws-sam" / "here" / "build"
SAM, RUNTIME = "FORKLORE_SAM", "FORKLORE_RUNTIME"
"""The variables with the folders of the environments of AWS SAM and of AWS's runtime client."""
INVOCATIONS = "/2015-03-31/functions/function/invocations"
PROCESSORS = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
"""Lambda's name of a processor, by Python's name."""
CLIENT = ("-m", "awslambdaric")
"""Python's arguments to run AWS's runtime client."""
START_SECONDS_MAX = 20.0

Json = Any


class RuntimeMissing(Exception):
    """The functions cannot run here. The message is one line, and says what is missing."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A function's answer and how long it took. The first invocation includes the start."""

    answer: Json
    ms: float


@dataclass(frozen=True, slots=True)
class Built:
    """A build. values: the values of the template's parameters and resources, by name."""

    folder: Path
    values: Mapping[str, str]
    template: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path, values: Mapping[str, str]) -> Self:
        """Return the build at `folder`. Raises RuntimeMissing if there is none for this machine."""
        folder = folder.resolve()  # the functions run in other working directories
        file = folder / "template.yaml"
        if not file.is_file():
            raise RuntimeMissing(f"{folder} holds no build; `make build` makes one")
        built = cls(folder, values, yaml.safe_load(file.read_text(encoding="utf-8")))
        machine = platform.machine().replace("arm64", "aarch64")
        compiled = built.layers(built.functions[0])[0].rglob("*.so")
        if not all(machine in library.name for library in compiled):
            raise RuntimeMissing(f"{folder} is for another processor; see `make build ARCHITECTURE=…`")
        return built

    @property
    def functions(self) -> list[str]:
        """The logical ids of the functions."""
        kinds = {name: one["Type"] for name, one in self.template["Resources"].items()}
        return [name for name, kind in kinds.items() if kind == "AWS::Serverless::Function"]

    def setting(self, function: str, name: str) -> Any:
        """Return a property of a function: its own, or the one for all functions."""
        properties = self.template["Resources"][function]["Properties"]
        return properties.get(name, self.template["Globals"]["Function"].get(name))

    def environment(self, function: str) -> dict[str, str]:
        """Return the variables that the template gives a function."""
        shared = self.template["Globals"]["Function"]["Environment"]["Variables"]
        own = self.template["Resources"][function]["Properties"].get("Environment", {}).get("Variables", {})
        return {name: self._plain(value) for name, value in {**shared, **own}.items()}

    def code(self, function: str) -> Path:
        return self.folder / str(self.setting(function, "CodeUri"))

    def layers(self, function: str) -> list[Path]:
        """Return the folders of a function's layers that Python searches."""
        resources, shared = self.template["Resources"], self.template["Globals"]["Function"]
        layers = [*shared.get("Layers", []), *resources[function]["Properties"].get("Layers", [])]
        names = [layer["Ref"] for layer in layers]
        return [self.folder / resources[name]["Properties"]["ContentUri"] / "python" for name in names]

    def _holds(self, rule: Any) -> bool:
        """Return whether a condition of the template holds."""
        if "Fn::Not" in rule:
            return not self._holds(rule["Fn::Not"][0])
        one, other = rule["Fn::Equals"]
        return self._plain(one) == self._plain(other)

    def _plain(self, value: Any) -> str:
        """Return the text of a value in the template. Raises KeyError for an unknown reference."""
        if not isinstance(value, dict):
            return str(value)
        [(kind, name)] = value.items()
        if kind == "Fn::If":
            condition, yes, no = name
            return self._plain(yes if self._holds(self.template["Conditions"][condition]) else no)
        assert kind in ("Ref", "Fn::GetAtt"), f"a variable uses {kind}, which is not known"
        name = name if isinstance(name, str) else ".".join(name)
        if name in self.values:
            return self.values[name]
        return str(self.template["Parameters"][name]["Default"])


class Runtime:
    """A function in its runtime. The emulator takes one invocation at a time."""

    def __init__(self, port: int, log: Path) -> None:
        self._port = port
        self._log = log

    def invoke(self, event: Json) -> Invocation:
        """Return the function's answer to an event. An exception is an object with `errorType`."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        started = time.perf_counter()
        connection.request("POST", INVOCATIONS, json.dumps(event).encode())
        text = connection.getresponse().read()
        took_ms = (time.perf_counter() - started) * 1000
        connection.close()
        return Invocation(json.loads(text), took_ms)

    def log(self) -> list[str]:
        """Return the lines that the function and the emulator have logged so far."""
        return self._log.read_text(encoding="utf-8", errors="replace").splitlines()


@contextmanager
def runtime(
    built: Built, function: str, *, client: Sequence[str] = CLIENT, **variables: str
) -> Iterator[Runtime]:
    """Start a function's runtime, which ends with the context.

    client: what Python is told to run. variables: added to the template's, as what Lambda itself
    sets: where the services are. Raises RuntimeMissing, ServerDidNotStartError.
    """
    emulator, python = _emulator(), _python()
    run = [str(python), *client, str(built.setting(function, "Handler"))]
    with on_free_port(partial(_runtime, built, function, emulator, run, variables)) as started:
        yield started


@contextmanager
def _runtime(
    built: Built,
    function: str,
    emulator: Path,
    run: Sequence[str],
    variables: Mapping[str, str],
    port: int,
) -> Iterator[Runtime]:
    command = [str(emulator), "--log-level", "error"]
    command += ["--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
    command += ["--runtime-api-address", f"127.0.0.1:{free_port()}", *run]
    home = Path(tempfile.mkdtemp())
    environment = {**_environment(built, function, home), **variables}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        log = stack.enter_context((home / "log").open("wb"))
        process = subprocess.Popen(
            command,
            cwd=built.code(function),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the runtime is the emulator's child: a session ends both
        )
        stack.callback(end_session, process)
        wait_until_it_listens(process, port, seconds=START_SECONDS_MAX)
        yield Runtime(port, home / "log")


class Functions:
    """Built functions, each started at its first use. They end with `stack`.

    variables: the addresses of the services.
    """

    def __init__(self, built: Built, variables: Mapping[str, str], stack: ExitStack) -> None:
        self.built = built
        self.started: dict[str, Runtime] = {}
        self.variables = variables
        self._stack = stack

    def __getitem__(self, name: str) -> Runtime:
        if name not in self.started:
            self.started[name] = self._stack.enter_context(runtime(self.built, name, **self.variables))
        return self.started[name]

    def invoke(self, name: str, event: Any) -> Any:
        """Return a function's answer. Raises AssertionError if it failed."""
        return self.time(name, event).answer

    def time(self, name: str, event: Any) -> Invocation:
        """Return a function's answer with its time. Raises AssertionError if it failed."""
        invocation = self[name].invoke(event)
        answer = invocation.answer
        assert not (isinstance(answer, dict) and "errorType" in answer), (name, answer, self[name].log())
        return invocation


def _environment(built: Built, function: str, home: Path) -> dict[str, str]:
    """Return the environment that Lambda and the template give a function.

    Source: Lambda developer guide, "Defined runtime environment variables".
    """
    logging = built.template["Globals"]["Function"].get("LoggingConfig", {})
    return {
        "HOME": str(home),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(map(str, built.layers(function))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LAMBDA_TASK_ROOT": str(built.code(function)),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{built.setting(function, 'Runtime')}",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(built.setting(function, "Timeout")),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(built.setting(function, "MemorySize")),
        "AWS_LAMBDA_LOG_FORMAT": str(logging.get("LogFormat", "Text")),
        "AWS_LAMBDA_LOG_LEVEL": str(logging.get("ApplicationLogLevel", "")),
        **built.environment(function),
    }


def _emulator() -> Path:
    """Return the path of the emulator that AWS SAM ships. Raises RuntimeMissing."""
    if platform.system() != "Linux":
        raise RuntimeMissing("AWS SAM's emulator of the runtime is for Linux")
    sam = Path(os.environ.get(SAM, PROJECT / ".sam")).absolute()
    name = f"aws-lambda-rie-{PROCESSORS.get(platform.machine(), 'unknown')}"
    found = list(sam.glob(f"lib/python3*/site-packages/samcli/local/rapid/{name}"))
    if not found:
        raise RuntimeMissing(f"no {name} under {sam}")
    return found[0]


def _python() -> Path:
    """Return the Python that has AWS's runtime client. Raises RuntimeMissing."""
    python = Path(os.environ.get(RUNTIME, PROJECT / ".runtime")).absolute() / "bin" / "python"
    if not python.is_file():
        raise RuntimeMissing("AWS's client is not installed; it needs a Python of the functions' version")
    return python
