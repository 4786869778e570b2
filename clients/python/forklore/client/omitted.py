"""The mark of an argument that is left out where None says something of its own."""

from enum import Enum


class Omitted(Enum):
    """Has one member, OMITTED."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED = Omitted.OMITTED
