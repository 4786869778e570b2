"""Fixtures: the real Table on an engine, what was written to it, and a bus on moto."""

from tests.service.events.recording import recorded
from tests.support.others import moto
from tests.support.tables import store, table

__all__ = ["moto", "recorded", "store", "table"]
