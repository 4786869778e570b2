"""The error of a reliability check that found a broken promise, not of one that crashed."""


class Violation(AssertionError):
    """forklore has broken a promise. The message says which."""


def hold(is_kept: bool, *found: object) -> None:
    """Raise Violation with `found`, unless `is_kept`."""
    if not is_kept:
        raise Violation(*found)
