"""What importing the client costs, and which names `forklore` has."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import forklore

CLIENT = Path(__file__).parents[3] / "clients" / "python"
MODULES_MAX = 45
"""Of forklore. Each costs about a millisecond."""
HEAVY = {
    "httpx2",
    "httpcore2",
    "anyio",
    "boto3",
    "botocore",
    "moto",
    "pydantic",
    "typer",
    "rich",
    "ssl",
    "asyncio",
}
NOT_THE_CLIENT = ("forklore_service.", "forklore_local.", "forklore.cli.")

COST = """
import sys
from forklore import *
print(*sys.modules)
"""
BARE = """
import sys
for name in ("pydantic", "boto3", "botocore", "moto", "aws_lambda_powertools", "typer", "rich", "uvicorn"):
    sys.modules[name] = None
from forklore import Forklore, NoAnswerError
with Forklore("http://127.0.0.1:9", token="ann", retries=0) as client:
    try:
        client.named("trip").say("user", "Hello")
    except NoAnswerError as error:
        print(type(error).__name__)
print(*[name for name in sys.modules if name.startswith("forklore")])
"""


def in_new_process(script: str) -> list[str]:
    """Run a script in a new process; return the words that it printed."""
    command = [sys.executable, "-I", "-c", f"import sys\nsys.path.insert(0, {str(CLIENT)!r})\n{script}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_everything_is_cheap_and_imports_no_package_that_a_transport_needs() -> None:
    modules = set(in_new_process(COST))

    assert sum(name.startswith("forklore.") for name in modules) < MODULES_MAX
    assert "forklore.client.generated.synchronous.client" in modules
    assert modules.isdisjoint(HEAVY)
    assert not [name for name in modules if f"{name}.".startswith(NOT_THE_CLIENT)]


def test_the_client_over_http_needs_neither_pydantic_nor_boto3_nor_the_service() -> None:
    said, *modules = in_new_process(BARE)

    assert said == "NoAnswerError"
    assert "forklore.client.transports.http" in modules
    assert not [name for name in modules if f"{name}.".startswith(NOT_THE_CLIENT)]


@pytest.mark.parametrize(
    ("opening", "extra"),
    [("Forklore.on_lambda('F', user='ann')", "lambda"), ("Forklore.local(user='ann')", "local")],
)
def test_a_missing_extra_is_named(opening: str, extra: str) -> None:
    script = (
        BARE.partition("with")[0] + f"try:\n    {opening}\nexcept ImportError as error:\n    print(error)"
    )

    assert f"'forklore[{extra}]'" in " ".join(in_new_process(script))


@pytest.mark.parametrize(
    ("options", "missing", "extra"),
    [("--function F", "boto3", "lambda")],
)
def test_a_command_says_which_extra_its_client_lacks(options: str, missing: str, extra: str) -> None:
    script = (
        f"sys.modules[{missing!r}] = None\nsys.argv = 'forklore ls --user ann {options}'.split()\n"
        "from forklore.cli.main import main\n"
        "sys.stderr = sys.stdout\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)"
    )

    said = f"forklore: {missing} is not installed: pip install 'forklore[{extra}]' 2"
    assert " ".join(in_new_process(script)) == said


def test_every_name_can_be_imported_and_has_a_docstring() -> None:
    named = {name: getattr(forklore, name) for name in forklore.__all__}

    assert sorted(forklore.__all__) == sorted(name for names in forklore._PLACES.values() for name in names)
    assert all(inspect.getdoc(held) for held in named.values())
    assert {"Forklore", "AsyncForklore", "ApiError", "ConflictError"} <= set(named)
    assert set(dir(forklore)) >= set(named)


def test_every_error_of_the_client_has_a_name_here() -> None:
    from forklore.client import errors

    kinds = {
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)
    }
    assert kinds <= set(forklore.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        forklore.nothing  # noqa: B018
