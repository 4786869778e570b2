"""`python -m tests.deployment.audit PIP_AUDIT FILE…`: known weaknesses of the packages that are deployed.

pip-audit calls it a success when its service knows none of the packages, or fails in the same way for a
weakness as for a service that does not answer. Here a weakness fails, and what could not be asked is said.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

OPTIONS = ("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")


def main(pip_audit: str, files: Sequence[str]) -> int:
    """Audit the lock files; return 1 if a package has a known weakness, else 0."""
    found = [line for file in files for line in audit([pip_audit, *OPTIONS, "--requirement", file])]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return int(any(line.startswith(WEAK) for line in found))


WEAK, UNKNOWN, GOOD = "WEAK", "NOT AUDITED", "audited"


def audit(command: Sequence[str]) -> list[str]:
    """Return what pip-audit says, in lines that begin with WEAK, UNKNOWN or GOOD."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return [f"{UNKNOWN}: {command[-1]}: {reason}"]
    return read_report(report)


def read_report(report: Mapping[str, Any]) -> list[str]:
    """Return a line for each package that is weak or was not audited, and one for all others.

    report: pip-audit's own, format `json`.
    """
    weak, skipped, good = [], [], []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            skipped.append(f"{UNKNOWN}: {package['skip_reason']}")
        elif package["vulns"]:
            ids = ", ".join(one["id"] for one in package["vulns"])
            weak.append(f"{WEAK}: {package['name']} {package['version']}: {ids}")
        else:
            good.append(f"{package['name']} {package['version']}")
    return [*weak, *skipped, *([f"{GOOD}: {', '.join(good)}"] if good else [])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
