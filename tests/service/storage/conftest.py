"""Fixtures: the real Table on an engine, and queues on moto."""

from tests.support.others import moto
from tests.support.tables import store, table

__all__ = ["moto", "store", "table"]
