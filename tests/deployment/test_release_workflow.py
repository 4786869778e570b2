"""What publishes a version: after the tests, all packages, and no action that somebody can move."""

import json
import re
from typing import Any

from tests.deployment.document import PROJECT
from tools.deployment.loading import load

WORKFLOW = load(PROJECT / ".github" / "workflows" / "release.yml")
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
PUBLISHING = {name for name, job in JOBS.items() if "id-token" in job["permissions"]}


def needed(name: str) -> set[str]:
    """Return the jobs that must have succeeded before a job begins."""
    needs = [JOBS[name]["needs"]] if "needs" in JOBS[name] else []
    return {*needs, *(far for near in needs for far in needed(near))}


def steps(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = JOBS[name]["steps"]
    return found


def test_every_action_is_named_by_its_commit_with_the_version_beside_it() -> None:
    text = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    named = re.findall(r"uses: (.+)", text)

    assert len(named) == sum("uses" in step for name in JOBS for step in steps(name)) > 0
    assert [
        one for one in named if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)
    ] == []
    assert len({one.partition(" ")[0] for one in named}) == len({one.partition("@")[0] for one in named})


def test_nothing_is_published_before_all_tests_have_passed() -> None:
    assert {"pypi", "npm"} == PUBLISHING
    for name in PUBLISHING:
        assert [one for one in sorted(needed(name)) if {"run": ".ci/run"} in steps(one)] == ["test"]
        assert JOBS[name]["environment"] == name


def test_only_what_publishes_has_a_right_and_it_runs_nothing_of_the_repository() -> None:
    assert WORKFLOW["permissions"] == {}
    for name, job in JOBS.items():
        assert job["permissions"] == ({"id-token": "write"} if name in PUBLISHING else {"contents": "read"})
        assert not any("checkout" in step.get("uses", "") for step in steps(name) if name in PUBLISHING)


def test_every_package_of_npm_is_published() -> None:
    found = (PROJECT / "clients").glob("*/package.json")
    names = {json.loads(one.read_text(encoding="utf-8"))["name"] for one in found}

    assert {f"@forklore/{one}" for one in JOBS["npm"]["strategy"]["matrix"]["package"]} == names
