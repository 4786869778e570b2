"""Makes text safe to show: no character of it can do anything to a terminal.

What conversations hold comes from strangers and from models. An escape sequence in it could move
the cursor, change the title of the window or hide text; a bidirectional mark could reorder it.
"""

import re

_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, without the tab and the line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the order of letters
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # line ends and marks without a width
    "\ud800-\udfff"  # halves of a character
    "\U000e0000-\U000e007f"  # tags, which cannot be seen
)
_IN_A_TEXT = re.compile(f"[{_CONTROLS}]")
_IN_A_LINE = re.compile(f"[{_CONTROLS}\t\n]")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    r"""Return text on one line. A control character is shown as Python writes it.

    >>> visible("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    return _IN_A_LINE.sub(_spelled, text)


def visible_lines(text: str) -> list[str]:
    r"""Return the lines of a text. Tabs stay, other control characters are shown as Python does.

    >>> visible_lines("a\r\nb\x07\tc")
    ['a', 'b\\x07\tc']
    """
    return [_IN_A_TEXT.sub(_spelled, line) for line in text.replace("\r\n", "\n").split("\n")]


def visible_json(text: str) -> str:
    r"""Return JSON text that means the same, with each control character escaped.

    >>> print(visible_json('["\u202e"]'))
    ["\u202e"]
    """
    return _IN_A_TEXT.sub(_in_json, text)


def ascii_json(text: str) -> str:
    """Return JSON text that means the same and is ASCII.

    >>> ascii_json('["ü😀"]')
    '["\\\\u00fc\\\\ud83d\\\\ude00"]'
    """
    return re.sub(r"[^\x00-\x7f]", _in_json, text)


def _spelled(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _NAMED:
        return _NAMED[letter]
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
