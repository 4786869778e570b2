"""`python -m tools.client` writes what is generated of the clients, and the OpenAPI document."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from forklore_local.server import openapi
from tools.client.arguments import arguments_module
from tools.client.limits import limits_module
from tools.client.operations import operations_module
from tools.client.results import results_module
from tools.client.synchronous import synchronous_modules
from tools.client.typescript import typescript_module

PROJECT = Path(__file__).parents[2]
PYTHON = "clients/python/forklore/client/generated"
TYPESCRIPT = "clients/typescript/src/generated/operations.ts"
DOCUMENT = "docs/openapi.json"
PACKAGE = '"""What `python -m tools.client` writes. Do not change it by hand."""\n'


def generated() -> Mapping[str, str]:
    """Return the text of each generated file, formatted, by its path below the project.

    What Vite builds of the explorer is not among them: tests/web/test_files.py.
    """
    asynchronous = (PROJECT / PYTHON).with_name("asynchronous")
    document = openapi.text()
    modules = {
        "__init__.py": PACKAGE,
        "arguments.py": arguments_module(),
        "limits.py": limits_module(),
        "results.py": results_module(),
        "operations.py": operations_module(),
        **{f"synchronous/{name}": text for name, text in synchronous_modules(asynchronous).items()},
    }
    return {
        **{f"{PYTHON}/{name}": _formatted(text, PROJECT / PYTHON / name) for name, text in modules.items()},
        TYPESCRIPT: typescript_module(json.loads(document)),
        DOCUMENT: document,
    }


def _formatted(text: str, path: Path) -> str:
    """Return the text as ruff formats it. path: where the settings are looked for."""
    for command in (["check", "--fix-only", "--select", "F401,I", "--quiet"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> None:
    """Write every generated file."""
    for path, text in generated().items():
        file = PROJECT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
