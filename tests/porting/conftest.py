"""Fixtures: moto in this process, and a table on it."""

from tests.support.tables import moto, store

__all__ = ["moto", "store"]
