"""Clients of botocore for DynamoDB, SQS and S3."""

import logging
from typing import Any

from botocore.config import Config
from botocore.session import Session, get_session

from forklore_service.storage.descriptions import descriptions

CONNECTIONS_MAX = 64


def make_client(
    endpoint: str | None = None, *, region: str | None = None, session: Session | None = None
) -> Any:
    """Return a DynamoDB client that never retries. None: AWS's own endpoint, the usual region.

    session: where a process that makes many clients keeps what they have in common.
    """
    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=CONNECTIONS_MAX,
        user_agent="forklore",  # botocore's own is put together anew for each call
        parameter_validation=False,  # DynamoDB checks them itself
    )
    return (session or make_session()).create_client(
        "dynamodb", endpoint_url=endpoint, region_name=region, config=config
    )


def make_queue_client() -> Any:
    """Return an SQS client that gives up soon and never retries."""
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=1, read_timeout=1)
    return make_session().create_client("sqs", config=config)


def make_objects_client(endpoint: str | None = None, *, region: str | None = None) -> Any:
    """Return an S3 client that signs addresses of its own region. None: as in `make_client`."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=5,
        signature_version="s3v4",
        # With "path" an address of AWS leads to another region first.
        s3={"addressing_style": "virtual" if endpoint is None else "path"},
        request_checksum_calculation="when_required",  # the caller's own are sent
    )
    return make_session().create_client("s3", endpoint_url=endpoint, region_name=region, config=config)


def make_session() -> Session:
    # At its lower levels botocore logs where it found credentials.
    logging.getLogger("botocore").setLevel(logging.WARNING)
    session = get_session()  # boto3 would make the same clients, after half as many imports again
    session.register_component("data_loader", descriptions())
    return session
