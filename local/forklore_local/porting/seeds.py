"""The seed of an import under new ids, in a file beside what is imported.

With it, an import that was ended goes on under the same ids. It is removed when the import is done.
"""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

from forklore_local.porting.failures import PortingError
from forklore_local.porting.new_ids import SEED_BYTES
from forklore_local.porting.output import MODE


def seed_for(path: Path, target: str) -> bytes:
    """Return the seed of the import of a file that has not come to its end, or a new one.

    target: where to the file is imported. Raises PortingError if the seed cannot be kept, or if an
    import to another place has not come to its end.
    """
    kept = _beside(path)
    made = json.dumps({"target": target, "seed": secrets.token_hex(SEED_BYTES)})
    try:
        with suppress(FileExistsError):
            number = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.write(made)
        held = json.loads(kept.read_text(encoding="utf-8"))
        seed = bytes.fromhex(held["seed"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise PortingError(f"{kept} cannot be used: {error}") from error
    if held["target"] != target:
        raise PortingError(f"an import to {held['target']} is not done: repeat it, or remove {kept}")
    return seed


def forget_seed(path: Path) -> None:
    """Remove the seed: the next import of the file gives other ids."""
    with suppress(FileNotFoundError):
        _beside(path).unlink()


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".new-ids")
