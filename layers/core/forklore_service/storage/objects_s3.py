"""The bytes of attachments in a bucket of S3. They never pass a function, unless they are few."""

import base64
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from io import BufferedIOBase
from typing import Any

from forklore_service.domain.ids import is_uuid, timestamp
from forklore_service.errors import UnavailableError
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

PIECE_BYTES = 256 * 1024
LINKS_KEPT = 10_000
"""How many links a process remembers. S3 would sign the same link differently each second."""


class S3Objects:
    """The objects of a bucket. Its client is made when the first of them is needed.

    client: of S3; None: AWS's own.
    """

    def __init__(self, bucket: str, client: Any = None) -> None:
        self._bucket = bucket
        self._made = client
        self._making = threading.Lock()  # a worker lets go of several at once
        self._link = lru_cache(LINKS_KEPT)(self._signed_link)

    @property
    def _client(self) -> Any:
        with self._making:
            if self._made is None:
                from forklore_service.storage.clients import make_objects_client

                self._made = make_objects_client()
            return self._made

    def upload(self, object_id: str, expected: Expected) -> Upload:
        """Return a signed request. S3 takes no other type, no other length and no other bytes."""
        signed = self._at(object_id) | _parameters(expected) | {"ContentLength": expected.size}
        ends_at = timestamp(int((time.time() + VALID_SECONDS) * 1000))
        url = self._client.generate_presigned_url("put_object", Params=signed, ExpiresIn=VALID_SECONDS)
        headers = {
            "content-type": expected.content_type,
            "x-amz-checksum-sha256": _base64(expected.sha256),
            "x-amz-sdk-checksum-algorithm": "SHA256",
        }
        return Upload("PUT", url, headers, ends_at)

    def store(self, object_id: str, content: BufferedIOBase, expected: Expected) -> None:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        if (content.seek(0, os.SEEK_END), sha256) != (expected.size, expected.sha256):
            raise WrongBytesError("they are others than the expected ones")
        content.seek(0)
        with _asking():
            self._client.put_object(**self._at(object_id), **_parameters(expected), Body=content)

    def read(self, object_id: str) -> Iterator[bytes]:
        with _asking():
            try:
                body = self._client.get_object(**self._at(object_id))["Body"]
            except self._client.exceptions.NoSuchKey as error:
                raise WrongBytesError("there are none") from error
        with closing(body), _asking("the bytes of an attachment were cut short; try again"):
            yield from body.iter_chunks(PIECE_BYTES)

    def holds(self, object_id: str, expected: Expected) -> bool:
        with _asking():
            try:
                head = self._client.head_object(**self._at(object_id), ChecksumMode="ENABLED")
            except self._client.exceptions.ClientError as error:
                if error.response["Error"]["Code"] == "404":
                    return False
                raise
        found = head["ContentLength"], head.get("ChecksumSHA256")
        return bool(found == (expected.size, _base64(expected.sha256)))

    def link(self, object_id: str, *, name: str, content_type: str) -> Link:
        return self._link(object_id, name, content_type, link_end(time.time()))

    def _signed_link(self, object_id: str, name: str, content_type: str, end: int) -> Link:
        shown = {
            "ResponseContentDisposition": disposition(name, content_type),
            "ResponseContentType": served_type(content_type),
        }
        url = self._client.generate_presigned_url(
            "get_object", Params=self._at(object_id) | shown, ExpiresIn=end - int(time.time())
        )
        return Link(url, timestamp(end * 1000))

    def delete(self, object_id: str) -> None:
        with _asking():
            self._client.delete_object(**self._at(object_id))

    def all(self) -> Iterator[tuple[str, int]]:
        with _asking():
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket):
                yield from ((one["Key"], one["Size"]) for one in page.get("Contents", ()))

    def _at(self, object_id: str) -> dict[str, Any]:
        if not is_uuid(object_id):
            raise ValueError("an object id is a UUID")
        return {"Bucket": self._bucket, "Key": object_id}


def _parameters(expected: Expected) -> dict[str, Any]:
    checksum = {"ChecksumAlgorithm": "SHA256", "ChecksumSHA256": _base64(expected.sha256)}
    return {"ContentType": expected.content_type, **checksum}


def _base64(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


@contextmanager
def _asking(
    unanswered: str = "the store of attachments does not answer; try again",
) -> Iterator[None]:
    """Raise UnavailableError where S3 cannot be reached, or asks for another try."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
            raise
        raise UnavailableError(unanswered) from error
