"""`python -m tools.deployment.built_for TEMPLATE ARCHITECTURE`: fix a built template's architecture.

`sam build` does not look at what it packs, and `sam deploy` takes any value of the parameter Architecture:
functions with wheels for another processor would be deployed, and fail at their first request.
"""

import sys
from pathlib import Path

import yaml


def narrow(text: str, architecture: str) -> str:
    """Return a built template whose parameter Architecture takes this one value, also by default."""
    document = yaml.safe_load(text)
    document["Parameters"]["Architecture"] |= {
        "Default": architecture,
        "AllowedValues": [architecture],
        "ConstraintDescription": f"this was built for {architecture}: make build ARCHITECTURE=… builds anew",
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def main(template: Path, architecture: str) -> None:
    """Write the template anew."""
    text = template.read_text(encoding="utf-8")
    template.write_text(narrow(text, architecture), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
