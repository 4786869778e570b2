"""Log lines in Lambda's JSON log format, and CloudWatch's rules for metrics in them."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from forklore_local.server.log import JsonLines

UNITS = {"Count", "Milliseconds", "Seconds", "Bytes"}
"""The units that are used here (CloudWatch API reference, MetricDatum)."""
DIMENSIONS_MAX, METRICS_MAX = 30, 100
DAY_MS = 24 * 3600 * 1000


class Lines(logging.Handler):
    """Keeps every record from level INFO on, as the line that Lambda would write."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(JsonLines())
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))

    @property
    def all(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.texts]

    def named(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.all if line["message"] == message]


@contextmanager
def reading_lines() -> Iterator[Lines]:
    """Yield the log lines of this process from here on, with the levels that Lambda sets."""
    root, lines = logging.getLogger(), Lines()
    level = root.level
    root.addHandler(lines)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.setLevel(level)
        root.removeHandler(lines)


def metrics_of(line: Mapping[str, Any]) -> dict[str, tuple[Any, set[tuple[str, ...]]]]:
    """Return a line's metrics by name: the value, and the sets of dimensions of the metric.

    A line may have none.
    """
    found: dict[str, tuple[Any, set[tuple[str, ...]]]] = {}
    for group in line.get("_aws", {}).get("CloudWatchMetrics", []):
        for metric in group["Metrics"]:
            found[metric["Name"]] = line[metric["Name"]], {tuple(one) for one in group["Dimensions"]}
    return found


def faults(line: Mapping[str, Any], *, now_ms: int) -> list[str]:
    """Return the reasons for which CloudWatch would refuse a line's metrics.

    Source: CloudWatch user guide, "Specification: Embedded metric format".
    """
    described = line["_aws"]
    found = []
    if type(described["Timestamp"]) is not int or abs(described["Timestamp"] - now_ms) > DAY_MS:
        found.append("Timestamp is not milliseconds of now")
    names = [metric["Name"] for group in described["CloudWatchMetrics"] for metric in group["Metrics"]]
    if len(names) > METRICS_MAX or len(names) != len(set(names)) or not names:
        found.append("there are no metrics, too many, or the same one twice")
    for group in described["CloudWatchMetrics"]:
        if not group["Metrics"] or not group["Namespace"] or not group["Dimensions"]:
            found.append("a member of a group is missing")
        for names in group["Dimensions"]:
            if not 1 <= len(names) <= DIMENSIONS_MAX or len(names) != len(set(names)):
                found.append(f"{names}: no dimensions, too many, or the same one twice")
            found += [f"{name} is not text" for name in names if not _is_text(line.get(name))]
        for metric in group["Metrics"]:
            if type(line.get(metric["Name"])) not in (int, float):
                found.append(f"{metric['Name']} is not a number")
            if metric.get("Unit", "Count") not in UNITS:
                found.append(f"{metric['Unit']} is not a unit")
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 1024 and value.isascii()
