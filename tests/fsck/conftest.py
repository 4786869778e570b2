"""A moto to make a table in, and a table of DynamoDB Local's."""

from tests.reliability.conftest import endpoint, measure, store
from tests.support.tables import moto

__all__ = ["endpoint", "measure", "moto", "store"]
