"""How much of each check is done."""

from tests.reliability.conftest import measure

__all__ = ["measure"]
