"""Fixtures: the real Table on moto."""

from tests.support.tables import moto, store, table

__all__ = ["moto", "store", "table"]
