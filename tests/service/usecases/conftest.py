"""Fixtures: the real Table on an engine."""

from tests.support.tables import store, table

__all__ = ["store", "table"]
