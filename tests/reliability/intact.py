"""Is a table intact? The checker of stored data, as an assertion."""

import time

from fsck.check import findings
from fsck.finding import Finding
from fsck.survey import Survey
from tests.support.tables import Store

SHOWN_MAX = 20


def findings_of(store: Store, *, now_s: int | None = None) -> list[Finding]:
    """Return what does not agree in a table that nobody writes to just now."""
    return findings(survey_of(store, now_s=now_s))


def survey_of(store: Store, *, now_s: int | None = None) -> Survey:
    survey = Survey(now_s=int(time.time()) if now_s is None else now_s)
    survey.take_all(store.contents().values())
    return survey


def assert_intact(store: Store, *, settled: bool = False) -> None:
    """Raise AssertionError with what was found, unless all invariants hold. settled: no work is left, too."""
    survey = survey_of(store)
    found = findings(survey)
    shown = "".join(f"\n  {finding}" for finding in found[:SHOWN_MAX])
    assert not found, f"{len(found)} findings in {survey.items} items:{shown}"
    if settled:
        left = sorted(key.sort for key in survey.jobs)
        assert not left, f"work is left: {left[:SHOWN_MAX]}"
