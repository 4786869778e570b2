"""The client: one core without I/O, three transports, the same calls with and without `await`.

`tools/client` writes what is in `generated/`.
"""

VERSION = "0.1.0"
"""As in pyproject.toml. The layer of the tools for agents has no metadata of a package."""
