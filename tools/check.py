"""Check what a change touches: `make check`, or `python -m tools.check [SINCE]`.

The change is what differs from where the branch left `main`, or from SINCE, with what is not
committed. Format, lint and types are checked whole, and of the tests run those of the rooms of the
changed files, but none that is marked `long`. At the end it says which commands CI runs.
"""

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from tools.size import PARTS, PROJECT, TESTS_OF

ALONE = (
    *("tests/clients/adapters", "tests/clients/typescript", "tests/deployment", "tests/web"),
    *("tests/service/http", "tests/service/reliability"),
    *("tests/service/aws/test_fuzz.py", "tests/local/server/test_schemathesis.py"),
)
"""The tests that need an environment of their own, or minutes: other commands run them."""
EVERYWHERE = ("tests/test_circles.py", "tests/test_generated.py", "tests/test_layering.py")
"""What every change may break."""
SERVICE = "layers/core/forklore_service"
BY_CI: Mapping[str, Sequence[str]] = {
    "test": ("",),
    "test-openhands": ("clients/python/forklore", "tests/clients/adapters/openhands"),
    "test-adapters": ("clients/python/forklore", "tests/clients/adapters"),
    "test-web": ("web", "tests/web", "local/forklore_local/server"),
    "test-typescript": (
        "clients/typescript",
        "clients/assistant-ui",
        "clients/ai-sdk",
        "clients/langgraph",
        "clients/mastra",
        "tests/clients",
    ),
    "test-random": (SERVICE, "tests/service"),
    "test-reliability": (SERVICE, "local", "tests/service", "tests/local"),
    "test-deployment": ("functions", "layers", "template.yaml", "tools/deployment", "tests/deployment"),
}
"""The commands that CI runs, each with the folders that it tests first of all."""


def rooms_of(changed: Iterable[str]) -> list[str]:
    """Return the folders and files of tests to run for changed files, relative to the project.

    >>> rooms_of(["functions/publish/app.py", "tests/tools/test_check.py"])[len(EVERYWHERE) :]
    ['tests/functions', 'tests/tools/test_check.py']
    """
    found = set[str]()
    for path in map(PurePosixPath, changed):
        if path.suffix == ".md":
            found |= {"tests/examples", "tests/service/api"}
        if path.suffix != ".py":
            continue
        if path.is_relative_to("tests"):
            found.add(str(path if path.name.startswith("test_") else path.parent))
            continue
        found |= _tests_beside(path)
        if path.parts[0] in ("layers", "local") and (PROJECT / path).exists():
            found.add(str(path))  # the examples in its docstrings
    return [*EVERYWHERE, *sorted(one for one in found if _runs(one, found))]


def _tests_beside(path: PurePosixPath) -> set[str]:
    """Return the nearest folder of tests that is called as the folder of a file is."""
    rooms = {room: tests for tests, room in TESTS_OF.items()}
    for folder, part in PARTS.items():
        if path.is_relative_to(folder):
            below = path.relative_to(folder).parent
            names = [f"{part}/{one}".removesuffix("/.") for one in (below, *below.parents)]
            tests = (rooms.get(name, f"tests/{name}") for name in names)
            return {*[one for one in tests if (PROJECT / one).is_dir()][:1]}
    return set()


def _runs(one: str, found: set[str]) -> bool:
    """Tell whether a room is there, has tests that run here, and is in no other one."""
    path = PurePosixPath(one)
    return (
        (PROJECT / path).exists()
        and one not in ("tests", *EVERYWHERE)
        and not any(path.is_relative_to(other) for other in ALONE)
        and not any(str(above) in found for above in path.parents)
    )


def commands_of(changed: Sequence[str]) -> list[str]:
    """Return the commands of CI that test first of all what has changed."""
    return [
        command
        for command, folders in BY_CI.items()
        if any(PurePosixPath(path).is_relative_to(folder) for path in changed for folder in folders)
    ]


def changed_files(since: str | None) -> list[str]:
    """Return the files that have changed, relative to the project. since: a commit; None: main."""
    if since is None:
        left = _git("merge-base", "main", "HEAD") or _git("merge-base", "origin/main", "HEAD")
        since = left[0] if left else "HEAD"
    new = _git("ls-files", "--others", "--exclude-standard")
    return sorted({*_git("diff", "--name-only", since), *new})


def _git(*command: str) -> list[str]:
    """Return the lines that git prints; none where it fails."""
    found = subprocess.run(["git", *command], cwd=PROJECT, capture_output=True, text=True, check=False)
    return found.stdout.splitlines() if found.returncode == 0 else []


def main(arguments: Sequence[str]) -> int:
    """Return 1 if a check fails."""
    changed = changed_files(*arguments or (None,))
    if not changed:
        print("nothing has changed")
        return 0
    failed = []
    for command in (
        ("ruff", "format", "--check", "--quiet"),
        ("ruff", "check", "--quiet"),
        ("mypy",),
        ("pytest", "--quiet", "-m", "not long", *map("--ignore={}".format, ALONE), *rooms_of(changed)),
    ):
        print("runs:", *(part for part in command if not part.startswith("--ignore")), flush=True)
        if subprocess.run([sys.executable, "-m", *command], cwd=PROJECT, check=False).returncode:
            failed.append(" ".join(command[:2]))
    touched = commands_of(changed)
    rest = [command for command in BY_CI if command not in touched]
    print(f"CI runs, for this change first of all: make {' '.join(touched)}")
    print(f"and then: make {' '.join(rest)}" if rest else "and nothing else")
    print(f"FAILED: {', '.join(failed)}" if failed else "passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
