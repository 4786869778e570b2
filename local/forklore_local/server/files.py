"""The bytes of attachments over HTTP, at `/files/…`, as S3 has them in a deployment.

An address says in a signature what it allows, for how long. So it is all that who uploads or reads
needs, and no request needs credentials.
"""

import asyncio
import contextlib
import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from forklore_local.in_process.objects import PIECE_BYTES, FolderObjects, sync
from forklore_local.server.asgi import App, Receive, Response, Scope, Send, header_text, send_response
from forklore_service.domain.ids import is_uuid, timestamp
from forklore_service.errors import ForkloreError
from forklore_service.storage.objects import (
    VALID_SECONDS,
    Expected,
    Link,
    Upload,
    WrongBytesError,
    disposition,
    link_end,
    served_type,
)

PATH = "/files/"
METHODS = ("GET", "HEAD", "OPTIONS", "PUT")
KEY = "key"
"""The file of the folder that holds the key of the signatures."""
SAFE = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    (
        "content-security-policy",
        "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'",
    ),
    ("cache-control", "private, no-cache"),
    ("accept-ranges", "bytes"),
]
_log = logging.getLogger("forklore")
_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")

Fields = Mapping[str, str]


class ServedObjects(FolderObjects):
    """The objects of a folder. An address is that of this server, without its name."""

    def upload(self, object_id: str, expected: Expected) -> Upload:
        ends_at = int(time.time()) + VALID_SECONDS
        fields = {"type": expected.content_type, "size": str(expected.size), "sha256": expected.sha256}
        url = self._signed("PUT", object_id, {**fields, "end": str(ends_at)})
        return Upload("PUT", url, {"content-type": expected.content_type}, timestamp(ends_at * 1000))

    def link(self, object_id: str, *, name: str, content_type: str) -> Link:
        ends_at = link_end(time.time())
        url = self._signed("GET", object_id, {"type": content_type, "name": name, "end": str(ends_at)})
        return Link(url, timestamp(ends_at * 1000))

    def allowed(self, method: str, object_id: str, query: str) -> Fields | None:
        """Return what an address says, or None if it is not ours, was changed, or is too old.

        method: GET or PUT.
        """
        given = parse_qsl(query, keep_blank_values=True)
        fields = dict(given)
        signature = fields.pop("signature", "")
        is_ours = len(given) == len(fields) + 1 and hmac.compare_digest(
            self._signature(method, object_id, fields).encode(), signature.encode(errors="replace")
        )
        return fields if is_ours and int(fields["end"]) > time.time() else None

    def _signed(self, method: str, object_id: str, fields: Fields) -> str:
        signature = self._signature(method, object_id, fields)
        return f"{PATH}{object_id}?{urlencode({**fields, 'signature': signature})}"

    def _signature(self, method: str, object_id: str, fields: Fields) -> str:
        said = json.dumps([method, object_id, fields], sort_keys=True)
        return hmac.digest(self._key(), said.encode(), "sha256").hex()

    def _key(self) -> bytes:
        """Return the key of the folder, which is made if it is missing. All processes have one."""
        place = self.folder / KEY
        if not place.exists():
            made = self._incoming / f"{KEY}.{secrets.token_hex(8)}"
            made.touch(mode=0o600)
            made.write_bytes(secrets.token_bytes(32))
            sync(made)
            with contextlib.suppress(FileExistsError):  # another process has been faster
                place.hardlink_to(made)
            made.unlink()
        return place.read_bytes()


def with_files(app: App, objects: ServedObjects, is_wanted: Callable[[str], bool]) -> App:
    """Return `app` with the paths of the files added.

    is_wanted: tells whether an object may arrive, because nobody has removed it.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        method, object_id = scope["method"], scope["path"].removeprefix(PATH)
        is_read = method in ("GET", "HEAD")
        if not (scope["path"].startswith(PATH) and is_uuid(object_id) and method in METHODS):
            await app(scope, receive, send)
            return
        if method == "OPTIONS":  # a page of another port asks whether it may send
            await send_response(send, Response(204, [("allow", ", ".join(METHODS))], b""))
            return
        query = scope["query_string"].decode("latin-1")
        said = await asyncio.to_thread(objects.allowed, "GET" if is_read else "PUT", object_id, query)
        headers = {name.decode("latin-1"): header_text(value) for name, value in scope["headers"]}
        if said is None:
            await send_response(send, _message(403, "This address is not valid, or not any more."))
        elif is_read:
            await _give(objects.place(object_id), said, headers, send, with_body=method == "GET")
        else:
            taken = await _take(objects, is_wanted, object_id, said, headers, receive)
            await send_response(send, taken)

    return serve


async def _take(
    objects: ServedObjects,
    is_wanted: Callable[[str], bool],
    object_id: str,
    said: Fields,
    headers: Fields,
    receive: Receive,
) -> Response:
    """Take the bytes of an object, piece by piece, and return the answer.

    Who removes it first says so, and then deletes the bytes. So it is looked at before and after.
    """
    expected = Expected(said["type"], int(said["size"]), said["sha256"])
    if headers.get("content-type") != expected.content_type:
        return _message(400, f"The Content-Type is not {expected.content_type}.")
    try:
        if not await asyncio.to_thread(is_wanted, object_id):
            return _message(404, "Not Found")
        with await asyncio.to_thread(objects.arriving, object_id, expected) as arriving:
            while (message := await receive())["type"] != "http.disconnect":
                await asyncio.to_thread(arriving.write, message.get("body", b""))
                if not message.get("more_body", False):
                    await asyncio.to_thread(arriving.keep)
                    if await asyncio.to_thread(is_wanted, object_id):
                        return Response(200, [*SAFE, ("etag", f'"{object_id}"')], b"")
                    await asyncio.to_thread(objects.delete, object_id)
                    return _message(404, "Not Found")
    except FileNotFoundError:
        return _message(404, "Not Found")
    except WrongBytesError as error:
        return _message(400, f"These are other bytes than was said: {error}.")
    except ForkloreError as error:
        told = {
            "method": "PUT",
            "route": f"{PATH}{{attachmentId}}",
            "status": error.status,
            "code": error.code,
        }
        _log.error("answered", extra={**told, "reason": error.details.get("reason")})
        return _message(error.status, f"{error.message}.")
    return _message(400, "The rest did not come.")


async def _give(place: Path, said: Fields, headers: Fields, send: Send, *, with_body: bool) -> None:
    """Send an object, or the part of it that is asked for. Nothing of it may run."""
    tag = f'"{place.name}"'
    sent = [
        *SAFE,
        ("etag", tag),
        ("content-type", served_type(said["type"])),
        ("content-disposition", disposition(said["name"], said["type"])),
    ]
    try:
        file = await asyncio.to_thread(place.open, "rb")
    except FileNotFoundError:
        await send_response(send, _message(404, "Not Found"))
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        if tag in (one.strip().removeprefix("W/") for one in headers.get("if-none-match", "").split(",")):
            await send_response(send, Response(304, sent, b""))
            return
        part = _part(headers.get("range", ""), size) if headers.get("if-range", tag) == tag else None
        if part is not None and not part:
            await send_response(send, _message(416, "No such range", ("content-range", f"bytes */{size}")))
            return
        status, asked = (200, range(size)) if part is None else (206, part)
        if part is not None:
            sent.append(("content-range", f"bytes {asked.start}-{asked.stop - 1}/{size}"))
        sent.append(("content-length", str(len(asked))))
        raw = [(name.encode(), value.encode()) for name, value in sent]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        file.seek(asked.start)
        left = len(asked) if with_body else 0
        while left and (piece := await asyncio.to_thread(file.read, min(left, PIECE_BYTES))):
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _part(asked: str, size: int) -> range | None:
    """Return which bytes a Range header asks for; an empty one if there are none of these.

    None: all, also for what is no single range of bytes (RFC 9110, section 14.2).

    >>> _part("bytes=2-4", 10), _part("bytes=2-", 10), _part("bytes=-3", 10)
    (range(2, 5), range(2, 10), range(7, 10))
    """
    found = _RANGE.fullmatch(asked.strip())
    if found is None:
        return None
    first, last, final = (None if one is None else int(one) for one in found.groups())
    if first is None:
        return range(max(0, size - (final or 0)), size)
    if last is not None and last < first:
        return None
    return range(first, size if last is None else min(size, last + 1))


def _message(status: int, text: str, *more: tuple[str, str]) -> Response:
    body = json.dumps({"message": text}).encode()
    return Response(status, [*SAFE, *more, ("content-type", "application/json")], body)
