"""Print a parameter of a stage's last deployment.

python -m tools.deployment.samconfig STAGE PARAMETER

`sam deploy --guided` keeps the answers in samconfig.toml, one section for each stage
(`--config-env`).
"""

import shlex
import sys
import tomllib
from pathlib import Path

FILE = Path(__file__).parents[2] / "samconfig.toml"


def read_parameters(text: str, stage: str) -> dict[str, str]:
    """Return the template's parameters of a stage; an empty dict if it was never deployed.

    text: of samconfig.toml. Its `parameter_overrides` is a text, with values quoted as for a shell,
    or a list of texts.

    >>> read_parameters("[try.deploy.parameters]\\nparameter_overrides = 'Admins=\\"ann\\"'", "try")
    {'Admins': 'ann'}
    """
    kept = tomllib.loads(text).get(stage, {}).get("deploy", {}).get("parameters", {})
    overrides = kept.get("parameter_overrides", [])
    pairs = shlex.split(overrides) if isinstance(overrides, str) else overrides
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def main(stage: str, parameter: str) -> None:
    """Print the value."""
    print(read_parameters(FILE.read_text(encoding="utf-8"), stage).get(parameter, ""))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
