"""What an import reads: files by their paths, and standard input and pipes, which are read once."""

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, as often as need be. shown: what it is called."""

    shown: str
    path: Path


@contextmanager
def sources_of(paths: Sequence[Path]) -> Iterator[list[Source]]:
    """Yield what to read. Standard input, pipes and devices are copied to temporary files first.

    An archive is not read from its beginning to its end, and with `--name` a file is read twice.
    What cannot be opened is left for the reader to tell.
    """
    with tempfile.TemporaryDirectory(prefix="forklore-") as folder:
        yield [_source(path, Path(folder) / str(number)) for number, path in enumerate(paths)]


def _source(path: Path, copy: Path) -> Source:
    shown = "standard input" if str(path) == STDIN else str(path)
    if str(path) == STDIN:
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        return Source(shown, copy)
    with suppress(OSError):
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            with path.open("rb") as stream, copy.open("wb") as target:
                shutil.copyfileobj(stream, target)
            return Source(shown, copy)
    return Source(shown, path)
