"""Fixtures: a table in memory."""

from tests.support.tables import store

__all__ = ["store"]
