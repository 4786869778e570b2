"""The ids of what is written for a program: writers make them, and an import knows them again."""

import uuid


def id_beside(entry_id: str, number: int) -> str:
    """Return the id of a further row of an entry. The first one, of the number 0, has its own id.

    >>> id_beside("01a223bb-6459-75fc-bfab-c49cc746d100", 1)
    'ef01debb-918a-5f63-82c9-7525494486c8'
    """
    return str(uuid.uuid5(uuid.UUID(entry_id), str(number))) if number else entry_id
