"""The bytes of files inside messages, as providers of models take them."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forklore.client.errors import NotFoundError
from forklore.client.generated.results import AttachedFile
from forklore.client.parts import Part

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,(.*)", re.DOTALL)
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class Inline:
    """A file with its bytes. data: in base64. name: empty if nothing tells it."""

    name: str
    content_type: str
    data: str

    @property
    def as_part(self) -> Part:
        """The part of a message, as OpenAI's API takes it."""
        url = f"data:{self.content_type};base64,{self.data}"
        if self.content_type.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": url}}
        return {"type": "file", "file": {"filename": self.name, "file_data": url}}

    @property
    def as_block(self) -> Part | None:
        """The block of a message, as Anthropic's API takes it; None: it takes no such file."""
        held = {"type": "base64", "media_type": self.content_type, "data": self.data}
        if self.content_type in _IMAGES:
            return {"type": "image", "source": held}
        named = {"title": self.name} if self.name else {}
        if self.content_type == _PDF:
            return {"type": "document", "source": held, **named}
        if self.content_type.startswith("text/"):
            text = b64decode(self.data).decode(errors="replace")
            held = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": held, **named}
        return None


class Files:
    """Fetches the bytes of attachments. left_out: how many files went along nowhere.

    read: returns the bytes; raises NotFoundError if they are gone.
    """

    def __init__(self, read: Callable[[AttachedFile], bytes]) -> None:
        self._read = read
        self.left_out = 0

    def inlined(self, file: AttachedFile) -> Inline | None:
        """Return a file with its bytes; None, and counted, if they are gone."""
        try:
            data = b64encode(self._read(file)).decode()
        except NotFoundError:
            self.left_out += 1
            return None
        return Inline(file.name, file.content_type, data)


def inline_of(part: Part) -> Inline | None:
    """Return the file that a part holds, as providers spell it; None if it holds none.

    >>> inline_of({"type": "input_image", "image_url": "data:image/png;base64,AA=="})
    Inline(name='', content_type='image/png', data='AA==')
    """
    source = _mapped(part.get("source"))
    if source.get("type") == "base64" and part.get("type") in ("image", "document"):
        kind, data = source.get("media_type"), source.get("data")
        if isinstance(kind, str) and isinstance(data, str):
            return Inline(str(part.get("title") or ""), kind, data)
    named = _mapped(part.get("file")) or part
    held = _mapped(part.get("image_url")).get("url") or part.get("image_url") or named.get("file_data")
    found = _DATA_URL.fullmatch(held) if isinstance(held, str) else None
    return Inline(str(named.get("filename") or ""), found[1], found[2]) if found else None


def _mapped(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
