"""Fixtures: moto in this process, and a table on DynamoDB Local."""

from tests.reliability.conftest import endpoint, measure, store
from tests.support.tables import moto

__all__ = ["endpoint", "measure", "moto", "store"]
