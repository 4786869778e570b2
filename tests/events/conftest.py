"""Fixtures: the real Table on moto, and what was written to it."""

from tests.events.recording import recorded
from tests.support.tables import moto, store, table

__all__ = ["moto", "recorded", "store", "table"]
