"""A moto to make a table in."""

from tests.support.tables import moto

__all__ = ["moto"]
