"""Why an export or an import cannot go on. Every message is one line."""


class PortingError(Exception):
    """An export or an import cannot go on."""


class NoSuchTreeError(PortingError):
    """There is no such tree to export."""


class UnreadableError(PortingError):
    """A tree of the table is damaged, or changes all the time."""


class FormatError(PortingError):
    """A file is no export, or is damaged. The message says where."""


class RefusedError(PortingError):
    """A tree cannot be made in the table."""


class StoppedError(PortingError):
    """The import was asked to stop. What it has made stays, and it can go on."""
