"""Fixtures: two processes with one clock that stands still, and a question to answer."""

import pytest

from forklore_service.domain.ids import EntryId
from forklore_service.storage.table import Table
from tests.service.usecases.builders import ROOT, say
from tests.service.usecases.members import WRITER, share
from tests.support.tables import Standing, Store

NOW_S = 1_772_356_500


@pytest.fixture
def clock() -> Standing:
    return Standing(NOW_S)


@pytest.fixture
def table(store: Store, clock: Standing) -> Table:
    """The real Table, whose clock stands still."""
    return store.process(clock=clock)


@pytest.fixture
def asked(table: Table) -> EntryId:
    """A question of Ann's, in a tree in which Bob may write."""
    (question,) = say(table, ROOT, "Why?")
    share(table, "bob", WRITER)
    return question


@pytest.fixture
def other(store: Store, clock: Standing) -> Table:
    return store.process(clock=clock)
