"""Why a table cannot be copied. Every message is one line."""


class CopyError(Exception):
    """A table cannot be copied, or not to that place."""


class FormatError(CopyError, ValueError):
    """A file is no copy of a table, is of another version, is cut or was changed."""
