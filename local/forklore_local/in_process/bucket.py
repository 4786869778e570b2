"""Copies of a folder in a bucket of S3, or of what speaks as it does, and the way back.

A copy is all objects below its name. Its database is written last and deleted first: a copy that
has none is no copy. One process at a time makes copies in a place.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from forklore_local.in_process.copies import NAME, name_at
from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.upkeep import back_up

SCHEME = "s3://"
_ADDRESS = re.compile(rf"{SCHEME}([a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9])(?:/(.*?))?/?")


class Bucket:
    """A place for copies: `s3://BUCKET` or `s3://BUCKET/PREFIX`.

    Credentials, region and endpoint are those of AWS's own tools. client: None: a new one.
    Each method raises DataError if the bucket refuses, or does not answer.
    """

    def __init__(self, address: str, client: Any = None) -> None:
        """Raises DataError for what is no address."""
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise DataError(f"a bucket is named as {SCHEME}BUCKET/PREFIX, and not {address!r}")
        self.address = address.rstrip("/")
        self._bucket, self._prefix = found[1], f"{found[2]}/" if found[2] else ""
        with self._asking():
            self._client = client or boto3.client("s3")

    def add(self, folder: Path, *, keep: int | None, moment: datetime) -> tuple[str, list[str]]:
        """Copy a folder, which may be in use, and delete all but the newest copies.

        keep: how many stay; None: all. moment: now. Return the copy's address, and the attachments
        whose bytes are lost. Nothing is deleted before the new copy is whole.
        """
        name = name_at(moment)
        with self._asking(), tempfile.TemporaryDirectory(prefix="forklore-copy-") as held:
            made = Path(held) / "copy"
            lost = back_up(folder, made)
            files = sorted(file for file in made.rglob("*") if file.is_file() and file != made / FILE)
            for file in (*files, made / FILE):
                self._client.upload_file(
                    str(file), self._bucket, f"{self._prefix}{name}/{file.relative_to(made).as_posix()}"
                )
        if keep is not None:
            found = self._objects()
            whole = [one for one in sorted(found) if FILE in found[one]]
            parts = (one for one in found if one < name and one not in whole)
            for old in {*whole[:-keep], *parts} - {name}:  # also if the clock was ahead before
                self._delete(old, found[old])
        return f"{self.address}/{name}", lost

    def names(self) -> list[str]:
        """Return the names of the copies, the oldest first."""
        found = self._objects()
        return [name for name in sorted(found) if FILE in found[name]]

    def fetch(self, name: str, to: Path) -> None:
        """Make a folder of a copy. Only its owner may read it."""
        files = self._objects()[name]
        to.mkdir(mode=0o700, parents=True)
        try:
            for file in files:
                place = to / file
                if ".." in Path(file).parts or to not in place.parents:
                    raise DataError(f"{self.address}/{name} has a file {file!r}, which is none of forklore's")
                place.parent.mkdir(parents=True, exist_ok=True)
                with self._asking():
                    self._client.download_file(self._bucket, f"{self._prefix}{name}/{file}", str(place))
        except OSError as error:
            shutil.rmtree(to, ignore_errors=True)
            raise DataError(f"cannot make {to}: {error.strerror}") from error

    def _objects(self) -> dict[str, list[str]]:
        """Return the files of each copy by its name, also of one that is there in part."""
        found: dict[str, list[str]] = {}
        with self._asking():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=f"{self._prefix}forklore-"
            )
            for one in (one for page in pages for one in page.get("Contents", ())):
                name, _, file = one["Key"].removeprefix(self._prefix).partition("/")
                if NAME.fullmatch(name) and file:
                    found.setdefault(name, []).append(file)
        return found

    def _delete(self, name: str, files: list[str]) -> None:
        with self._asking():
            for file in sorted(files, key=lambda one: one != FILE):
                self._client.delete_object(Bucket=self._bucket, Key=f"{self._prefix}{name}/{file}")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise DataError where S3 refuses, or the disk here does. Its text has no secret."""
        try:
            yield
        except ClientError as error:
            raise DataError(f"{self.address}: {error.response['Error']['Code']}") from error
        except (BotoCoreError, Boto3Error, ValueError) as error:  # ValueError: of an endpoint
            raise DataError(f"{self.address}: {str(error).splitlines()[0]}") from error
        except OSError as error:  # of the files here; some of botocore's errors are one, too
            raise DataError(f"{self.address}: {error.strerror}") from error


def newest_in(address: str, client: Any = None) -> tuple[str, Callable[[Path], None]]:
    """Return the address of the newest copy, or of the one that is named, and what fetches it.

    Raises DataError if there is none.
    """
    place, _, name = address.rstrip("/").rpartition("/")
    if NAME.fullmatch(name):
        bucket = Bucket(place, client)
        found = [one for one in bucket.names() if one == name]
    else:
        bucket = Bucket(address, client)
        found = bucket.names()
    if not found:
        raise DataError(f"{address} is no copy of forklore, and has none")
    return f"{bucket.address}/{found[-1]}", lambda to: bucket.fetch(found[-1], to)
