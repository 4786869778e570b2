"""`python -m tests.deployment.audit PIP_AUDIT FILE…`: known weaknesses of deployed packages.

pip-audit reports success even if its service knows none of the packages. Its exit status is the
same for a weakness, for a service that does not answer, and for its own failure. Here a package may
stay unaudited for only two reasons, and both are printed: PyPI does not know it, or PyPI cannot be
reached.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

OPTIONS = ("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")
WEAK, FAILED, UNKNOWN, GOOD = "WEAK", "AUDIT FAILED", "NOT AUDITED", "audited"
NOT_FOUND = "Dependency not found on PyPI and could not be audited"
UNREACHABLE = re.compile(
    r"requests\.exceptions\.(ConnectionError|ProxyError|SSLError|ConnectTimeout|ReadTimeout)\b"
    r"|requests\.exceptions\.HTTPError: (5\d\d|429)\b"
    r"|Could not connect to PyPI|PyPI is not redirecting properly"
)
"""What pip-audit 2.10 and `requests` print if the service does not answer. pip-audit's words are in
`pip_audit/_service/pypi.py`."""


def main(pip_audit: str, files: Sequence[str]) -> int:
    """Audit the lock files. Return 1 if a package is weak or the audit failed, otherwise 0."""
    found = [line for file in files for line in audit([pip_audit, *OPTIONS, "--requirement", file])]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return int(any(line.startswith((WEAK, FAILED)) for line in found))


def audit(command: Sequence[str]) -> list[str]:
    """Return the result of pip-audit, in lines that begin with WEAK, FAILED, UNKNOWN or GOOD."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return [f"{FAILED}: {command[0]}: {error.strerror}"]
    try:
        lines = read_report(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, AttributeError):
        said = UNKNOWN if UNREACHABLE.search(done.stderr) else FAILED
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return [f"{said}: {command[-1]}: {reason}"]
    if done.returncode and not any(line.startswith(WEAK) for line in lines):
        lines.append(f"{FAILED}: {command[-1]}: pip-audit ended with {done.returncode}")
    return lines or [f"{FAILED}: {command[-1]}: the report names no package"]


def read_report(report: Mapping[str, Any]) -> list[str]:
    """Return a line for each package that is weak or was not audited, and one for all others.

    report: from pip-audit, with format `json`. Raises KeyError and the like for another form.
    """
    weak, skipped, good = [], [], []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            reason = package["skip_reason"]
            skipped.append(f"{UNKNOWN if reason.startswith(NOT_FOUND) else FAILED}: {reason}")
        elif package["vulns"]:
            ids = ", ".join(one["id"] for one in package["vulns"])
            weak.append(f"{WEAK}: {package['name']} {package['version']}: {ids}")
        else:
            good.append(f"{package['name']} {package['version']}")
    return [*weak, *skipped, *([f"{GOOD}: {', '.join(good)}"] if good else [])]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
