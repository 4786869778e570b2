"""What a check of reliability has found, as opposed to a check that did not work."""


class Violation(AssertionError):
    """forklore has not kept a promise; the message says which."""


def hold(is_kept: bool, *found: object) -> None:
    """Raise Violation with what was found, unless the promise is kept."""
    if not is_kept:
        raise Violation(*found)
