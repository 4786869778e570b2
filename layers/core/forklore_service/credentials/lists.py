"""Settings that hold lists."""


def read_list(text: str) -> list[str]:
    """Return the parts between commas, stripped of blanks and without empty ones.

    >>> read_list("a, b,,c ")
    ['a', 'b', 'c']
    """
    return [part.strip() for part in text.split(",") if part.strip()]
