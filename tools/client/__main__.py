"""`python -m tools.client` writes the generated modules of the clients."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.client.arguments import arguments_module
from tools.client.limits import limits_module
from tools.client.operations import operations_module
from tools.client.results import results_module
from tools.client.synchronous import synchronous_modules
from tools.client.typescript import typescript_module

PROJECT = Path(__file__).parents[2]
CLIENT = PROJECT / "clients" / "python" / "forklore" / "client"
TYPESCRIPT = PROJECT / "clients" / "typescript" / "src" / "operations.ts"
"""The one generated module of the client for TypeScript."""


def generated(folder: Path = CLIENT) -> Mapping[str, str]:
    """Return the text of each generated module, formatted, by its path below the client."""
    texts = {
        "arguments.py": arguments_module(),
        "limits.py": limits_module(),
        "results.py": results_module(),
        "operations.py": operations_module(),
    }
    for name, text in synchronous_modules(folder / "asynchronous").items():
        texts[f"synchronous/{name}"] = text
    return {path: _formatted(text, folder / path) for path, text in texts.items()}


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
    """Write every generated module."""
    for path, text in generated().items():
        file = CLIENT / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    TYPESCRIPT.write_text(typescript_module())


if __name__ == "__main__":
    main()
