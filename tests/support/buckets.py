"""A bucket of S3 on a server of moto, which takes signed addresses as S3 does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
import pytest
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from forklore_service.storage.clients import make_objects_client


@contextmanager
def served_bucket(name: str) -> Iterator[Any]:
    """Make the bucket, and yield the client of S3 that the service makes.

    Another client makes the bucket and waits as long as it takes: a server's first answer is slow.
    """
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", raising=False)
        environment.setenv("AWS_ENDPOINT_URL_S3", f"http://{host}:{port}")
        environment.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        environment.setenv("AWS_ACCESS_KEY_ID", "key")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        client = make_objects_client()
        patient: Any = botocore.session.get_session().create_client("s3")
    patient.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    try:
        yield client
    finally:
        server.stop()
        for account in s3_backends.values():  # all servers of a process have the same ones
            account.reset()
