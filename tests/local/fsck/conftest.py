"""Fixtures: a table of its own for each test, on the engine or on DynamoDB Local."""

from tests.service.reliability.conftest import endpoint, environment, measure, served_store, store

__all__ = ["endpoint", "environment", "measure", "served_store", "store"]
