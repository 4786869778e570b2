"""Imports point inward, and importing a module does nothing but define names.

    functions.mcp → mcp → client
    functions → aws → api → usecases → storage → domain → errors, limits, standard library
    cli, adapters → client → (in its in-process transport only) forklore_local
    cli → sessions → importing → exporting → client; importing and exporting know nothing of cli
    cli → forklore_local, for `serve`, `explore`, `fsck` and moves of whole tables
    cli → mcp → client
    forklore_local → forklore_service

The service is what Lambda runs. It imports nothing of the other two parts, and the local part
nothing of the client.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import forklore

PROJECT = Path(__file__).parents[1]
PARTS = {
    "forklore_service": Path("layers/core"),
    "forklore_local": Path("local"),
    "forklore": Path("clients/python"),
}
"""The three packages, and the folder that holds each."""

# What each room may import besides the standard library. A module belongs to the room with the
# longest name that is a prefix of its own.
ROOMS = {
    "forklore": set[str](),  # its names of the client are imported when they are used
    "forklore_local": set[str](),
    "forklore_local.version": set[str](),
    "forklore_service": set[str](),
    "forklore_service.limits": set[str](),
    "forklore_service.errors": set[str](),
    "forklore_service.domain": {"forklore_service.domain", "forklore_service.errors"},
    "forklore_service.storage": {
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
        "botocore",
    },
    "forklore_service.usecases": {
        "forklore_service.usecases",
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
    },
}
# The rooms of usecases, the inner ones first. Each may import those that it names.
BEHIND_USECASES = ROOMS["forklore_service.usecases"] - {"forklore_service.usecases"}
for name, inner in {
    "shared": (),
    "attachments": ("shared",),
    "reading": ("shared",),
    "branches": ("shared", "reading"),
    "answers": ("shared", "reading"),
    "writing": ("shared", "branches"),
    "deletion": ("shared",),
    "people": ("shared", "deletion"),
    "background": ("shared", "attachments", "deletion", "people"),
}.items():
    ROOMS[f"forklore_service.usecases.{name}"] = {
        f"forklore_service.usecases.{one}" for one in (name, *inner)
    } | BEHIND_USECASES
ROOMS["forklore_service.events"] = {
    *(
        "forklore_service.events",
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
    ),
}
ROOMS["forklore_service.api"] = {
    *(
        "forklore_service.api",
        "forklore_service.usecases",
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
    ),
    "pydantic",
}
ROOMS["forklore_service.aws"] = {
    "forklore_service.aws",
    "forklore_service.api",
    "forklore_service.usecases",
    "forklore_service.domain",
}
ROOMS["forklore_service.aws"] |= {"forklore_service.errors"}
ROOMS["forklore_service.aws.wiring"] = ROOMS["forklore_service.aws"] | {"forklore_service.storage"}
ROOMS["forklore_service.aws.stream"] = ROOMS["forklore_service.aws"] | {
    "forklore_service.storage",
    "forklore_service.events",
}
ROOMS["forklore_service.aws.embedding"] = ROOMS["forklore_service.aws"] | {"forklore_service.storage"}
ROOMS["forklore_service.aws.handlers"] = ROOMS["forklore_service.aws"] | {
    "aws_lambda_powertools.utilities.batch"
}
ROOMS["forklore_service.aws.handlers"] |= {"aws_lambda_powertools.utilities.data_classes"}
ROOMS["functions"] = {"forklore_service.aws"}
ROOMS["functions.mcp"] = {"forklore.mcp.on_lambda"}  # it runs the client

# Only the authorizer runs the check of credentials. Only two of its modules use the libraries.
ROOMS["forklore_service.credentials"] = {
    "forklore_service.credentials",
    "forklore_service.domain",
    "forklore_service.errors",
}
ROOMS["forklore_service.credentials.issuer_keys"] = ROOMS["forklore_service.credentials"] | {
    "jwt",
    "cryptography",
}
ROOMS["forklore_service.credentials.tokens"] = ROOMS["forklore_service.credentials"] | {"jwt"}
ROOMS["functions.authorizer"] = {"forklore_service.credentials"}

# What Lambda does not run. Each of these rooms needs packages that one of the extras installs.
ROOMS["forklore.extras"] = set()
ROOMS["forklore_local.fsck"] = {
    *(
        "forklore_local.fsck",
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
    ),
    *("botocore", "rich"),
}
ROOMS["forklore_local.fsck.command"] = ROOMS["forklore_local.fsck"] | {
    "forklore_local.embedded",
    "forklore_local.in_process",
}
ROOMS["forklore_local.copying"] = {
    *(
        "forklore_local.copying",
        "forklore_local.fsck.shapes",
        "forklore_local.fsck.source",
        "forklore_local.embedded",
        "forklore_service.storage",
        "forklore_service.domain",
        "forklore_service.errors",
    ),
}
ROOMS["forklore_local.copying.places"] = ROOMS["forklore_local.copying"] | {
    *("forklore_local.in_process.folder", "forklore_local.in_process.objects"),
    *("forklore_local.in_process.upkeep", "botocore"),
}
# The engine answers as DynamoDB does, and knows only its table.
ROOMS["forklore_local.embedded"] = {
    *("forklore_local.embedded", "forklore_service.errors", "forklore_service.storage.schema"),
    *("forklore_service.storage.connection.Item", "forklore_service.storage.connection.CallRefused"),
}
ROOMS["forklore_local.in_process"] = {
    *(
        "forklore_local.in_process",
        "forklore_local.embedded",
        "forklore_service.api",
        "forklore_service.usecases",
        "forklore_service.storage",
        "forklore_service.domain",
    ),
    *("forklore_service.events", "forklore_service.errors"),
}
ROOMS["forklore_local.embedded.vectors"] = ROOMS["forklore_local.embedded"] | {"numpy"}
ROOMS["forklore_service.storage.embedded_texts"] = ROOMS["forklore_service.storage"] | {"numpy"}
ROOMS["forklore_local.in_process.models"] = ROOMS["forklore_local.in_process"] | {"numpy", "tokenizers"}
ROOMS["forklore_local.in_process.bucket"] = ROOMS["forklore_local.in_process"] | {"boto3", "botocore"}
ROOMS["forklore_local.server"] = {
    *(
        "forklore_local.server",
        "forklore_local.version",
        "forklore_local.in_process",
        "forklore_service.aws",
        "forklore_service.api",
        "forklore_service.credentials",
    ),
    *(
        "forklore_service.storage.clients",
        "forklore_service.storage.objects",
        "forklore_service.storage.schema",
        "forklore_service.events.event",
        "forklore_service.domain",
        "forklore_service.errors",
    ),
    *("botocore", "cryptography", "jwt", "pydantic", "uvicorn"),
}
ROOMS["forklore_local.server.metrics"] = ROOMS["forklore_local.server"] | {"prometheus_client"}
ROOMS["forklore_local.server.tracing"] = ROOMS["forklore_local.server"] | {"opentelemetry"}
ROOMS["forklore.client"] = {"forklore.client", "forklore.extras", "anyio"}
ROOMS["forklore.client.beside"] = ROOMS["forklore.client"] | {"trio"}  # imported only where it runs
ROOMS["forklore.client.transports.http"] = ROOMS["forklore.client"] | {"httpx2"}
ROOMS["forklore.client.transports.bytes_at"] = ROOMS["forklore.client"] | {"httpx2"}
ROOMS["forklore.client.transports.on_lambda"] = ROOMS["forklore.client"] | {"boto3", "botocore"}
IN_PROCESS = "forklore.client.transports.in_process"
ROOMS[IN_PROCESS] = ROOMS["forklore.client"] | {"forklore_local.in_process"}
FRAMEWORKS = {
    "claude_agent": {"claude_agent_sdk", "anyio"},
    "google_adk": {"google", "pydantic_core"},
    "langgraph": {"langgraph", "langchain_core"},
    "openai_agents": {"agents"},
    "openhands": {"openhands"},
    "pydantic_ai": {"pydantic_ai", "pydantic"},
    "strands": {"strands"},
}
"""What each adapter may import of its framework. No adapter imports another one."""
ROOMS["forklore.adapters"] = set()
OF_ALL_ADAPTERS = {f"forklore.adapters.{name}" for name in ("storable", "running", "files")}
for room in OF_ALL_ADAPTERS:
    ROOMS[room] = {*OF_ALL_ADAPTERS, "forklore.client", *(f"forklore.{name}" for name in forklore.__all__)}
ROOMS["forklore.adapters.running"] |= {"anyio"}
for adapter, packages in FRAMEWORKS.items():
    room = f"forklore.adapters.{adapter}"
    ROOMS[room] = {room, *ROOMS["forklore.adapters.files"], "forklore.extras", *packages}
ROOMS["forklore.exporting"] = {"forklore.exporting", "forklore.client"}
ROOMS["forklore.exporting.page"] = ROOMS["forklore.exporting"] | {"markdown_it", "pygments"}
ROOMS["forklore.sessions"] = {
    *("forklore.sessions", "forklore.importing", "forklore.exporting", "forklore.client"),
}
# What an import reads, an export writes: forklore's own lines, and the files beside them.
ROOMS["forklore.importing"] = {
    *("forklore.importing", "forklore.client", "forklore.extras"),
    *("forklore.exporting.jsonlines", "forklore.exporting.kept_files", "forklore.exporting.written_ids"),
}
ROOMS["forklore.importing.unpacking"] = ROOMS["forklore.importing"] | {"backports", "compression"}
ROOMS["forklore.cli"] = {
    *("forklore.cli", "forklore.sessions", "forklore.importing", "forklore.exporting"),
    *("forklore.client", "forklore.extras"),
    *("forklore_local.fsck", "forklore_local.copying"),
    *("forklore_local.in_process.folder", "forklore_local.in_process.upkeep"),
    *(
        "forklore_local.in_process.bucket",
        "forklore_local.in_process.copies",
        "forklore_local.version",
        "httpx2",
        "rich",
        "typer",
    ),
}
ROOMS["forklore.mcp"] = {"forklore.mcp", "forklore.client", "mcp", "pydantic", "anyio"}
ROOMS["forklore.mcp.http"] = ROOMS["forklore.mcp"] | {"httpx2"}
ROOMS["forklore.cli.commands.mcp"] = ROOMS["forklore.cli"] | {"forklore.mcp"}
ROOMS["forklore.cli.commands.recall"] = ROOMS["forklore.cli"] | {"forklore_local.in_process.embedding"}
ROOMS["forklore.cli.commands.user"] = ROOMS["forklore.cli"] | {"forklore_local.server.user_tokens"}
ROOMS["forklore.cli.commands.serve"] = ROOMS["forklore.cli"] | {
    "forklore.mcp",
    "forklore_local.server.server",
}
# The page's files, which need only the standard library.
ROOMS["forklore.cli.exploring"] = {
    *ROOMS["forklore.cli"],
    *("forklore_local.server.asgi", "forklore_local.server.callers", "forklore_local.server.page"),
}

# What every room but those of the client may import. The client has a generated copy.
SHARED = {"forklore_service.limits"}

# What a room may import besides for types alone: under `if TYPE_CHECKING`.
FOR_TYPES = {"forklore": {"forklore.client"}, "forklore.client": {"httpx2"}}

# The parts of the standard library that only one module of the credentials uses.
NETWORK, FETCHES = {"http", "socket", "ssl", "urllib"}, "forklore_service.credentials.fetching"

# The parts of the standard library that the domain must not use: environment, clock, randomness,
# logging, network.
IMPURE = {"logging", "os", "random", "secrets", "socket", "time", "uuid.uuid1", "uuid.uuid4"}
IMPURE |= {
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
}


class Use(NamedTuple):
    """A module, or a name in a module, that a file uses; and the line.

    for_types: it is imported under `if TYPE_CHECKING`.
    """

    name: str
    line: int
    imported: bool
    for_types: bool = False


def outward(project: Path) -> list[str]:
    """Return the forbidden imports of the parts and the functions, as `file:line: …`."""
    found = []
    for module, path in sorted(modules(project)):
        place = path.relative_to(project)
        room = max((room for room in ROOMS if within(module, {room})), key=len)
        if room in PARTS and module != room:
            found.append(f"{place}:1: {module} belongs to no room")
        for use in uses(module, path):
            impure = module.startswith("forklore_service.domain") and within(use.name, IMPURE)
            if within(module, {"forklore_service.credentials"}) and module != FETCHES:
                impure |= within(use.name, NETWORK)
            allowed = ROOMS[room] | (set() if within(room, {"forklore"}) else SHARED)
            allowed |= FOR_TYPES.get(room, set()) if use.for_types else set()
            inward = use.name.partition(".")[0] in sys.stdlib_module_names or within(use.name, allowed)
            if impure or (use.imported and not inward):
                found.append(f"{place}:{use.line}: {module} may not use {use.name}")
    return found


def modules(project: Path) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module of the parts and the functions."""
    for package, base in (*PARTS.items(), ("functions", Path())):
        for path in (project / base / package).rglob("*.py"):
            parts = path.relative_to(project / base).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


def within(name: str, names: set[str]) -> bool:
    """Tell whether `name` is one of `names` or lies inside one."""
    return any(name == outer or name.startswith(f"{outer}.") for outer in names)


def uses(module: str, path: Path) -> Iterator[Use]:
    """Yield what a file imports anywhere, and each dotted name that begins with an imported one."""
    tree = ast.parse(path.read_text(), filename=str(path))
    meaning: dict[str, str] = {}
    for_types = {inner for node in ast.walk(tree) if _is_for_types(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        typed = node in for_types
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                meaning[alias.asname or name] = name
                yield Use(alias.name, node.lineno, imported=True, for_types=typed)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                meaning[alias.asname or alias.name] = f"{source}.{alias.name}"
                yield Use(f"{source}.{alias.name}", node.lineno, imported=True, for_types=typed)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in meaning:
                yield Use(f"{meaning[first]}.{rest}", node.lineno, imported=False)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse


def write(project: Path, module: str, source: str) -> None:
    path = project / PARTS.get(module.partition(".")[0], "") / Path(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)


def frozen_dataclasses(path: Path) -> Iterator[str]:
    """Yield the classes of a file that are frozen dataclasses."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            made_by = [ast.unparse(one) for one in node.decorator_list]
            if any("dataclass(" in one and "frozen=True" in one for one in made_by):
                yield node.name


def test_the_values_of_the_service_are_named_tuples() -> None:
    """A frozen dataclass takes six times as long to define: docs/decisions/0012."""
    looked_at = {"forklore_service", "forklore_local.server.asgi"}
    found = {
        module: list(frozen_dataclasses(path))
        for module, path in modules(PROJECT)
        if within(module, looked_at)
    }
    service = {module: names for module, names in found.items() if within(module, {"forklore_service"})}

    assert {module: names for module, names in service.items() if names} == {}
    assert "Response" in found["forklore_local.server.asgi"]


def test_every_import_points_inward() -> None:
    assert outward(PROJECT) == []


@pytest.mark.parametrize(
    ("module", "source", "used"),
    [
        ("forklore_service.limits", "import forklore_service.errors", "forklore_service.errors"),
        ("forklore_service.errors", "import boto3", "boto3"),
        (
            "forklore_service.domain.keys",
            "from forklore_service.storage import items",
            "forklore_service.storage.items",
        ),
        ("forklore_service.domain.keys", "from ..api import requests", "forklore_service.api.requests"),
        ("forklore_service.domain.keys", "import botocore.config", "botocore.config"),
        ("forklore_service.domain.keys", "from os import environ", "os.environ"),
        ("forklore_service.domain.keys", "import os.path as paths", "os.path"),
        ("forklore_service.domain.keys", "import uuid\nuuid.uuid4()", "uuid.uuid4"),
        (
            "forklore_service.domain.keys",
            "from datetime import datetime\ndatetime.now()",
            "datetime.datetime.now",
        ),
        ("forklore_service.domain.keys", "import datetime as dt\ndt.date.today()", "datetime.date.today"),
        ("forklore_service.aws.wiring", "def late():\n    import tools.bench", "tools.bench"),
        (
            "forklore_service.aws.http",
            "from forklore_service.storage.table import Table",
            "forklore_service.storage.table.Table",
        ),
        (
            "forklore_local.embedded.engine",
            "from forklore_service.usecases.background import worker",
            "forklore_service.usecases.background.worker",
        ),
        (
            "forklore_local.embedded.rows",
            "from forklore_service.storage.connection import CallRefused, Connection",
            "forklore_service.storage.connection.Connection",
        ),
        ("forklore_local.embedded.rows", "import forklore_local.in_process", "forklore_local.in_process"),
        ("forklore.client.calls", "import httpx2", "httpx2"),
        ("forklore.importing.plan", "from forklore.cli import exits", "forklore.cli.exits"),
        ("forklore.exporting.jsonlines", "import forklore.importing.plan", "forklore.importing.plan"),
        (
            "forklore.client.opening",
            "if TYPE_CHECKING:\n    import anyio\nelse:\n    import httpx2",
            "httpx2",
        ),
        (
            "forklore_service.credentials.tokens",
            "from urllib.request import urlopen",
            "urllib.request.urlopen",
        ),
        ("forklore.adapters.strands", "import forklore.adapters.langgraph", "forklore.adapters.langgraph"),
        ("functions.entries.app", "import functions.conversations.app", "functions.conversations.app"),
    ],
)
def test_an_import_that_points_outward_is_named_with_its_line(
    tmp_path: Path, module: str, source: str, used: str
) -> None:
    write(tmp_path, module, f'"""A module."""\n\n{source}\n')

    (path,) = tmp_path.rglob("*.py")
    line = 3 + source.count("\n")
    assert outward(tmp_path)[-1:] == [f"{path.relative_to(tmp_path)}:{line}: {module} may not use {used}"]


def test_the_package_itself_may_name_the_client_for_types_alone(tmp_path: Path) -> None:
    source = "if TYPE_CHECKING:\n    from forklore.client import errors\n"
    write(tmp_path, "forklore.__init__", source)
    assert outward(tmp_path) == []

    write(tmp_path, "forklore.__init__", f"{source}from forklore.client import calls\n")
    assert outward(tmp_path) == [
        "clients/python/forklore/__init__.py:3: forklore may not use forklore.client.calls"
    ]


def test_a_module_outside_the_rooms_is_named(tmp_path: Path) -> None:
    write(tmp_path, "forklore.utils", "")

    write(tmp_path, "forklore_service.utils", "")

    assert outward(tmp_path) == [
        "clients/python/forklore/utils.py:1: forklore.utils belongs to no room",
        "layers/core/forklore_service/utils.py:1: forklore_service.utils belongs to no room",
    ]


def rooms_that_may_import(part: str) -> set[str]:
    """Return the rooms of other parts that may import something of a part."""
    return {
        room
        for room, allowed in ROOMS.items()
        if not within(room, {part}) and any(within(name, {part}) for name in allowed)
    }


def test_the_service_imports_neither_of_the_other_parts_and_the_local_part_not_the_client() -> None:
    of_the_client = rooms_that_may_import("forklore")
    of_the_local_part = rooms_that_may_import("forklore_local")

    assert of_the_client == {"functions.mcp"}
    assert not [room for room in of_the_local_part if not within(room, {"forklore"})]


def test_of_the_client_the_in_process_transport_alone_may_import_the_local_part() -> None:
    may = rooms_that_may_import("forklore_local")

    assert {room for room in may if not within(room, {"forklore.cli"})} == {IN_PROCESS}
    assert not [room for room in rooms_that_may_import("forklore_service") if within(room, {"forklore"})]


def test_what_points_inward_is_let_through(tmp_path: Path) -> None:
    for module, source in {
        "forklore_service.errors": "import json\nfrom forklore_service import limits",
        "forklore_service.domain.ids": "from uuid import UUID\nfrom datetime import UTC, datetime",
        "forklore_service.domain.keys": "import re\nfrom forklore_service.domain import ids",
        "forklore_service.domain.names": "from .ids import EntryId",
        "forklore_service.aws.wiring": "import os\nfrom forklore_service.storage.table import Table",
        "forklore_service.aws.handlers": "from aws_lambda_powertools.utilities.batch import EventType",
        "forklore_service.credentials.fetching": "import http.client\nimport socket\nimport ssl",
        "forklore.client.opening": "if TYPE_CHECKING:\n    import httpx2",
        "forklore.adapters.strands": "import strands\nfrom forklore import Forklore, client",
    }.items():
        write(tmp_path, module, source)

    assert outward(tmp_path) == []


# Third-party modules are imported first, because this test does not judge them. From then on,
# anything except reading files is an error.
IMPORT_ALL = """
import sys, threading

project, foreign, *names = sys.argv[1:]
sys.path[:0] = [project, *(f"{project}/{part}" for part in ("layers/core", "local", "clients/python"))]
for name in foreign.split():
    __import__(name)

def refuse(event, args):
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if writes or event.startswith("socket.") or event in {"subprocess.Popen", "os.system", "os.putenv"}:
        raise RuntimeError(f"an import did {event} {args}")

sys.addaudithook(refuse)
for name in names:
    __import__(name)
if threading.active_count() > 1:
    raise RuntimeError("an import started a thread")
"""
FOREIGN = "boto3 jwt mcp.server.mcpserver pydantic aws_lambda_powertools.utilities.batch"
FOREIGN += " moto.moto_server.werkzeug_app moto.dynamodb.responses uvicorn sqlite3"
# Makes importing these fail, as if they were not installed.
BARE = """
import sys
absent = "boto3", "botocore", "cryptography", "jwt", "pydantic", "aws_lambda_powertools"
sys.modules.update(dict.fromkeys(absent))
"""
# An environment that names no account, no region and no table.
ENVIRONMENT = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


def import_all(project: Path, names: list[str], *, foreign: str = "", script: str = IMPORT_ALL) -> str:
    """Import modules in a new process; return its output, and its exit code if it failed."""
    run = subprocess.run(
        [sys.executable, "-B", "-I", "-c", script, str(project), foreign, *names],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    return run.stdout if run.returncode == 0 else f"{run.stdout}\nended with {run.returncode}"


def test_importing_a_module_only_defines_names() -> None:
    adapters = {"forklore.adapters"}  # tests/clients/adapters/test_missing_frameworks.py
    names = sorted(name for name, _ in modules(PROJECT) if not within(name, adapters))

    assert import_all(PROJECT, names, foreign=FOREIGN) == ""


def test_the_pure_modules_need_only_the_standard_library() -> None:
    pure = {"forklore_service.limits", "forklore_service.errors", "forklore_service.domain"}
    pure |= {f"forklore_service.credentials.{name}" for name in ("api_keys", "headers", "roles")}
    names = sorted(name for name, _ in modules(PROJECT) if within(name, pure))

    assert pure <= set(names)
    assert import_all(PROJECT, names, script=BARE + IMPORT_ALL) == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("print('hello')", "hello"),
        ("import os\nos.environ['FORKLORE_TABLE']", "KeyError"),
        ("import socket\nsocket.socket()", "an import did socket.__new__"),
        ("open('made', 'w')", "an import did open"),
        ("import subprocess\nsubprocess.Popen(['true'])", "an import did subprocess.Popen"),
        ("import threading\nthreading.Timer(0.5, print).start()", "an import started a thread"),
        ("import boto3\nboto3.client('dynamodb')", "NoRegionError"),
    ],
)
def test_an_import_that_does_something_is_noticed(tmp_path: Path, source: str, said: str) -> None:
    write(tmp_path, "forklore.__init__", "")
    write(tmp_path, "forklore_service.aws.wiring", source)

    foreign = "boto3" if "boto3" in source else ""
    assert said in import_all(tmp_path, ["forklore_service.aws.wiring"], foreign=foreign)


def test_a_domain_that_needs_boto3_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, "forklore.__init__", "")
    write(tmp_path, "forklore_service.domain.keys", "import boto3")

    assert "ModuleNotFoundError" in import_all(
        tmp_path, ["forklore_service.domain.keys"], script=BARE + IMPORT_ALL
    )
