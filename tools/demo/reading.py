"""Reads the file of message trees."""

from itertools import islice
from pathlib import Path

from forklore.cli.importing.files import read_file
from forklore.cli.importing.values import Format, Report, Tree


def read_trees(path: Path, *, limit: int | None = None) -> list[Tree]:
    """Return the trees of a file in its order. limit: how many at most.

    Raises MalformedFileError if a line is malformed or the file has no tree, OSError if it cannot
    be read.
    """
    found = read_file(path, Report(), given=Format.TREES)
    return [tree for tree in islice(found, limit) if isinstance(tree, Tree)]
