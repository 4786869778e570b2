"""The result of a check, read from pytest's report (JUnit XML)."""

import xml.etree.ElementTree as ET  # nosec B405 # our own report
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COUNT = "count "


@dataclass
class Result:
    """The result of a check. counts: what the tests counted, by name."""

    counts: Counter[str] = field(default_factory=Counter)
    tests: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Tell whether there are tests and all of them passed."""
        return self.tests > 0 and self.failed == 0 and self.skipped == 0

    def __add__(self, other: "Result") -> "Result":
        return Result(
            self.counts + other.counts,
            self.tests + other.tests,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.seconds + other.seconds,
        )


def read_report(path: Path) -> Result:
    """Return the result in a report. Without a report it has no tests."""
    result = Result()
    if not path.is_file():
        return result
    for suite in ET.parse(path).getroot().iter("testsuite"):  # nosec B314 # our own report
        result.tests += int(suite.get("tests", 0))
        result.failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        result.skipped += int(suite.get("skipped", 0))
        result.seconds += float(suite.get("time", 0))
        for kept in suite.iter("property"):
            name = kept.get("name", "")
            if name.startswith(COUNT):
                result.counts[name.removeprefix(COUNT)] += int(kept.get("value", 0))
    return result


def table(rows: Iterable[tuple[str, str, Result]]) -> list[str]:
    """Return a table in Markdown. rows: the check, what it shows, its result."""
    lines = ["| check | shows | done | result | seconds |", "|---|---|---|---|---|"]
    for name, shows, result in rows:
        done = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in result.counts.items())
        lines.append(f"| {name} | {shows} | {done} | {_verdict(result)} | {result.seconds:,.0f} |")
    return lines


def _verdict(result: Result) -> str:
    wrong: Sequence[tuple[int, str]] = [(result.failed, "failed"), (result.skipped, "skipped")]
    told = [f"**{number} {what}**" for number, what in wrong if number]
    return ", ".join([f"{result.tests:,} tests", *told]) if result.tests else "**not run**"
