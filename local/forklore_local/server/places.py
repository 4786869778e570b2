"""Where the local server keeps what it has fetched or made."""

import os
from pathlib import Path

PACKAGES = Path(__file__).parents[2]
"""The folder that holds the package forklore_local."""
CHECKOUT = PACKAGES.parent
"""The repository's folder, when this is a checkout."""


def cache() -> Path:
    """Return `.cache` of the checkout, or the user's cache folder where forklore is installed."""
    if (CHECKOUT / "pyproject.toml").is_file() and PACKAGES == CHECKOUT / "local":
        return CHECKOUT / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forklore"
