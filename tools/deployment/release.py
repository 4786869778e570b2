"""Write a digest of a build into its template, so that its functions get new versions.

python -m tools.deployment.release FOLDER

A published version of a function never changes. CloudFormation makes another one only if a property
of the version changes, and Lambda only if the function itself has changed since. So the digest goes
into the descriptions of both. The same build has the same digest on every machine.
"""

import hashlib
import sys
from pathlib import Path
from typing import Any

import yaml

PLACE = "unbuilt"
"""What stands for the digest in the description of a version in template.yaml."""
DIGITS = 12


def digest(folder: Path, template: bytes) -> str:
    """Return the digest of all files of a build, without byte-code, and of its template."""
    found = hashlib.sha256(template)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder and "__pycache__" not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
            found.update(content)
    return found.hexdigest()[:DIGITS]


def stamp(document: dict[str, Any], release: str) -> None:
    """Write the digest into each version and into its function.

    Raises ValueError if a version's description has no place for it.
    """
    resources = document["Resources"]
    versions = {name: one for name, one in resources.items() if one["Type"] == "AWS::Lambda::Version"}
    for name, version in versions.items():
        described = version["Properties"]["Description"]
        text = described["Fn::Sub"]
        if not text.startswith(f"{PLACE} "):
            raise ValueError(f"the description of {name} does not begin with {PLACE!r}: built twice?")
        version["Properties"]["Description"] = {"Fn::Sub": release + text.removeprefix(PLACE)}
        function = resources[version["Properties"]["FunctionName"]["Ref"]]["Properties"]
        function["Description"] = f"{function['Description']} Build {release}."


def main(folder: Path) -> None:
    """Rewrite the template."""
    template = folder / "template.yaml"
    text = template.read_bytes()
    document = yaml.safe_load(text)
    stamp(document, digest(folder, text))
    template.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
