"""Fixtures: how much work each check does."""

from tests.reliability.conftest import measure

__all__ = ["measure"]
