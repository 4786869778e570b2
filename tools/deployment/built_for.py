"""Fix the architecture of a built template.

python -m tools.deployment.built_for TEMPLATE ARCHITECTURE

`sam build` does not check what it packs, and `sam deploy` accepts any value of the parameter
Architecture. Therefore functions with wheels for another processor could be deployed. They would
fail at their first request.
"""

import sys
from pathlib import Path

import yaml


def narrow(text: str, architecture: str) -> str:
    """Return the template with `architecture` as the only and default value of Architecture."""
    document = yaml.safe_load(text)
    document["Parameters"]["Architecture"] |= {
        "Default": architecture,
        "AllowedValues": [architecture],
        "ConstraintDescription": f"this build is for {architecture}; for another: make build ARCHITECTURE=…",
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def main(template: Path, architecture: str) -> None:
    """Rewrite the template."""
    text = template.read_text(encoding="utf-8")
    template.write_text(narrow(text, architecture), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
