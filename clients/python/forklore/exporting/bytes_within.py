"""The bytes of files inside messages, as providers of models take them."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    """Return the file that a part holds, as providers and programs spell it; None if it holds none.

    >>> inline_of({"type": "input_image", "image_url": "data:image/png;base64,AA=="})
    Inline(name='', content_type='image/png', data='AA==')
    >>> inline_of({"type": "image", "mimeType": "image/png", "data": "AA=="})
    Inline(name='', content_type='image/png', data='AA==')
    >>> inline_of({"type": "image", "mimeType": "image/png", "data": "AAA"}).data  # without padding
    'AAA='
    """
    found = _spelled_of(part)
    data = None if found is None else _as_base64(found.data)
    return None if found is None or data is None else replace(found, data=data)


def _as_base64(data: str) -> str | None:
    """Return base64 of any spelling as that of RFC 4648, section 4; None if it is none."""
    if len(data) % 4 == 0 and _BASE64.fullmatch(data):
        return data
    bare = "".join(data.split()).translate(_URL_SAFE).rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    return padded if _BASE64.fullmatch(padded) and len(bare) % 4 != 1 else None


_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")


def _spelled_of(part: Part) -> Inline | None:
    held = [one for one in (part.get("source"), part.get("inlineData"), part) if isinstance(one, Mapping)]
    for one in held:
        kind = next((one[name] for name in _TYPES if isinstance(one.get(name), str)), None)
        if kind is not None and isinstance(one.get("data"), str) and one.get("type") != "text":
            return Inline(str(part.get("title") or ""), kind, one["data"])
    named = _mapped(part.get("file")) or part
    urls = part.get("image_urls")
    url = _mapped(part.get("image_url")).get("url") or part.get("image_url") or named.get("file_data")
    url = url or part.get("url") or (urls[0] if isinstance(urls, list) and urls else None)
    found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    return Inline(str(named.get("filename") or ""), found[1], found[2]) if found else None


_TYPES = ("media_type", "mimeType", "mime_type", "mediaType")


def _mapped(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
