"""Opens the table that an export reads or an import writes: on DynamoDB, or in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from forklore_local.porting.failures import PortingError
from forklore_service.errors import ForkloreError
from forklore_service.storage import schema
from forklore_service.storage.clients import make_client, make_objects_client
from forklore_service.storage.clock import Clock
from forklore_service.storage.connection import CallRefused
from forklore_service.storage.objects import Expected, Objects
from forklore_service.storage.objects_s3 import S3Objects
from forklore_service.storage.table import Table
from forklore_service.storage.timeouts import PatientConnection

__all__ = ["Table", "back_up", "copy_bytes", "table_at", "table_in"]


@contextmanager
def table_at(
    name: str, *, endpoint: str | None = None, region: str | None = None, bucket: str | None = None
) -> Iterator[Table]:
    """Yield a table of DynamoDB. What goes wrong with it in the block is raised as a PortingError.

    endpoint: its address, and that of its bucket; None: AWS. region: None: the default of AWS's
    tools. bucket: of its attachments; None: there are none.
    """
    try:
        client = make_client(endpoint, region=region)
        described = client.describe_table(TableName=name)["Table"]
        if not schema.is_like(described):
            raise PortingError(f"{name!r} is no table of forklore's: its keys or indexes are others")
        objects = None if bucket is None else S3Objects(bucket, make_objects_client(endpoint, region=region))
        yield Table(PatientConnection(client, name, Clock()), objects=objects)
    except ClientError as error:
        told = error.response["Error"]
        if told["Code"] == "ResourceNotFoundException":
            raise PortingError(f"there is no table {name!r} here") from error
        raise PortingError(f"{told['Code']}: {told.get('Message', '')}".splitlines()[0]) from error
    except (BotoCoreError, ForkloreError, ValueError) as error:
        raise PortingError(str(error)) from error


@contextmanager
def table_in(folder: Path) -> Iterator[Table]:
    """Yield the table of the service that is kept in a folder, which is made if it is missing.

    What goes wrong with it in the block is raised as a PortingError.
    """
    from forklore_local.in_process.folder import DataError
    from forklore_local.in_process.opened import Opened

    try:
        opened = Opened(folder)
    except DataError as error:
        raise PortingError(str(error)) from error
    try:
        yield opened.table
    except (CallRefused, ForkloreError) as error:
        raise PortingError(str(error).splitlines()[0]) from error
    finally:
        opened.close()


def copy_bytes(objects: Objects, object_id: str, expected: Expected, to: Path) -> None:
    """Copy the bytes of an attachment to a file, which is there whole or not at all.

    Raises WrongBytesError for other bytes and for none, PortingError if no file can be made.
    """
    from forklore_local.in_process.objects import Arriving

    try:
        to.parent.mkdir(mode=0o700, exist_ok=True)
        with Arriving(to.parent, to, expected) as arriving:
            for piece in objects.read(object_id):
                arriving.write(piece)
            arriving.keep()
    except OSError as error:
        raise PortingError(f"{to.parent}: {error.strerror}") from error


def back_up(folder: Path, to: Path) -> list[str]:
    """Copy what a folder keeps into a new one: in_process/upkeep.py. Raises PortingError."""
    from forklore_local.in_process import upkeep
    from forklore_local.in_process.folder import DataError

    try:
        return upkeep.back_up(folder, to)
    except DataError as error:
        raise PortingError(str(error)) from error
