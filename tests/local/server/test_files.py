"""The bytes of attachments over HTTP: what an address allows, and nothing else."""

import hashlib
import socket
import stat
import threading
import time
import uuid
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from forklore_local.server.asgi import Receive, Response, Scope, Send, send_response
from forklore_local.server.files import KEY, ServedObjects, with_files
from forklore_service.storage.objects import LINK_SECONDS, VALID_SECONDS, Expected

CONTENT = bytes(range(256)) * 4_000
EXPECTED = Expected("image/png", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


async def behind(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send_response(send, Response(418, [], b"behind"))


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> ServedObjects:
    return ServedObjects(tmp_path_factory.mktemp("data") / "attachments")


@pytest.fixture(scope="module")
def url(objects: ServedObjects) -> Iterator[str]:
    """The address of a server of the objects, in a thread."""
    settings: dict[str, Any] = {"http": "h11", "ws": "none", "lifespan": "off", "log_config": None}
    server = uvicorn.Server(
        uvicorn.Config(
            with_files(behind, objects, lambda one: one not in removed), access_log=False, **settings
        )
    )
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(60)


removed: set[str] = set()
"""What nobody wants any more."""


@pytest.fixture
def object_id() -> str:
    return str(uuid.uuid4())


@pytest.fixture
def kept(objects: ServedObjects, object_id: str) -> str:
    """An object that is there."""
    objects.store(object_id, BytesIO(CONTENT), EXPECTED)
    return object_id


def arriving(objects: ServedObjects) -> list[Path]:
    return [*(objects.folder / "incoming").iterdir()]


def pieces() -> Iterator[bytes]:
    for at in range(0, len(CONTENT), 100_000):
        yield CONTENT[at : at + 100_000]


def test_what_is_sent_in_pieces_to_the_address_is_held_and_given_back(
    url: str, objects: ServedObjects, object_id: str
) -> None:
    upload = objects.upload(object_id, EXPECTED)
    assert upload.url.startswith(f"/files/{object_id}?")

    for _ in range(2):
        sent = httpx.request(upload.method, url + upload.url, headers=upload.headers, content=pieces())
        assert sent.status_code == 200

    assert objects.holds(object_id, EXPECTED)
    link = objects.link(object_id, name="ä.png", content_type="image/png")
    given = httpx.get(url + link.url)
    assert (given.status_code, given.content) == (200, CONTENT)
    assert {name: given.headers[name] for name in given.headers if name not in ("date", "server")} == {
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
        "content-disposition": "inline; filename=\"_.png\"; filename*=UTF-8''%C3%A4.png",
        "content-length": str(len(CONTENT)),
        "content-security-policy": (
            "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"
        ),
        "content-type": "image/png",
        "etag": f'"{object_id}"',
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }


@pytest.mark.parametrize("wrong", [CONTENT[:-1], CONTENT + b"!", CONTENT[:-1] + b"!", b""])
def test_other_bytes_are_refused_and_nothing_of_them_stays(
    url: str, objects: ServedObjects, object_id: str, wrong: bytes
) -> None:
    upload = objects.upload(object_id, EXPECTED)

    refused = httpx.put(url + upload.url, headers=upload.headers, content=iter([wrong]))

    assert refused.status_code == 400
    assert "other bytes" in refused.json()["message"]
    assert not objects.holds(object_id, EXPECTED)
    assert arriving(objects) == []


def test_what_is_deleted_while_it_arrives_is_not_there(
    url: str, objects: ServedObjects, object_id: str
) -> None:
    upload = objects.upload(object_id, EXPECTED)

    def deleted_before_the_end() -> Iterator[bytes]:
        yield CONTENT[:-1]
        while not arriving(objects):
            time.sleep(0.01)
        objects.delete(object_id)
        yield CONTENT[-1:]

    gone = httpx.put(url + upload.url, headers=upload.headers, content=deleted_before_the_end())

    assert gone.status_code == 404
    assert not objects.holds(object_id, EXPECTED)


def test_what_was_removed_is_not_taken(url: str, objects: ServedObjects, object_id: str) -> None:
    upload = objects.upload(object_id, EXPECTED)
    removed.add(object_id)

    assert httpx.put(url + upload.url, headers=upload.headers, content=CONTENT).status_code == 404
    assert not objects.holds(object_id, EXPECTED)


def test_what_is_removed_before_the_last_byte_has_come_does_not_stay(
    url: str, objects: ServedObjects, object_id: str
) -> None:
    upload = objects.upload(object_id, EXPECTED)

    def removed_before_the_end() -> Iterator[bytes]:
        yield CONTENT[:-1]
        while not arriving(objects):
            time.sleep(0.01)
        removed.add(object_id)
        yield CONTENT[-1:]

    gone = httpx.put(url + upload.url, headers=upload.headers, content=removed_before_the_end())

    assert gone.status_code == 404
    assert not objects.place(object_id).exists()


def test_another_type_than_was_said_is_refused(url: str, objects: ServedObjects, object_id: str) -> None:
    upload = objects.upload(object_id, EXPECTED)

    assert httpx.put(url + upload.url, headers={"content-type": "text/html"}, content=CONTENT).is_error
    assert not objects.holds(object_id, EXPECTED)


def test_an_upload_that_stops_in_the_middle_leaves_nothing(
    url: str, objects: ServedObjects, object_id: str
) -> None:
    upload = objects.upload(object_id, EXPECTED)
    place = urlsplit(url)
    head = (
        f"PUT {upload.url} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: image/png\r\n"
        f"Content-Length: {len(CONTENT)}\r\n\r\n"
    )
    with socket.create_connection((place.hostname or "", place.port or 0)) as client:
        client.sendall(head.encode() + CONTENT[:300_000])
        give_up_at = time.monotonic() + 60
        while not arriving(objects):
            assert time.monotonic() < give_up_at
            time.sleep(0.01)

    while arriving(objects):
        assert time.monotonic() < give_up_at
        time.sleep(0.01)
    assert not objects.holds(object_id, EXPECTED)


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-0", 206, slice(0, 1)),
        ("bytes=255-300000", 206, slice(255, 300_001)),
        ("bytes=1023999-", 206, slice(1_023_999, None)),
        ("bytes=1023990-9999999", 206, slice(1_023_990, None)),
        ("bytes=-3", 206, slice(-3, None)),
        ("bytes=-9999999", 206, slice(None)),
        ("bytes=1024000-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=5-2", 200, slice(None)),
        ("bytes=0-0,2-2", 200, slice(None)),
        ("lines=0-0", 200, slice(None)),
        ("bytes=²-", 200, slice(None)),
    ],
)
def test_a_part_is_given_as_http_says(
    url: str, objects: ServedObjects, kept: str, asked: str, status: int, part: slice | None
) -> None:
    link = objects.link(kept, name="a", content_type="image/png")

    given = httpx.get(url + link.url, headers=httpx.Headers({"range": asked}, encoding="utf-8"))

    assert given.status_code == status
    if part is None:
        assert given.headers["content-range"] == f"bytes */{len(CONTENT)}"
        return
    assert given.content == CONTENT[part]
    first, last, _ = part.indices(len(CONTENT))
    shown = f"bytes {first}-{last - 1}/{len(CONTENT)}" if status == 206 else None
    assert given.headers.get("content-range") == shown


def test_who_has_it_is_told_so_and_a_part_of_something_else_is_not_given(
    url: str, objects: ServedObjects, kept: str
) -> None:
    address = url + objects.link(kept, name="a", content_type="image/png").url

    known = httpx.get(address, headers={"if-none-match": f'"other", W/"{kept}"'})
    assert (known.status_code, known.content) == (304, b"")
    head = httpx.head(address)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(CONTENT))
    for tag, status in ((f'"{kept}"', 206), ('"other"', 200)):
        assert httpx.get(address, headers={"range": "bytes=0-0", "if-range": tag}).status_code == status


@pytest.mark.parametrize("content_type", ["text/html", "image/svg+xml", "application/xhtml+xml"])
def test_what_may_run_is_given_as_bytes_to_be_kept(
    url: str, objects: ServedObjects, kept: str, content_type: str
) -> None:
    link = objects.link(kept, name="a.html", content_type=content_type)

    given = httpx.get(url + link.url)

    assert given.headers["content-type"] == "application/octet-stream"
    assert given.headers["content-disposition"].startswith("attachment;")
    assert given.headers["content-security-policy"].startswith("sandbox;")


def test_an_address_allows_what_it_says_and_nothing_else(url: str, objects: ServedObjects, kept: str) -> None:
    link = objects.link(kept, name="a", content_type="image/png").url
    upload = objects.upload(kept, EXPECTED)
    other = str(uuid.uuid4())
    changed = [
        link.replace("name=a", "name=b"),
        link.replace("image%2Fpng", "text%2Fhtml"),
        link.replace("end=", "end=9"),
        link.replace(kept, other),
        f"{link}&name=a",
        f"{link}&more=",
        link.partition("&signature=")[0],
        f"/files/{kept}",
        f"/files/{kept}?signature=é",
        upload.url,
    ]
    for address in changed:
        assert httpx.get(url + address).status_code == 403, address
    for address in (link, upload.url.replace("size=", "size=9")):
        assert httpx.put(url + address, headers=upload.headers, content=CONTENT).status_code == 403
    again = ServedObjects(objects.folder).link(kept, name="a", content_type="image/png").url
    later = objects.link(kept, name="a", content_type="image/png").url  # their end moves in steps
    assert again in (link, later)
    elsewhere = ServedObjects(objects.folder.parent / "other").link(kept, name="a", content_type="image/png")
    assert httpx.get(url + elsewhere.url).status_code == 403


def test_an_address_ends(
    url: str, objects: ServedObjects, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = objects.link(kept, name="a", content_type="image/png")
    upload = objects.upload(kept, EXPECTED)
    now = time.time()

    monkeypatch.setattr(time, "time", lambda: now + max(LINK_SECONDS, VALID_SECONDS))

    assert httpx.get(url + link.url).status_code == 403
    assert httpx.put(url + upload.url, headers=upload.headers, content=CONTENT).status_code == 403


@pytest.mark.parametrize(
    "path", ["/files/", "/files/..%2f..%2fetc%2fpasswd", "/files/key", "/files/a%00b", "/files", "/v1/names"]
)
def test_another_path_is_for_what_is_behind(url: str, path: str) -> None:
    assert httpx.get(url + path).status_code == 418


def test_a_page_that_asks_before_it_sends_is_told_what_it_may(url: str, object_id: str) -> None:
    told = httpx.options(f"{url}/files/{object_id}", headers={"Access-Control-Request-Method": "PUT"})

    assert (told.status_code, told.headers["allow"]) == (204, "GET, HEAD, OPTIONS, PUT")


def test_an_object_that_is_gone_is_not_found(url: str, objects: ServedObjects, kept: str) -> None:
    link = objects.link(kept, name="a", content_type="image/png")
    objects.delete(kept)

    assert httpx.get(url + link.url).status_code == 404


def test_only_the_owner_may_read_the_key_and_it_is_no_object(objects: ServedObjects, kept: str) -> None:
    objects.link(kept, name="a", content_type="image/png")

    assert stat.S_IMODE((objects.folder / KEY).stat().st_mode) == 0o600
    assert len((objects.folder / KEY).read_bytes()) == 32
    assert KEY not in dict(objects.all())
