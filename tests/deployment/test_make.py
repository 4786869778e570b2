"""What make would run. Builds for this machine and builds for a deployment are separate."""

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from tests.deployment.document import PROJECT
from tools.harness.runtime import PROCESSORS

OUR_CALLERS = {"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "ARCHITECTURE", "STAGE", "ASK", "CONFIRM", "SAMCONFIG"}
"""Variables that make may get from the environment of the tests."""
ENVIRONMENTS = ("VENV", "RUN", "WEB", "SAM", "CHECKS", "RELEASE", "RUNTIME", "EMULATOR")
HERE, DEPLOYED = ".aws-sam/here/build", ".aws-sam/build"
MACHINE = PROCESSORS.get(platform.machine(), platform.machine())
OTHER = {"arm64": "x86_64"}.get(MACHINE, "arm64")


def dry_run(*words: str, runtime_python: str = "") -> str:
    """Return the commands that make would run if nothing is installed or deployed yet."""
    environment = {name: value for name, value in os.environ.items() if name not in OUR_CALLERS}
    folders = [f"{name}=nowhere/{name}" for name in ENVIRONMENTS]
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *folders, f"RUNTIME_PYTHON={runtime_python}", *words],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def builds(text: str) -> list[tuple[str, str]]:
    """Return the architecture and the folder of each build."""
    return re.findall(r'FORKLORE_ARCHITECTURE="(\w+)".*? build --build-dir "([^"]+)"', text)


@pytest.mark.parametrize("target", ["size-deployed", "test-deployment", "deploy-emulated", "sam-local"])
def test_a_build_for_this_machine_has_its_own_folder(target: str) -> None:
    text = dry_run(target, f"ARCHITECTURE={OTHER}")

    assert builds(text) == [(MACHINE, HERE)]
    assert HERE in text.split("tools.deployment.built_for")[1].partition("\n")[2]
    assert DEPLOYED not in text


def test_a_deployment_is_built_for_the_requested_architecture() -> None:
    text = dry_run("test-deployment", "deploy", f"ARCHITECTURE={OTHER}")

    assert builds(text) == [(MACHINE, HERE), (OTHER, DEPLOYED)]
    assert builds(dry_run("deploy")) == [("arm64", DEPLOYED)]


@pytest.mark.parametrize(("words", "stage"), [((), "default"), (("STAGE=try",), "try")])
def test_a_deployment_of_a_stage_is_prepared_before_it_is_built(words: tuple[str, ...], stage: str) -> None:
    text = dry_run("deploy", *words)
    prepared, built, deployed = (
        text.index(one)
        for one in (
            f'-m tools.deployment.deploy "{stage}"',
            f'build --build-dir "{DEPLOYED}"',
            f'deploy --config-file "{PROJECT}/samconfig.toml" --config-env "{stage}"',
        )
    )

    assert prepared < built < deployed
    assert "--no-confirm-changeset" not in text
    assert "--no-confirm-changeset" in dry_run("deploy", "CONFIRM=no").splitlines()[-1]


def test_a_build_is_compiled_by_the_functions_python_or_make_says_that_it_is_not() -> None:
    without, with_one = dry_run("build"), dry_run("build", runtime_python="/opt/python 3.13")

    assert "Built without byte-code" in without
    assert "compileall" not in without
    assert "Built without byte-code" not in with_one
    assert re.findall(r'"/opt/python 3.13" -m compileall .* -s "(\S+)" -p "(\S+)" "(\S+)"', with_one)[-1] == (
        "$layer",
        "/opt",
        "$layer",
    )


def test_without_the_functions_python_the_last_line_says_what_was_not_tested() -> None:
    assert "NOT TESTED" in dry_run("test-deployment").splitlines()[-1]


@pytest.mark.parametrize("target", ["run", "demo"])
def test_run_and_demo_install_no_test_tools_and_first_say_what_they_do(target: str) -> None:
    text = dry_run(target)

    assert "requirements/dev.txt" not in text
    assert text.index('echo "Installing requirements/run.txt into nowhere/RUN') < text.index("-m venv")
    assert '"nowhere/RUN/bin/' in text.splitlines()[-1]


def test_the_demo_imports_the_examples_or_a_file_and_draws_the_last_tree() -> None:
    line, other = (dry_run("demo", *given) for given in ((), ("FILE=my trees.jsonl",)))

    assert '"nowhere/RUN/bin/forklore" import examples/trees.jsonl examples/agent_run.jsonl' in line
    assert '"nowhere/RUN/bin/forklore" import "my trees.jsonl"' in other
    assert line.splitlines()[-1].strip().startswith('"nowhere/RUN/bin/forklore" log --graph')


def test_what_runs_is_pinned_as_it_is_tested_and_with_hashes() -> None:
    run, dev = (pins(f"requirements/{name}.txt") for name in ("run", "dev"))

    assert run.items() < dev.items()
    assert {"uvicorn", "boto3"} <= run.keys()
    assert {"moto", "pytest", "mypy", "ruff", "schemathesis"}.isdisjoint(run)
    assert all(hashes for _, hashes in run.values())


def pins(lock: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the version and the hashes of each package in a lock."""
    text = (PROJECT / lock).read_text()
    found = re.findall(r"^([a-z0-9-]+)==(\S+)[^\n]*((?:\n    --hash=\S+(?: \\\\)?)+)", text, re.MULTILINE)
    return {
        name: (version, frozenset(re.findall(r"--hash=(\S+)", hashes))) for name, version, hashes in found
    }


def test_clean_removes_every_environment() -> None:
    text = dry_run("clean")

    for name in ENVIRONMENTS:
        assert f'"nowhere/{name}"' in text


@pytest.mark.parametrize(
    ("told", "status", "passes"),
    [
        ("Passed checks: 67, Failed checks: 0, Skipped checks: 0", 0, True),
        ("Passed checks: 0, Failed checks: 0, Skipped checks: 0, Parsing errors: 1", 0, False),
        ("Passed checks: 66, Failed checks: 1, Skipped checks: 0", 1, False),
    ],
)
def test_a_template_that_checkov_fails_at_or_cannot_parse_ends_the_checks(
    tmp_path: Path, told: str, status: int, passes: bool
) -> None:
    text = dry_run("test-deployment")
    [command] = re.findall(r"^.*checkov\.main(?:.*\\\n)*.*$", text, re.MULTILINE)
    python = tmp_path / "CHECKS" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho '{told}'\nexit {status}\n")
    python.chmod(0o755)
    run = ["sh", "-c", command.replace("nowhere/", f"{tmp_path}/")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)

    assert (done.returncode == 0, done.stdout.strip()) == (passes, told)
