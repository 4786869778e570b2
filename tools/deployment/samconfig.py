"""Read and write what samconfig.toml keeps of each stage.

python -m tools.deployment.samconfig STAGE PARAMETER prints a parameter of the last deployment.

`sam deploy` reads the section of a stage, `[STAGE.deploy.parameters]` (`--config-env`). The values
of the template's parameters are a table in it, with one line for each. Older sections have them as
one text.
"""

import os
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit

FILE = Path(os.environ.get("SAMCONFIG") or Path(__file__).parents[2] / "samconfig.toml")
OVERRIDES = "parameter_overrides"


@dataclass(frozen=True)
class Kept:
    """What is kept of a stage. stack: the name of its stack. region: None if it is not kept.

    parameters: the template's, by name. tags: of the stack; None if none are kept. profile: the one
    of AWS's settings that SAM takes; None if none is kept. Only people write it.
    """

    stack: str
    region: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: str | None = None
    profile: str | None = None


def read_stage(text: str, stage: str) -> Kept:
    """Return what samconfig.toml, given as text, keeps of a stage.

    Raises ValueError if the text is no TOML (tomllib.TOMLDecodeError), if the stage's name is that
    of something else in it, or if its parameters are in no form that SAM reads.
    """
    document = tomllib.loads(text)
    every, own = (_table(document, stage, command, "parameters") for command in ("global", "deploy"))
    settings = {**every, **own}
    return Kept(
        settings.get("stack_name") or default_stack(stage),
        settings.get("region"),
        _pairs(own.get(OVERRIDES, {})),
        settings.get("tags"),
        settings.get("profile"),
    )


def read_file(file: Path) -> str:
    """Return the text of samconfig.toml; an empty text if there is no such file yet.

    Raises ValueError, with the reason, if it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ValueError(error.strerror or "it is no file") from error


def default_stack(stage: str) -> str:
    """Return the name that a stage's stack gets the first time.

    >>> default_stack("default"), default_stack("try")
    ('forklore', 'forklore-try')
    """
    return "forklore" if stage == "default" else f"forklore-{stage}"


def read_parameters(text: str, stage: str) -> dict[str, str]:
    """Return the template's parameters of a stage; an empty dict if it was never deployed.

    >>> read_parameters("[try.deploy.parameters]\\nparameter_overrides = 'Admins=\\"ann\\"'", "try")
    {'Admins': 'ann'}
    """
    return dict(read_stage(text, stage).parameters)


def write_stage(text: str, stage: str, kept: Kept) -> str:
    """Return samconfig.toml with what is kept of a stage. All else stays, with its comments.

    A stage that is new also gets what every deployment needs: the permission to create roles, SAM's
    bucket, and a look at the changes before they are made.
    """
    document: Any = tomlkit.parse(text)
    section = document
    if not document:
        document["version"] = 0.1
    for name in (stage, "deploy", "parameters"):
        if name not in section:
            section[name] = tomlkit.table(is_super_table=name != "parameters")
        section = section[name]
    if "capabilities" not in section:
        section["capabilities"] = "CAPABILITY_IAM"
        section["confirm_changeset"] = True
        section["fail_on_empty_changeset"] = False
        section["resolve_s3"] = True
    if document.get(stage, {}).get("global", {}).get("parameters", {}).get("stack_name") != kept.stack:
        section["stack_name"] = kept.stack
    for name, value in (("region", kept.region), ("tags", kept.tags)):
        if value is not None:
            section[name] = value
    if isinstance(section.get(OVERRIDES), Mapping):
        for name in [name for name in section[OVERRIDES] if name not in kept.parameters]:
            del section[OVERRIDES][name]
        section[OVERRIDES].update(kept.parameters)
    else:
        section.pop(OVERRIDES, None)
        table = tomlkit.table()
        table.update(kept.parameters)
        section[OVERRIDES] = table
    return tomlkit.dumps(document)


def _table(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the table of these names; an empty one if it is not there."""
    for at, name in enumerate(names):
        document = document.get(name, {})
        if not isinstance(document, Mapping):
            raise ValueError(f"{'.'.join(names[: at + 1])} is no table")
    return document


def _pairs(overrides: Any) -> dict[str, str]:
    """Return the parameters in any form that SAM reads: a table, a text, a list of texts."""
    if isinstance(overrides, Mapping):
        return {name: str(value) for name, value in overrides.items()}
    texts = shlex.split(overrides) if isinstance(overrides, str) else overrides
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("parameter_overrides must be a table, a text or a list of texts")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def main(stage: str, parameter: str) -> None:
    """Print the value."""
    print(read_parameters(read_file(FILE), stage).get(parameter, ""))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
