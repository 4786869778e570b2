"""Fixtures: a table on DynamoDB Local."""

from tests.reliability.conftest import endpoint, measure, store

__all__ = ["endpoint", "measure", "store"]
