"""The checker of stored data (fsck) as an assertion."""

import time

from forklore_local.fsck.check import findings
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.survey import Survey
from forklore_service.domain import keys
from forklore_service.domain.keys import Key
from forklore_service.domain.model import JobKind
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import Connection
from forklore_service.storage.table import Table
from tests.service.reliability.violation import hold
from tests.support.tables import Store

SHOWN_MAX = 20


def findings_of(store: Store, *, now_s: int | None = None) -> list[Finding]:
    """Return the inconsistencies in a table. Nothing may write to it at the same time."""
    return findings(survey_of(store, now_s=now_s))


def survey_of(store: Store, *, now_s: int | None = None) -> Survey:
    """Return the contents of a table, read as the command reads it: slow pages are read again."""
    survey = Survey(now_s=int(time.time()) if now_s is None else now_s)
    table = Table(Connection(store.client, store.name, Clock()))
    start: Key | None = None
    while True:  # in this thread: to start another one would take longer than to read
        page, start = table.scan(segment=0, segments=1, start=start)
        survey.take_all(page)
        if start is None:
            return survey


def assert_intact(store: Store, *, settled: bool = False) -> None:
    """Raise Violation unless all invariants hold.

    settled: also require that no job is left. An upload keeps its job for a day.
    """
    survey = survey_of(store)
    found = findings(survey)
    shown = "".join(f"\n  {finding}" for finding in found[:SHOWN_MAX])
    hold(not found, f"{len(found)} findings in {survey.items} items:{shown}")
    if settled:
        left = sorted(key.sort for key in survey.jobs if keys.in_job(key.sort).kind != JobKind.UPLOAD)
        hold(not left, f"work is left: {left[:SHOWN_MAX]}")
