"""Runs real agent programs, and checks what they write: `python -m tools.programs`."""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path

from tools.programs.checking import Check
from tools.programs.claude_code import ClaudeCode
from tools.programs.cline import Cline
from tools.programs.codex import Codex
from tools.programs.continue_cli import Continue
from tools.programs.copilot import Copilot
from tools.programs.gemini import Gemini
from tools.programs.goose import Goose
from tools.programs.kimi import Kimi
from tools.programs.llm import Llm
from tools.programs.opencode import OpenCode
from tools.programs.openhands import OpenHands
from tools.programs.pi import Pi
from tools.programs.program import Cutting, Program, Told
from tools.programs.qwen import Qwen
from tools.programs.stand_in import StandIn
from tools.programs.world import ProgramError, World

PROGRAMS: tuple[Program, ...] = (
    ClaudeCode(),
    Codex(),
    OpenCode(),
    Pi(),
    Copilot(),
    Gemini(),
    Goose(),
    Llm(),
    OpenHands(),
    Qwen(),
    Continue(),
    Kimi(),
    Cline(),
)
NODE = "node@22.23.3"
FIXTURES = Path("tests/clients/importing/programs")


def main() -> int:
    """Run the programs that are asked for, and return 1 if one did not do what it should."""
    names = [one.name for one in PROGRAMS]
    parser = argparse.ArgumentParser(prog="python -m tools.programs", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="this program; may be given again")
    parser.add_argument("--keep", action="store_true", help="keep what the programs wrote, and say where")
    parser.add_argument("--write", action="store_true", help=f"write the fixtures in {FIXTURES} anew")
    parser.add_argument("--installed", type=Path, default=Path(".programs"), help="where programs are")
    asked = parser.parse_args()
    failed = 0
    for program in PROGRAMS:
        if asked.only and program.name not in asked.only:
            continue
        started = time.monotonic()
        print(f"{program.name} {program.version}: ", end="", flush=True)
        folder = Path(tempfile.mkdtemp(prefix=f"forklore-{program.name}-"))
        try:
            installed = install(program, asked.installed.absolute())
            told, found = drive(program, folder, installed, write=asked.write)
        except (ProgramError, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"FAILED\n{error}")
        except Exception:  # noqa: BLE001 - the others are still to be run
            failed += 1
            print(f"FAILED\n{traceback.format_exc()}")
        else:
            seconds = time.monotonic() - started
            count = sum(len(tree) for tree in told.trees)
            wrote = f"{len(told.trees)} trees, {count} branches, {len(told.children)} children"
            print(f"{wrote}, {seconds:.0f} s")
            print("".join(f"  NOT SO: {one}\n" for one in found), end="")
            failed += bool(found)
        if asked.keep:
            print(f"  kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def install(program: Program, folder: Path) -> Path:
    """Install a program into a folder of its own, if it is not there, and return that."""
    target = folder / f"{program.name}-{program.version}"
    packages = [*program.packages, *([NODE] if program.newer_node else [])]
    if not (target / "ready").exists():
        print("installing, ", end="", flush=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        if program.installer == "npm":
            (target / "package.json").write_text('{"private": true}')
            npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages]
            subprocess.run(npm, cwd=target, check=True, stdout=subprocess.DEVNULL)
        else:
            subprocess.run([python_of(program.python), "-m", "venv", str(target)], check=True)
            pip = [str(target / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run(pip, check=True)
        (target / "ready").touch()
    return target


def python_of(version: tuple[int, int]) -> str:
    """Return a Python that is at least of a version: this one, of the PATH, or of pyenv.

    Raises ProgramError if there is none.
    """
    known = Path.home().glob(".pyenv/versions/3.*/bin/python3")
    for python in (
        sys.executable,
        *(f"python3.{minor}" for minor in range(version[1], 20)),
        *map(str, known),
    ):
        proved = f"import sys; sys.exit(sys.version_info < {version})"
        with contextlib.suppress(OSError):
            if not subprocess.run([python, "-c", proved], capture_output=True, check=False).returncode:
                return python
    raise ProgramError(f"there is no Python {version[0]}.{version[1]} or newer")


def drive(program: Program, folder: Path, installed: Path, *, write: bool) -> tuple[Told, list[str]]:
    """Let a program write its sessions, and return what it told, and what forklore makes otherwise.

    write: the fixtures anew, from what it wrote.
    """
    with StandIn(program.script()) as stand_in:
        variables = {
            name: value.format(url=stand_in.url, home=folder / "home")
            for name, value in program.variables.items()
        }
        if program.newer_node:
            variables["PATH"] = f"{installed / 'node_modules/node/bin'}:{os.environ['PATH']}"
        world = World(folder, installed, stand_in, variables)
        world.home.mkdir()
        world.project.mkdir()
        (world.project / "boats.txt").write_text("Ada\nBea\nCleo\n")
        program.set_up(world)
        try:
            told = program.talk(world)
        finally:
            world.stop_all()
        if write:
            fixtures = FIXTURES / program.name
            shutil.rmtree(fixtures, ignore_errors=True)
            program.cut(world, fixtures)
            expected = {"program": program.name, "version": program.version, **asdict(told)}
            expected = Cutting(world).value(expected)
            (fixtures / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
        return told, list(Check(program, world, told).run())


if __name__ == "__main__":
    sys.exit(main())
