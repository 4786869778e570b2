"""Files in what a framework stores: large ones become attachments, and come back byte by byte.

Frameworks write the bytes of a file as base64. A long run of it is a file if a media type or a
format stands near it. What is stored has `attachment:ID:SHA256:SIZE` in its place.
"""

import re
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from json import dumps, loads
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from forklore import AsyncForklore, BadRequestError, ConflictError, Forklore, NotFoundError
from forklore.adapters.running import Steps
from forklore.adapters.storable import storable
from forklore.client import jsontext
from forklore.client.files import type_of
from forklore.client.limits import ATTACHMENTS_PER_ENTRY_MAX
from forklore.client.results import Entry

E = TypeVar("E", bound=Entry)
LETTERS_MIN = 43_692
"""Of base64. Less than 32 KB stays where it is."""
NEAR = 200
"""Characters before and after a file, in which its type is looked for."""
SURE_S = 12 * 3600
"""For so long an attachment surely can be named that was uploaded or asked for. It is a day."""
HELD_BYTES_MAX = 100_000_000
"""Of the files that a client has sent or read, and does not read again."""
RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{LETTERS_MIN},}}+={{0,2}}")
DATA_URL = re.compile(r"data:([^;,\"]*)[^,\"]*;base64,$", re.ASCII | re.IGNORECASE)
TYPE = re.compile(r"(?:application|audio|font|image|model|text|video)/[a-z0-9.+-]+", re.ASCII | re.IGNORECASE)
FORMAT = re.compile(r"format\W{1,6}([a-z0-9]{2,5})", re.ASCII)
REFERENCE = re.compile(
    r"attachment:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9a-f]{64}):([0-9]{5,9})(_?)"
)
"""With `_` behind it the base64 is that of URLs, which has `-` and `_` for `+` and `/`."""


class Stored(NamedTuple):
    """What is stored of a record of the framework. ids: of the attachments that it refers to."""

    value: Any
    ids: Sequence[str] = ()

    @classmethod
    def whole(cls, record: Any) -> "Stored":
        """Return a record with all its bytes."""
        return cls(storable(record))


class File(NamedTuple):
    """A file in a text, from `start` to `stop`."""

    start: int
    stop: int
    content: bytes
    content_type: str
    letters: str


def attachments(stored: Sequence[Stored]) -> dict[str, Any]:
    """Return the member of a message that names what these refer to; nothing if they do not."""
    ids = dict.fromkeys(each for one in stored for each in one.ids)
    return {"attachments": [{"id": each} for each in ids]} if ids else {}


def files_in(text: str) -> Iterator[File]:
    """Yield the large files in a text.

    In msgpack the length of a text stands in front of it. Up to three of its bytes may look like
    base64, which has four letters for three bytes.

    >>> run = "AAAA" * 11_000
    >>> [(one.content_type, len(one.content)) for one in files_in(f"image/png,{run}")]
    [('image/png', 33000)]
    >>> list(files_in(run))
    []
    """
    for run in RUN.finditer(text):
        start, stop = run.start() + len(run[0]) % 4, run.end()
        content_type = _type_of(text[max(0, run.start() - NEAR) : run.start()], text[stop : stop + NEAR])
        letters = text[start:stop]
        is_of_urls = "-" in letters or "_" in letters
        content = (urlsafe_b64decode if is_of_urls else b64decode)(letters)
        if content_type is not None and _letters(content, is_of_urls=is_of_urls) == letters:
            yield File(start, stop, content, content_type, "_" if is_of_urls else "")


def _letters(content: bytes, *, is_of_urls: bool) -> str:
    return (urlsafe_b64encode if is_of_urls else b64encode)(content).decode()


def _type_of(before: str, after: str) -> str | None:
    """Return the type that stands nearest; None if there is none, so that it is no file."""
    if data_url := DATA_URL.search(before):
        return data_url[1].lower() if TYPE.fullmatch(data_url[1]) else "application/octet-stream"
    found = [(len(before) - one.end(), one[0].lower()) for one in TYPE.finditer(before)]
    found += [(one.start(), one[0].lower()) for one in TYPE.finditer(after)]
    if not found:
        found = [(len(before) - one.end(), type_of(f"x.{one[1]}")) for one in FORMAT.finditer(before)]
        found += [(one.start(), type_of(f"x.{one[1]}")) for one in FORMAT.finditer(after)]
    return min(found)[1] if found else None


class Files:
    """The files of one client. Threads may share it."""

    def __init__(self) -> None:
        self._sure: dict[str, tuple[str, float]] = {}
        """By SHA-256: the id of an attachment, and when the service was asked for it; 0: never."""
        self._held: OrderedDict[str, bytes] = OrderedDict()
        """By id."""
        self._holding = Lock()
        self._is_off = False

    @classmethod
    def of(cls, client: Forklore | AsyncForklore) -> "Files":
        """Return those of a client, which its sessions share."""
        return _of_clients.setdefault(client, cls())

    def stored(self, records: Sequence[Any]) -> Steps[list[Stored]]:
        """Return what one append stores of records. Their ten largest files are uploaded.

        The other ones stay inside, and so do all if the deployment keeps no attachments.
        """
        cut = yield from self.cut([dumps(record) for record in records])
        return [
            Stored(storable(loads(text)), ids) if ids else Stored.whole(record)
            for record, (text, ids) in zip(records, cut, strict=True)
        ]

    def cut(self, texts: Sequence[str], named: Collection[str] = ()) -> Steps[list[tuple[str, list[str]]]]:
        """Return texts with references in place of their ten largest files, and the ids of these.

        named: attachments that need not be named again. These are no part of the ten.
        """
        whole = [(text, list[str]()) for text in texts]
        if self._is_off or any(map(REFERENCE.search, texts)):  # it would not come back as it was
            return whole
        found = [list(files_in(text)) for text in texts]
        sizes = {one.content: one.content_type for files in found for one in files}
        references: dict[bytes, tuple[str, str]] = {}
        room = ATTACHMENTS_PER_ENTRY_MAX
        for content in sorted(sizes, key=len, reverse=True):
            digest = sha256(content).hexdigest()
            made: str | None = self._sure.get(digest, ("", 0.0))[0]
            if made not in named:
                made = (yield from self._uploaded(content, sizes[content], digest)) if room else None
                room -= made is not None
            if made:
                references[content] = made, digest
        done = []
        for text, files in zip(texts, found, strict=True):
            pieces, ids, at = [], [], 0
            for one in files:
                if one.content in references:
                    made, digest = references[one.content]
                    pieces += [
                        text[at : one.start],
                        f"attachment:{made}:{digest}:{len(one.content)}{one.letters}",
                    ]
                    ids.append(made)
                    at = one.stop
            done.append(("".join([*pieces, text[at:]]), ids))
        return done

    def _uploaded(self, content: bytes, content_type: str, digest: str) -> Steps[str | None]:
        """Return the attachment that has the bytes; None if the service takes none of them."""
        known, at = self._sure.get(digest, ("", 0.0))
        if at and monotonic() - at < SURE_S:
            return known
        about = {"name": content_type.replace("/", "."), "content_type": content_type}
        try:
            made = None
            if known:
                made = yield "upload_attachment", {**about, "size": len(content), "sha_256": digest}
            if made is None or made.upload is not None:
                made = yield "upload", {"file": (about["name"], content), "content_type": content_type}
        except (BadRequestError, ConflictError, NotFoundError) as error:
            if isinstance(error, ConflictError) and error.reason != "attachments_off":
                raise
            self._is_off = not isinstance(error, BadRequestError)  # it is too large, or of an odd type
            return None
        self._sure[digest] = made.id, monotonic()
        self._hold(made.id, content)
        return str(made.id)

    def whole(self, entries: Sequence[E]) -> Steps[list[E]]:
        """Return entries with the bytes that they refer to. Each is read once, and then held."""
        done = []
        for entry in entries:
            ids = {one.id for one in entry.attachments or ()}
            text = jsontext.write(entry.content) if ids else ""
            now, _ = yield from self.mended(text, ids)
            done.append(entry if now == text else replace(entry, content=jsontext.read(now)))
        return done

    def mended(self, text: str, ids: Collection[str] | None = None) -> Steps[tuple[str, set[str]]]:
        """Return a text with the bytes that it refers to, and the ids of those that are there.

        ids: only these; None: all. In place of what an admin has removed are as many zeros.
        """
        contents: dict[str, bytes] = {}
        gone = set()
        for one in REFERENCE.finditer(text):
            if one[1] in contents or (ids is not None and one[1] not in ids):
                continue
            try:
                contents[one[1]] = yield from self._read(one[1])
                self._sure.setdefault(one[2], (one[1], 0.0))
            except NotFoundError:
                contents[one[1]] = bytes(int(one[3]))
                gone.add(one[1])

        def put_back(one: re.Match[str]) -> str:
            return _letters(contents[one[1]], is_of_urls=one[4] == "_") if one[1] in contents else one[0]

        return REFERENCE.sub(put_back, text), contents.keys() - gone

    def _read(self, attachment_id: str) -> Steps[bytes]:
        content = self._held.get(attachment_id)
        if content is None:
            content = yield "read", {"attachment": attachment_id}
            self._hold(attachment_id, content)
        return content

    def _hold(self, attachment_id: str, content: bytes) -> None:
        with self._holding:
            self._held[attachment_id] = content
            self._held.move_to_end(attachment_id)
            while sum(map(len, self._held.values())) > HELD_BYTES_MAX:
                self._held.popitem(last=False)


_of_clients: "WeakKeyDictionary[Forklore | AsyncForklore, Files]" = WeakKeyDictionary()
