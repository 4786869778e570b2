"""AuthorizerSettings that are lists."""


def read_list(text: str) -> list[str]:
    """Return the parts between commas, without blanks around them; empty ones are left out.

    >>> read_list("a, b,,c ")
    ['a', 'b', 'c']
    """
    return [part.strip() for part in text.split(",") if part.strip()]
