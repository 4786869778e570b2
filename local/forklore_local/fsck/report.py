"""The result of a run, for people and for programs. It holds no content, title or token."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from forklore_local.fsck.finding import Finding
from forklore_local.fsck.survey import Survey
from forklore_service.domain import ids, keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind


class Verdict(StrEnum):
    """What the run says about the table."""

    INTACT = "intact"
    DAMAGED = "damaged"
    UNKNOWN = "unknown"
    """The only suspects are in trees that were written to during every look."""


@dataclass(slots=True)
class Report:
    """What was read and found.

    suspects: how many findings the scan alone gave.
    unsettled: suspects in trees that were written to during every look.
    """

    table: str
    started_at: str
    finished_at: str = ""
    items: int = 0
    trees: int = 0
    conversations: int = 0
    entries: int = 0
    read_units: float = 0.0
    suspects: int = 0
    findings: list[Finding] = field(default_factory=list)
    unsettled: list[Finding] = field(default_factory=list)
    jobs: list[tuple[str, str, int | None]] = field(default_factory=list)

    def take(self, survey: Survey) -> None:
        """Note what was read. Jobs become (kind, tree, age in seconds), the oldest first."""
        self.items, self.trees = survey.items, len(survey.trees)
        self.conversations, self.entries = survey.conversations, survey.entries
        jobs = (_job(key, created_at, survey.now_s) for key, created_at in survey.jobs.items())
        work = [job for job in jobs if job[0] != JobKind.UPLOAD]  # each upload has one for a day
        self.jobs = sorted(work, key=lambda job: -(job[2] or 0))

    @property
    def verdict(self) -> Verdict:
        if self.findings:
            return Verdict.DAMAGED
        return Verdict.UNKNOWN if self.unsettled else Verdict.INTACT

    def as_json(self) -> str:
        return json.dumps(
            {
                "table": self.table,
                "verdict": self.verdict,
                "startedAt": self.started_at,
                "finishedAt": self.finished_at,
                "items": self.items,
                "trees": self.trees,
                "conversations": self.conversations,
                "entries": self.entries,
                "readUnits": self.read_units,
                "suspects": self.suspects,
                "findings": [_shown(finding) for finding in self.findings],
                "unsettled": [_shown(finding) for finding in self.unsettled],
                "jobs": [{"kind": kind, "groupId": tree, "ageSeconds": age} for kind, tree, age in self.jobs],
            },
            indent=2,
        )

    def as_text(self) -> str:
        """Return a summary of a few lines. It counts the findings by kind."""
        counts = {"items": self.items, "trees": self.trees, "conversations": self.conversations}
        counts |= {"entries": self.entries, "read units": round(self.read_units)}
        read = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        lines = [f"{self.table}: {read}"]
        if self.jobs:
            oldest = max((age or 0 for _, _, age in self.jobs), default=0)
            lines.append(f"work in progress: {len(self.jobs):,}, the oldest for {oldest:,} s")
        for word, some in (("found", self.findings), ("not settled", self.unsettled)):
            kinds: dict[str, list[Finding]] = {}
            for finding in some:
                kinds.setdefault(finding.kind, []).append(finding)
            lines += [f"{word}: {kind} × {len(of):,}, as {of[0].key}" for kind, of in sorted(kinds.items())]
        return "\n".join([*lines, str(self.verdict)])


def _job(key: Key, created_at: str | None, now_s: int) -> tuple[str, str, int | None]:
    kind, group_id, *_ = keys.in_job(key.sort)
    return kind, group_id, None if created_at is None else now_s - ids.milliseconds(created_at) // 1000


def _shown(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "invariant": finding.invariant,
        "key": {"PK": finding.key.partition, "SK": finding.key.sort},
        "groupId": finding.group_id,
        "detail": finding.detail,
    }
