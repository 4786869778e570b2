"""What the downloads of attachments are called, and the bytes in a bucket of S3, here moto's."""

import base64
import contextlib
import hashlib
import io
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from forklore_service.errors import UnavailableError
from forklore_service.storage import clients
from forklore_service.storage.objects import (
    LINK_SAME_SECONDS,
    LINK_SECONDS,
    Expected,
    Link,
    Objects,
    WrongBytesError,
    disposition,
    served_type,
)
from forklore_service.storage.objects_s3 import S3Objects
from tests.support.buckets import served_bucket

CONTENT = b"\x89PNG and more" * 1000
OTHER = CONTENT[:-1] + b"!"
BUCKET = "attachments"


def expected(content: bytes = CONTENT) -> Expected:
    return Expected("image/png", len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of S3 whose requests, as those to its signed addresses, go to a server."""
    with served_bucket(BUCKET) as made:
        yield made


@pytest.fixture
def objects(client: Any) -> S3Objects:
    return S3Objects(BUCKET, client)


@pytest.fixture
def object_id() -> str:
    return str(uuid.uuid4())


def test_what_is_uploaded_to_the_address_is_held_listed_and_linked_to_until_it_is_deleted(
    objects: Objects, object_id: str
) -> None:
    upload = objects.upload(object_id, expected())
    assert not objects.holds(object_id, expected())

    assert httpx.request(upload.method, upload.url, headers=upload.headers, content=CONTENT).is_success

    assert objects.holds(object_id, expected())
    assert not objects.holds(object_id, expected(OTHER))
    assert list(objects.all()) == [(object_id, len(CONTENT))]
    link = objects.link(object_id, name='ä"\r\n.png', content_type="image/png")
    answer = httpx.get(link.url)
    assert answer.content == CONTENT
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == disposition('ä"\r\n.png', "image/png")
    part = httpx.get(link.url, headers={"range": "bytes=1-3"})
    assert (part.status_code, part.content) == (206, b"PNG")

    for _ in range(2):
        objects.delete(object_id)
        assert (objects.holds(object_id, expected()), list(objects.all())) == (False, [])


def test_requests_at_once_make_one_client(object_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, both = list[Any](), Barrier(2)

    def make() -> Any:
        made.append(object())
        with contextlib.suppress(BrokenBarrierError):
            both.wait(0.2)  # for another one that is made at once
        return SimpleNamespace(delete_object=lambda **_place: None)

    monkeypatch.setattr(clients, "make_objects_client", make)
    objects = S3Objects(BUCKET)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(objects.delete, [object_id] * 2))
    assert len(made) == 1


def test_what_is_stored_is_held(objects: Objects, object_id: str) -> None:
    for wrong in (OTHER, CONTENT[:-1]):
        with pytest.raises(WrongBytesError):
            objects.store(object_id, io.BytesIO(wrong), expected())
        assert not objects.holds(object_id, expected())

    objects.store(object_id, io.BytesIO(CONTENT), expected())

    assert objects.holds(object_id, expected())
    objects.delete(object_id)


def test_type_length_and_checksum_are_signed_in_the_address(objects: Objects, object_id: str) -> None:
    """S3 refuses others then; moto checks no signature."""
    upload = objects.upload(object_id, expected())

    signed = httpx.URL(upload.url).params
    assert (
        signed["X-Amz-SignedHeaders"]
        == "content-length;content-type;host;x-amz-checksum-sha256;x-amz-sdk-checksum-algorithm"
    )
    assert signed["X-Amz-Expires"] == "900"
    assert upload.headers == {
        "content-type": "image/png",
        "x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(CONTENT).digest()).decode(),
        "x-amz-sdk-checksum-algorithm": "SHA256",
    }


def test_a_link_is_the_same_for_minutes_and_never_valid_for_longer_than_it_says(
    objects: Objects, object_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link_after(seconds: int, name: str = "a") -> Link:
        monkeypatch.setattr(time, "time", lambda: 1_800_000_000 + seconds)
        return objects.link(object_id, name=name, content_type="image/png")

    first = link_after(0)
    assert link_after(LINK_SAME_SECONDS - 1) == first
    assert link_after(LINK_SAME_SECONDS) != first
    assert link_after(0, name="b") != first
    assert httpx.URL(first.url).params["X-Amz-Expires"] == str(LINK_SECONDS)
    assert first.expires_at == "2027-01-15T08:15:00.000Z"


def test_an_address_leads_to_the_region_of_the_function(
    monkeypatch: pytest.MonkeyPatch, object_id: str
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    url = S3Objects(BUCKET).upload(object_id, expected()).url

    assert httpx.URL(url).host == f"{BUCKET}.s3.eu-central-1.amazonaws.com"


def test_what_is_no_object_id_reaches_no_object(objects: Objects) -> None:
    for hostile in ("../x", "", "A" * 36):
        with pytest.raises(ValueError, match="an object id is a UUID"):
            objects.delete(hostile)


def test_a_bucket_that_does_not_answer_may_be_asked_again_and_one_that_refuses_is_a_fault_of_ours(
    client: Any, objects: Objects, object_id: str
) -> None:
    for status, error in ((503, UnavailableError), (403, ClientError)):
        with Stubber(client) as stub:
            stub.add_client_error("head_object", "Code", http_status_code=status)
            with pytest.raises(error):
                objects.holds(object_id, expected())


def test_bytes_are_read_whole_or_not_at_all(client: Any, objects: S3Objects, object_id: str) -> None:
    objects.store(object_id, io.BytesIO(CONTENT), expected())
    assert b"".join(objects.read(object_id)) == CONTENT
    objects.delete(object_id)
    with pytest.raises(WrongBytesError):
        list(objects.read(object_id))
    with pytest.raises(ClientError, match="NoSuchBucket"):
        list(S3Objects("another", client).read(object_id))

    with Stubber(client) as stub:
        stub.add_response("get_object", {"Body": StreamingBody(io.BytesIO(CONTENT), len(CONTENT) + 1)})
        with pytest.raises(UnavailableError, match="cut short"):
            list(objects.read(object_id))


def test_an_endpoint_is_asked_for_the_bytes_as_it_is_called(
    monkeypatch: pytest.MonkeyPatch, object_id: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    client = clients.make_objects_client("http://emulator:4566", region="eu-central-1")

    url = S3Objects(BUCKET, client).upload(object_id, expected()).url

    assert url.startswith(f"http://emulator:4566/{BUCKET}/{object_id}?")


@pytest.mark.parametrize(
    ("content_type", "how"),
    [
        ("image/png", "inline"),
        ("IMAGE/PNG", "inline"),
        ("audio/mpeg", "inline"),
        ("video/mp4", "inline"),
        ("image/svg+xml", "attachment"),
        ("image/svg", "attachment"),
        ("application/pdf", "attachment"),
        ("text/html", "attachment"),
        ("x-image/png", "attachment"),
    ],
)
def test_only_pictures_sound_and_films_are_shown(content_type: str, how: str) -> None:
    assert disposition("a", content_type).partition(";")[0] == how


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "TEXT/HTML",
        "application/xhtml+xml",
        "image/svg+xml",
        "image/svg",
        "text/xml",
        "application/xslt+xml",
        "text/javascript",
        "application/ecmascript",
        "text/css",
        "multipart/related",
        "message/rfc822",
        "application/x-shockwave-flash",
    ],
)
def test_a_type_that_may_run_is_hidden(content_type: str) -> None:
    assert served_type(content_type) == "application/octet-stream"
    assert disposition("a", content_type).startswith("attachment")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", 'a"; x="', "a\r\nset-cookie: x", "\u202egnp.exe", "日本" * 42]
)
def test_a_hostile_name_stays_one_ascii_header(name: str) -> None:
    header = disposition(name, "image/png")

    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2
    assert "/" not in header
