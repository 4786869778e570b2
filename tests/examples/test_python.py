"""The examples in Python: each script prints what stands beside it, in process and over HTTP."""

import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any

import boto3
import pytest
from moto import mock_aws

from forklore import Forklore
from forklore_service.aws.wiring import Given
from forklore_service.storage import schema
from tests.service.aws.direct import Direct
from tools.deployment.template import read_template
from tools.harness.functions import TEMPLATE
from tools.harness.gateway import given, table_in_memory
from tools.harness.local_server import ROOT, environment, local_server

FOLDER = ROOT / "examples"
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
CONNECT = """\
if url := environ.get("FORKLORE_URL"):  # a server, or a deployed stage
    token, key = environ.get("FORKLORE_TOKEN", "ann"), environ.get("FORKLORE_CLIENT_KEY", "local-key")
    fl = Forklore(url, token=token, client_key=key)
else:  # the service itself, in this process; it forgets everything at the end
    fl = Forklore.local(user="ann", client="planner")
"""
ON_AWS, ON_MOTO = "on_lambda", "on_moto"
RUNS = [(name,) for name in EXAMPLES if name not in (ON_AWS, ON_MOTO)] + [("async_client", "trio")]
IN_PROCESS = 'from forklore import Forklore, text_of\n\nfl = Forklore.local(user="ann", client="planner")\n'
RUN_S = 180


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server that the examples share."""
    with local_server() as address:
        yield address


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def expected(name: str) -> str:
    return (FOLDER / f"{name}.py.out").read_text(encoding="utf-8")


def printed(*arguments: str, **variables: str) -> str:
    """Return what an example prints. It must write no error. It runs in this process."""
    out, err = io.StringIO(), io.StringIO()
    path = str(FOLDER / f"{arguments[0]}.py")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in [name for name in os.environ if name.startswith("FORKLORE_")]:
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", [path, *arguments[1:]])
        left = runpy.run_path(path, run_name="__main__")
    if isinstance(left.get("fl"), Forklore):
        left["fl"].close()
    assert err.getvalue() == ""
    return out.getvalue()


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, with no other variables of forklore than these."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={k: v for k, v in environment().items() if not k.startswith("FORKLORE_")} | variables,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def test_the_examples_connect_alike() -> None:
    """All but the one with `await`, whose clients have other names, and those that invoke."""
    assert {name for name in EXAMPLES if CONNECT not in text_of(name)} == {"async_client", ON_AWS, ON_MOTO}


def test_the_readme_begins_with_the_first_steps() -> None:
    script, output = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL)[0]

    assert script == IN_PROCESS + text_of("first_steps").partition(CONNECT)[2]
    assert output == expected("first_steps")


def test_the_page_shows_the_agent_with_tools() -> None:
    body, _, call = text_of("agent_with_tools").partition(CONNECT)[2].partition("\n\nrun(")
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")

    assert body.strip() in page
    assert f"```python\nrun({call}```\n\n```text\n{expected('agent_with_tools')}```" in page


@pytest.mark.parametrize("lines", range(1, 10))
def test_an_agent_that_is_killed_goes_on_where_it_was(url: str, lines: int) -> None:
    """lines: how many the agent has printed when it is killed."""
    user = {"FORKLORE_URL": url, "FORKLORE_TOKEN": str(uuid.uuid4())}
    variables = {k: v for k, v in environment().items() if not k.startswith("FORKLORE_")} | user
    with subprocess.Popen(
        [sys.executable, "examples/agent_with_tools.py"], cwd=ROOT, env=variables, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout is not None
        for _ in range(lines):
            assert killed.stdout.readline()
        killed.kill()

    said = printed("agent_with_tools", **user)

    told, _, history = f"\n{said}".rpartition("\n\n")  # nothing is told if all was done before the kill
    assert history == expected("agent_with_tools").rpartition("\n\n")[2]
    assert told.count("->") <= 2


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_an_example_prints_in_process_what_stands_beside_it(run: tuple[str, ...]) -> None:
    assert printed(*run) == expected(run[0])


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_an_example_prints_over_http_what_stands_beside_it(url: str, run: tuple[str, ...]) -> None:
    user = str(uuid.uuid4())  # names belong to users, and a search sees all of a user's conversations

    assert printed(*run, FORKLORE_URL=url, FORKLORE_TOKEN=user) == expected(run[0])


def test_the_commands_of_the_readme_go_on_where_the_first_steps_end(url: str) -> None:
    """`forklore diff` ends with 1, because the two branches differ."""
    block = (
        README.partition("## Use it from the command line\n")[2].partition("```sh\n")[2].partition("```")[0]
    )
    as_ann = {"FORKLORE_TOKEN": str(uuid.uuid4()), "FORKLORE_CLIENT_KEY": "local-key", "FORKLORE_URL": url}
    first = _run("examples/first_steps.py", **as_ann)
    assert (first.stdout, first.stderr) == (expected("first_steps"), "")

    commands = [shlex.split(line)[1:] for line in block.splitlines() if line.startswith("forklore ")]
    done = [_run("-m", "forklore.cli", *command, **as_ann) for command in commands]

    assert [(one.returncode, one.stderr) for one in done] == [*[(0, "")] * 4, (1, "")]
    assert "Three nights in Porto?" in done[1].stdout
    assert "+user: And by train?" in done[-1].stdout


class InvokedHere:
    """A Lambda client that runs the function's own handler in this process."""

    def __init__(self, direct: Direct) -> None:
        self._direct = direct

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Any:  # noqa: N803
        """Return what boto3 returns."""
        assert (FunctionName, InvocationType) == ("AgentFunction", "RequestResponse")
        answer = self._direct.send(Payload.decode())
        return {
            "Payload": io.BytesIO(json.dumps(answer).encode()),
            "ResponseMetadata": {"RequestId": str(uuid.uuid4())},
        }


def test_the_example_on_lambda_prints_what_stands_beside_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with table_in_memory() as template:
        client = InvokedHere(Direct(template))
        monkeypatch.setattr("boto3.client", lambda service, **_: {"lambda": client}[service])
        monkeypatch.delenv("FORKLORE_FUNCTION", raising=False)
        runpy.run_path(str(FOLDER / "on_lambda.py"), run_name="__main__")

    assert capsys.readouterr().out == expected(ON_AWS)


def test_the_example_on_moto_prints_what_stands_beside_it() -> None:
    done = _run(f"examples/{ON_MOTO}.py")
    assert (done.stdout, done.stderr) == (expected(ON_MOTO), "")


@pytest.mark.parametrize("name", ["edit_and_resend", "merge_with_summary", "names", "search"])
def test_the_functions_on_moto_answer_as_the_store_in_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    template = read_template(TEMPLATE)
    for variable, value in {"FORKLORE_TABLE": "forklore", "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(variable, value)
    with mock_aws(), given(Given()):
        boto3.client("dynamodb").create_table(TableName="forklore", **schema.TABLE)
        client = InvokedHere(Direct(template))
        invoked = partial(Forklore.on_lambda, "AgentFunction", boto_client=client)
        monkeypatch.setattr(Forklore, "local", invoked)
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")

    assert capsys.readouterr().out == expected(name)
