"""One line of an export: its text, and the members that it has. Nothing here knows what they mean.

A line is a JSON object. The members that callers own, such as `content`, stand there as the text
that was sent. If this text has line breaks between its parts, the line has it as a string instead,
in a member whose name ends with `Text`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore_local.porting.failures import FormatError
from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId

TYPE = "type"
TEXT = "Text"
INTEGER_DIGITS_MAX = 20
"""A longer number only stands in what callers own. Its value is not needed, and Python reads no
number of more than 4,300 digits."""
_BREAK = re.compile(r"[\n\r]")
_DIGEST = re.compile("[0-9a-f]{64}")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[ \t\r\n]*")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Raw:
    """JSON text that stands in a line as it is."""

    text: str


def written(kind: str, members: Mapping[str, Any]) -> bytes:
    """Return a line with its line end. Members that are None or empty containers are left out.

    >>> written("entry", {"id": "e", "content": Raw("[1.0]"), "key": None})
    b'{"type":"entry","id":"e","content":[1.0]}\\n'
    """
    spelled = [_member(TYPE, kind)]
    spelled += [_member(name, value) for name, value in members.items() if value not in (None, {}, [], ())]
    return f"{{{','.join(spelled)}}}\n".encode()


def _member(name: str, value: Any) -> str:
    if not isinstance(value, Raw):
        return f"{_encode(name)}:{_encode(value)}"
    if _BREAK.search(value.text):
        return f"{_encode(name + TEXT)}:{_encode(value.text)}"
    return f"{_encode(name)}:{value.text}"


@dataclass(slots=True)
class Line:
    """The members of a line that was read. Each is taken once; `end` refuses those that are left.

    Every method that takes a member raises FormatError if it is absent or of another type.
    """

    kind: str
    _values: dict[str, Any]
    _spans: dict[str, str]
    _taken: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            raise FormatError(f"{name} is no text")
        return value

    def text_or_none(self, name: str) -> str | None:
        return self.text(name) if self.has(name) else None

    def number(self, name: str) -> int:
        value = self._take(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FormatError(f"{name} is no whole number")
        return value

    def number_or_none(self, name: str) -> int | None:
        return self.number(name) if self.has(name) else None

    def flag(self, name: str) -> bool:
        """Return a member that is true, or absent for false."""
        if not self.has(name):
            return False
        if self._take(name) is not True:
            raise FormatError(f"{name} is neither true nor absent")
        return True

    def uuid(self, name: str) -> str:
        return _checked(self.text(name), name, ids.is_uuid)

    def uuid_or_none(self, name: str) -> str | None:
        return self.uuid(name) if self.has(name) else None

    def entry_id(self, name: str) -> EntryId:
        return EntryId(_checked(self.text(name), name, ids.is_entry_id))

    def entry_id_or_none(self, name: str) -> EntryId | None:
        return self.entry_id(name) if self.has(name) else None

    def digest_or_none(self, name: str) -> bytes | None:
        return bytes.fromhex(_checked(self.text(name), name, _is_digest)) if self.has(name) else None

    def time(self, name: str) -> str:
        return _checked(self.text(name), name, _is_time)

    def raw(self, name: str) -> str | None:
        """Return the text of a member that callers own, as it was sent; None if it is absent."""
        if self.has(name + TEXT):
            text = self.text(name + TEXT)
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                raise FormatError(f"{name}{TEXT} is no JSON") from error
            return text
        if not self.has(name):
            return None
        self._take(name)
        return self._spans[name]

    def object(self, name: str) -> "Line":
        """Return the members of an object. There are no raw ones among them."""
        value = self._take(name)
        if not isinstance(value, dict):
            raise FormatError(f"{name} is no object")
        return Line(name, value, {})

    def objects(self, name: str) -> list["Line"]:
        """Return the objects of an array; none if it is absent."""
        if not self.has(name):
            return []
        value = self._take(name)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise FormatError(f"{name} is no array of objects")
        return [Line(name, one, {}) for one in value]

    def texts(self, name: str) -> dict[str, str]:
        """Return an object of texts; an empty one if it is absent."""
        if not self.has(name):
            return {}
        value = self._take(name)
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise FormatError(f"{name} is no object of texts")
        return value

    def end(self) -> None:
        """Raise FormatError if a member was not taken: only a newer forklore writes others."""
        left = self._values.keys() - self._taken
        if left:
            raise FormatError(f"a {self.kind} has no {min(left)!r}")

    def _take(self, name: str) -> Any:
        if name not in self._values:
            raise FormatError(f"a {self.kind} without {name!r}")
        self._taken.add(name)
        return self._values[name]


def read(line: bytes) -> Line:
    """Return the members of a line. Raises FormatError for anything but one object with a type."""
    try:
        text = line.decode()
        values, spans = _members(text)
        if _SURROGATE_ESCAPE.search(text):
            _encode(values).encode()
    except (UnicodeError, json.JSONDecodeError, IndexError, RecursionError) as error:
        raise FormatError("it is no JSON object") from error
    kind = values.pop(TYPE, None)
    if not isinstance(kind, str):
        raise FormatError("it has no type")
    return Line(kind, values, spans)


def _members(text: str) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    spans: dict[str, str] = {}
    at = _skip(text, 0)
    if text[at] != "{":
        raise FormatError("it is no JSON object")
    at = _skip(text, at + 1)
    is_first = True
    while text[at] != "}":
        if not is_first:
            if text[at] != ",":
                raise FormatError("it is no JSON object")
            at = _skip(text, at + 1)
        is_first = False
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if not isinstance(name, str) or text[at] != ":" or name in values:
            raise FormatError("it is no JSON object")
        at = _skip(text, at + 1)
        values[name], end = _DECODER.raw_decode(text, at)
        spans[name] = text[at:end]
        at = _skip(text, end)
    if _skip(text, at + 1) != len(text):
        raise FormatError("something follows its end")
    return values, spans


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _no_constant(name: str) -> Any:
    raise FormatError(f"{name} is not JSON")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else digits


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=str, parse_int=_integer)


def _checked(text: str, name: str, is_so: Callable[[str], bool]) -> str:
    if not is_so(text):
        raise FormatError(f"{name} cannot be {text[:60]!r}")
    return text


def _is_digest(value: str) -> bool:
    return _DIGEST.fullmatch(value) is not None


def _is_time(text: str) -> bool:
    try:
        return ids.timestamp(ids.milliseconds(text)) == text
    except (ValueError, OverflowError, TypeError):
        return False
