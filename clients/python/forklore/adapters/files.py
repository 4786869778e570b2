"""Files in what a framework stores: large ones become attachments, and come back byte by byte.

Frameworks write the bytes of a file as base64. A long run of it is a file if its bytes begin as
those of a file do, or are a text. In its place stands `[attachment:ID:SHA256:SIZE:KIND]`.
"""

import re
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import islice, repeat
from mimetypes import MimeTypes
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from forklore import ApiError, AsyncForklore, BadRequestError, ConflictError, Forklore, NotFoundError
from forklore.adapters.running import PAUSE, Steps
from forklore.adapters.storable import storable
from forklore.client import jsontext
from forklore.client.files import plain_name
from forklore.client.generated.limits import ATTACHMENTS_PER_ENTRY_MAX
from forklore.client.generated.results import AttachedFile, Entry

E = TypeVar("E", bound=Entry)
LETTERS_MIN = 43_692
"""Of base64. Less than 32 KB stays where it is."""
SURE_S = 300
"""For so long an attachment that was uploaded or asked for is named again without asking. An admin
may remove it meanwhile: then what names it is refused, and `tries` asks."""
SURE_MAX = 10_000
"""Attachments that a client is sure of, or knows the SHA-256 of."""
HELD_BYTES_MAX = 50_000_000
"""Of the files that a client has sent or read, and does not read again."""
RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{LETTERS_MIN},}}+={{0,2}}")
REFERENCE = re.compile(
    r"\[attachment:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9a-f]{64}):([0-9]{1,9}):([+_])(=?)\]"
)
"""It begins and ends with what no escape of JSON has. KIND: with `_` the base64 is that of URLs,
which has `-` and `_` for `+` and `/`; without `=` it has no padding."""
TYPES = {
    re.compile(begins, re.DOTALL): content_type
    for begins, content_type in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"II\*\0|MM\0\*", "image/tiff"),
        (rb".{4}ftyp(?:hei|mif)", "image/heic"),
        (rb".{4}ftypavif", "image/avif"),
        (rb"%PDF-", "application/pdf"),
        (rb"PK\x03\x04", "application/zip"),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
        (rb"RIFF.{4}WAVE", "audio/x-wav"),
        (rb"ID3|\xff[\xf2\xf3\xfa\xfb]", "audio/mpeg"),
        (rb"fLaC", "audio/flac"),
        (rb"OggS", "audio/ogg"),
        (rb".{4}ftypM4A", "audio/mp4"),
        (rb".{4}ftypqt", "video/quicktime"),
        (rb".{4}ftyp", "video/mp4"),
        (rb"\x1a\x45\xdf\xa3", "video/webm"),
    )
}
"""How the bytes of a file begin. Of two that fit the first one counts."""
NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f]")
NAMES = ("filename", "filePath", "title", "name")
"""The members of a value that name the file in it, or in a value that it holds."""


class Stored(NamedTuple):
    """What is stored of a record of the framework. ids: of the attachments that it refers to."""

    value: Any
    ids: Sequence[str] = ()

    @classmethod
    def whole(cls, record: Any) -> "Stored":
        """Return a record with all its bytes."""
        return cls(storable(record))


class File(NamedTuple):
    """A file in a text, from `start` to `stop`.

    kind: how its base64 is written. name: what stands beside it as its name; or empty.
    """

    start: int
    stop: int
    content: bytes
    content_type: str
    kind: str
    digest: str
    name: str = ""


def attachments(stored: Sequence[Stored]) -> dict[str, Any]:
    """Return the member of a message that names what these refer to; nothing if they do not."""
    ids = dict.fromkeys(each for one in stored for each in one.ids)
    return {"attachments": [{"id": each} for each in ids]} if ids else {}


def files_in(text: str) -> Iterator[File]:
    """Yield the large files in a text.

    In msgpack the length of a text stands in front of it, and a number may stand behind it. Up to
    three of these bytes look like base64.

    >>> run = b64encode(b"%PDF-" + bytes(33_000)).decode()
    >>> [(one.start, one.content_type, one.kind) for one in files_in(f"PDF: {run}")]
    [(5, 'application/pdf', '+=')]
    >>> list(files_in("AAAA" * 11_000))
    []
    """
    for run in RUN.finditer(text):
        found = (_file(run[0][skip:], run.start() + skip) for skip in range(4))
        yield from islice((one for one in found if one is not None), 1)


def _file(run: str, start: int) -> File | None:
    """Return the file that a run of base64 begins with; None if there is none."""
    letters = run.rstrip("=")
    for stop in dict.fromkeys((len(run), len(letters), len(letters) // 4 * 4)):
        kind = ("_" if "-" in run or "_" in run else "+") + ("" if stop % 4 else "=")
        content = _content(run[:stop], kind)
        if content is not None and (content_type := _type_of(content)) is not None:
            digest = sha256(content).hexdigest()
            return File(start, start + stop, content, content_type, kind, digest)
    return None


def _content(letters: str, kind: str) -> bytes | None:
    """Return the bytes of base64; None if these would not come back as the same letters."""
    bare = letters.rstrip("=")
    if len(bare) % 4 == 1:
        return None
    content = (urlsafe_b64decode if "_" in kind else b64decode)(bare + "=" * (-len(bare) % 4))
    return content if _letters(content, kind) == letters else None


def _letters(content: bytes, kind: str) -> str:
    letters = (urlsafe_b64encode if "_" in kind else b64encode)(content).decode()
    return letters if "=" in kind else letters.rstrip("=")


def _type_of(content: bytes) -> str | None:
    """Return the type of a file; None if it is none that is known, and no text."""
    known = (content_type for begin, content_type in TYPES.items() if begin.match(content))
    if found := next(known, None):
        return found
    try:
        return None if NO_TEXT.search(content.decode()) else "text/plain"
    except UnicodeDecodeError:
        return None


def cut(text: str, files: Sequence[File], ids: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return a text with references in place of files, and the ids of these.

    ids: of attachments, by SHA-256. A text that would not come back as it was stays whole.
    """
    pieces, at = [], 0
    contents = {ids[one.digest]: one.content for one in files if one.digest in ids}
    for one in files:
        if one.digest in ids:
            named = f"[attachment:{ids[one.digest]}:{one.digest}:{len(one.content)}:{one.kind}]"
            pieces += [text[at : one.start], named]
            at = one.stop
    made = "".join([*pieces, text[at:]])
    return (made, list(contents)) if put_back(made, contents) == text else (text, [])


def put_back(text: str, contents: Mapping[str, bytes]) -> str:
    """Return a text with files in place of references. contents: by the ids of attachments."""

    def letters(one: re.Match[str]) -> str:
        return _letters(contents[one[1]], one[4] + one[5]) if one[1] in contents else one[0]

    return REFERENCE.sub(letters, text)


def misses_file(error: ApiError) -> bool:
    """Tell whether a change is refused because a file that it names is not there any more."""
    return isinstance(error, NotFoundError) and error.field == "attachments"


def zeroed(text: str, ids: Collection[str]) -> str:
    """Return a text with zeros in place of the references with these ids."""
    found = (one for one in REFERENCE.finditer(text) if one[1] in ids)
    return put_back(text, {one[1]: bytes(int(one[3])) for one in found})


def texts_in(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts that a value of JSON holds, without the names of members.

    Beside each is what stands there as the name of a file; or an empty text.

    >>> list(texts_in({"filename": "a.pdf", "source": {"data": "JVBERi0"}}))
    [('JVBERi0', 'a.pdf'), ('a.pdf', 'a.pdf')]
    """
    waiting = [(value, "")]
    while waiting:
        match waiting.pop():
            case str(text), str(name):
                yield text, name
            case Mapping() as held, str(name):
                own = next((held[one] for one in NAMES if isinstance(held.get(one), str)), name)
                waiting += [(each, own) for each in held.values()]
            case list() | tuple() as some, _:
                waiting += [(each, "") for each in some]


def named_like(name: str, content_type: str) -> str:
    """Return a name that an attachment may have. name: as it stands beside the bytes; or empty.

    >>> named_like("docs/a?b.pdf", "application/pdf"), named_like("", "image/png")
    ('a_b.pdf', 'image.png')
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = plain_name(last or content_type.partition("/")[0])
    return plain if "." in plain else plain_name(plain + (MimeTypes().guess_extension(content_type) or ""))


def replaced(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a value of JSON with other texts in it.

    >>> replaced({"a": ["b", 1]}, {"b": "c"})
    {'a': ['c', 1]}
    """
    match value:
        case str():
            return texts.get(value, value)
        case Mapping():
            return dict(zip(value, map(replaced, value.values(), repeat(texts)), strict=True))
        case list() | tuple():
            return list(map(replaced, value, repeat(texts)))
    return value


class Files:
    """The files of one client. Threads may share it."""

    def __init__(self) -> None:
        self._sure: dict[str, tuple[str, float]] = {}
        """By SHA-256: the id of an attachment, and when the service was asked for it; 0: never."""
        self._held: OrderedDict[str, bytes] = OrderedDict()
        """By id."""
        self._sending: set[str] = set()
        """SHA-256."""
        self._holding = Lock()
        self._is_off = False

    @classmethod
    def of(cls, client: Forklore | AsyncForklore) -> "Files":
        """Return those of a client, which its sessions share."""
        return _of_clients.setdefault(client, cls())

    def stored(self, records: Sequence[Any]) -> Steps[list[Stored]]:
        """Return what is stored of records of JSON. The ten largest files of each are uploaded.

        The other ones stay inside, and so do all if the deployment keeps no attachments.
        """
        made = yield from self.cut(records)
        return [Stored(storable(value), ids) for value, ids in made]

    def cut(self, records: Sequence[Any], named: Collection[str] = ()) -> Steps[list[tuple[Any, list[str]]]]:
        """Return records with references in place of their ten largest files, and the ids of these.

        named: attachments that need not be named again. These are no part of the ten.
        A file to which a text refers already stays where it is.
        """
        done: list[tuple[Any, list[str]]] = []
        if self._is_off:
            return [(record, []) for record in records]
        known = {one[1] for text, _ in texts_in(records) for one in REFERENCE.finditer(text)}
        for record in records:
            large = {text: name for text, name in texts_in(record) if len(text) >= LETTERS_MIN}
            found = {
                text: [one._replace(name=name) for one in files_in(text)] for text, name in large.items()
            }
            uploaded = yield from self._named(found, named)
            ids = {digest: made for digest, made in uploaded.items() if made not in known}
            cuts = {text: cut(text, files, ids) for text, files in found.items()}
            used = dict.fromkeys(each for _, some in cuts.values() for each in some)
            texts = {text: now for text, (now, _) in cuts.items()}
            done.append((replaced(record, texts) if used else record, list(used)))
        return done

    def _named(self, found: Mapping[str, Sequence[File]], named: Collection[str]) -> Steps[dict[str, str]]:
        """Return the attachments of a record's files, by SHA-256. At most ten are named anew."""
        ids: dict[str, str] = {}
        room = ATTACHMENTS_PER_ENTRY_MAX
        files = {one.digest: one for some in found.values() for one in some}
        for one in sorted(files.values(), key=lambda one: len(one.content), reverse=True):
            made: str | None = self._sure.get(one.digest, ("", 0.0))[0]
            if made not in named:
                made = (yield from self._uploaded_once(one)) if room else None
                room -= made is not None
            if made:
                ids[one.digest] = made
        return ids

    def _uploaded_once(self, file: File) -> Steps[str | None]:
        """Return the attachment that has the bytes, which another thread may be sending now."""
        while not self._may_send(file.digest):
            yield PAUSE, {}
        try:
            return (yield from self._uploaded(file))
        finally:
            self._sending.discard(file.digest)

    def _may_send(self, digest: str) -> bool:
        with self._holding:
            is_free = digest not in self._sending
            self._sending.add(digest)
        return is_free

    def _uploaded(self, file: File) -> Steps[str | None]:
        """Return the attachment that has the bytes; None if the service takes none of them."""
        if self._is_off:
            return None
        content, content_type, digest = file.content, file.content_type, file.digest
        known, at = self._sure.get(digest, ("", 0.0))
        if at and monotonic() - at < SURE_S:
            return known
        name = named_like(file.name, content_type)
        about = {"name": name, "content_type": content_type}
        try:
            made = None
            if known:
                made = yield "upload_attachment", {**about, "size": len(content), "sha_256": digest}
            if made is None or made.upload is not None:
                made = yield "upload", {"file": (name, content), "content_type": content_type}
        except (BadRequestError, ConflictError, NotFoundError) as error:
            if isinstance(error, ConflictError) and error.reason != "attachments_off":
                raise
            self._is_off = not isinstance(error, BadRequestError)  # it is too large, or of an odd type
            return None
        self._note(digest, made.id, monotonic())
        self._hold(made.id, content)
        return str(made.id)

    def tries(self) -> Iterator[AbstractContextManager[object]]:
        """Yield what each try to store records runs in.

        There is a second one only if a file that is named is not there any more, since it was named
        without asking. Then the service is asked for each.
        """
        misses = False

        @contextmanager
        def first() -> Iterator[None]:
            nonlocal misses
            try:
                yield
            except NotFoundError as error:
                misses = misses_file(error)
                if not misses:
                    raise
                with self._holding:
                    self._held.clear()
                    self._sure = {digest: (known, 0.0) for digest, (known, _) in self._sure.items()}

        yield first()
        if misses:
            yield nullcontext()

    def whole(self, entries: Sequence[E]) -> Steps[list[E]]:
        """Return entries with the bytes that they refer to. Each is read once, and then held."""
        done = []
        for entry in entries:
            attached = {one.id: one for one in entry.attachments}
            now = text = jsontext.write(entry.content) if attached else ""
            if attached:
                now, _ = yield from self.mended(text, (yield from self.named_here(text, attached)))
            done.append(entry if now == text else replace(entry, content=jsontext.read(now)))
        return done

    def named_here(
        self, text: str, attached: Mapping[str, AttachedFile]
    ) -> Steps[Mapping[str, AttachedFile]]:
        """Return what a text refers to, by the ids in the text.

        attached: what it can refer to. An import has given them other ids than those in the text:
        then they are found by their SHA-256.
        """
        known = {one[1]: one[2] for one in REFERENCE.finditer(text)}
        if known.keys() <= attached.keys():
            return attached
        by_hash = {digest: attached[one] for digest, (one, _) in dict(self._sure).items() if one in attached}
        for one in sorted(attached.keys() - known.keys() - {each.id for each in by_hash.values()}):
            if by_hash.keys() >= set(known.values()):
                break
            with suppress(NotFoundError):
                found = yield "get_attachment", {"attachment_id": one}
                self._note(found.sha_256, one, 0.0)
                by_hash[found.sha_256] = attached[one]
        return {**{old: by_hash[digest] for old, digest in known.items() if digest in by_hash}, **attached}

    def mended(
        self, text: str, attached: Mapping[str, AttachedFile | None]
    ) -> Steps[tuple[str, dict[str, str]]]:
        """Return a text with the bytes that it refers to, and the attachments that are there.

        attached: what the text refers to, by the ids in it; None: the attachment with that id.
        Other ids are none of its references. In place of what an admin has removed are as many
        zeros. The attachments that are there are told by the ids in the text, too.
        """
        contents: dict[str, bytes] = {}
        there: dict[str, str] = {}
        for one in REFERENCE.finditer(text) if attached else ():
            if one[1] in contents or one[1] not in attached:
                continue
            shown = attached[one[1]]
            attachment_id = shown.id if shown else one[1]
            try:
                contents[one[1]] = yield from self._read(attachment_id, shown, one[2])
            except NotFoundError:
                contents[one[1]] = bytes(int(one[3]))
            else:
                there[one[1]] = attachment_id
                if one[2] not in self._sure:
                    self._note(one[2], attachment_id, 0.0)
        return put_back(text, contents) if contents else text, there

    def _read(self, attachment_id: str, shown: AttachedFile | None, digest: str) -> Steps[bytes]:
        """Return bytes. If others come by the link of an entry, they are read by the id.

        A read by the id raises UnexpectedAnswerError for other bytes than were uploaded.
        """
        content = self._held.get(attachment_id)
        if content is None:
            content = yield "read", {"attachment": shown or attachment_id}
            if shown and sha256(content).hexdigest() != digest:
                content = yield "read", {"attachment": attachment_id}
            self._hold(attachment_id, content)
        return content

    def _note(self, digest: str, attachment_id: str, at: float) -> None:
        with self._holding:
            self._sure[digest] = attachment_id, at
            if len(self._sure) > SURE_MAX:
                del self._sure[next(iter(self._sure))]

    def _hold(self, attachment_id: str, content: bytes) -> None:
        with self._holding:
            self._held[attachment_id] = content
            self._held.move_to_end(attachment_id)
            while sum(map(len, self._held.values())) > HELD_BYTES_MAX:
                self._held.popitem(last=False)


_of_clients: "WeakKeyDictionary[Forklore | AsyncForklore, Files]" = WeakKeyDictionary()
