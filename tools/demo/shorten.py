"""Foreign texts, made safe for one line of a terminal."""


def shorten(text: str, length_max: int) -> str:
    """Return the text on one line, without control characters, cut to `length_max` characters.

    >>> shorten("one\\n  two three", 10)
    'one two t…'
    """
    line = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return line if len(line) <= length_max else f"{line[: length_max - 1]}…"
