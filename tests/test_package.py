"""The wheel: what is in it, what it asks for, and what works when nothing else is installed."""

import email
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from forklore.client import VERSION
from forklore_local.server import page as page_files
from tests.test_layering import FRAMEWORKS, PARTS

PROJECT = Path(__file__).parents[1]
PACKAGES = {PROJECT / base / part for part, base in PARTS.items()}
NOT_BUILT = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "requirements", "node_modules"
)
STARTS_WITHIN_SECONDS = 60


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the checkout, without the network; return its path."""
    source, built = tmp_path_factory.mktemp("source") / "forklore", tmp_path_factory.mktemp("wheel")
    shutil.copytree(PROJECT, source, symlinks=True, ignore=NOT_BUILT)
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-index"),
        *("--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(source)),
    )
    [path] = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def files(wheel: Path) -> set[str]:
    """The paths in the wheel."""
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_the_client_knows_its_version(metadata: Message) -> None:
    assert metadata["Version"] == VERSION


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel and nothing else: the folder of its programs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    run(
        *(sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"),
        *("--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile", str(wheel)),
    )
    return folder / "bin"


def run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command, which succeeds; return what it printed."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def failed(*command: str, cwd: Path) -> tuple[int, str]:
    """Run a command that fails; return its exit code and what it printed on standard error."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env={})
    return done.returncode, done.stderr


def test_the_wheel_holds_all_rooms_the_sample_requests_and_the_page_and_nothing_else(files: set[str]) -> None:
    code = {
        path.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for path in (*package.rglob("*.py"), package / "py.typed")
    }
    page = {f"forklore_local/server/web/{path.name}" for path in (PROJECT / "web" / "built").iterdir()}
    held = {name for name in files if ".dist-info/" not in name}

    assert "forklore_local/server/web/index.html" in page
    assert held == code | page
    assert {name.partition("/")[0] for name in held} == set(PARTS)


def test_every_room_is_a_package_of_the_wheel(files: set[str]) -> None:
    folders = {str(Path(name).parent) for name in files if name.endswith(".py")}

    assert folders >= {"forklore_service/domain", "forklore_local/fsck", "forklore/cli/commands"}
    assert {f"{folder}/__init__.py" for folder in folders} <= files


def test_the_wheel_holds_nothing_of_those_who_develop_forklore(files: set[str]) -> None:
    parts = {part for name in files for part in Path(name).parts}

    assert parts.isdisjoint({"tests", "tools", "bench", "gate", "functions", "examples", "docs", "harness"})


def test_the_service_works_without_the_other_parts(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules.update(forklore=None, forklore_local=None)\n"
        "import forklore_service.aws.handlers; print('imported')"
    )
    environment = {"AWS_DEFAULT_REGION": "us-east-1", "FORKLORE_TABLE": "x"}
    assert run(sys.executable, "-I", "-c", script, cwd=tmp_path, env=environment) == "imported\n"


def test_without_an_extra_only_the_client_over_http_is_asked_for_and_no_version_is_pinned(
    metadata: Message,
) -> None:
    required = metadata.get_all("Requires-Dist") or []

    extras = {"service", "authorizer", "lambda", "local", "cli", "mcp", "metrics", "recall"}
    extras |= {adapter.replace("_", "-") for adapter in FRAMEWORKS}
    assert set(metadata.get_all("Provides-Extra") or []) == extras
    alone = [line for line in required if "extra ==" not in line]
    assert sorted(re.split(r"[<>=]", line)[0] for line in alone) == ["anyio", "httpx2"]
    assert [line for line in required if "==" in line.partition(";")[0]] == []


@pytest.mark.parametrize(
    ("extra", "lock"),
    [("service", "layers/core"), ("authorizer", "functions/authorizer"), ("mcp", "clients/python")],
)
def test_an_extra_names_what_lambda_runs(metadata: Message, extra: str, lock: str) -> None:
    lines = (PROJECT / lock / "requirements.in").read_text().splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if not line.startswith("#")}
    marked = [line for line in metadata.get_all("Requires-Dist") or [] if f'extra == "{extra}"' in line]
    named = {re.match(r"[\w.-]+", line.lower())[0] for line in marked}  # type: ignore[index]

    assert named == pinned | ({"boto3"} if extra == "service" else set())


def test_the_wheel_alone_can_be_imported(installed: Path, tmp_path: Path) -> None:
    script = "import forklore, forklore_service.domain.keys; print(forklore.__file__)"
    place = run(str(installed / "python"), "-c", script, cwd=tmp_path)

    assert Path(place).is_relative_to(installed.parent)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["forklore", "fsck", "--table", "x"], "cli"),
        (["python", "-m", "forklore_local.server"], "local"),
    ],
)
def test_a_command_whose_extra_is_missing_names_it(
    installed: Path, tmp_path: Path, command: list[str], extra: str
) -> None:
    code, said = failed(str(installed / command[0]), *command[1:], cwd=tmp_path)

    assert code == 2
    assert re.fullmatch(rf"forklore: \w+ is not installed: pip install 'forklore\[{extra}\]'\n", said), said


def test_the_local_server_runs_from_the_wheel_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The packages of its extra are those of the environment that runs this test."""
    site = Path(
        run(str(installed / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))

    with local_server(installed, tmp_path) as url:
        alice = {"Authorization": "Bearer alice", "Content-Type": "application/json"}
        made = send(f"{url}/v1/conversations", alice, {"title": "Hello"})
        assert made["title"] == "Hello"
        document = send(f"{url}/openapi.json", {})
        assert document == json.loads((PROJECT / "docs" / "openapi.json").read_text())
        for path in ("/docs/swagger-ui.css", *page_files.find_files()):
            with urllib.request.urlopen(f"{url}{path}") as answer:
                assert answer.status == 200, path
    assert list(tmp_path.iterdir()) == []


@contextmanager
def local_server(installed: Path, folder: Path) -> Iterator[str]:
    """Run the local server of an environment in a folder; yield its address."""
    process = subprocess.Popen(
        [str(installed / "python"), "-B", "-m", "forklore_local.server", "--port", "0"],
        cwd=folder,
        env={"HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("see the conversations at "), process.communicate(
            timeout=STARTS_WITHIN_SECONDS
        )
        yield line.split()[-1].rstrip("/")
    finally:
        process.terminate()
        process.communicate(timeout=STARTS_WITHIN_SECONDS)


def send(url: str, headers: dict[str, str], body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


WRONG = """
from forklore import Forklore
fl = Forklore("http://h", token=5)
fl.named("trip").say("user")
fl.api.list_forks("c", limit="1")
fl.api.update_conversation("c", unknown=1)
fl.named("trip").fork(count=2).id
"""


@pytest.mark.long
def test_a_program_outside_passes_strict_mypy_against_the_wheel_and_its_mistakes_are_found(
    installed: Path, tmp_path: Path
) -> None:
    python = installed / "python"
    site = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))
    shutil.copy(PROJECT / "tests" / "clients" / "python" / "typed_use.py", tmp_path / "right.py")
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    done = subprocess.run(
        [*command, "--python-executable", str(python), "right.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    found = [line.split(":")[:2] for line in done.stdout.splitlines() if ": error:" in line]
    assert found == [["wrong.py", str(number)] for number in (3, 4, 5, 6, 7)], done.stdout + done.stderr
