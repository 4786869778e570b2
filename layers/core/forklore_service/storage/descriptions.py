"""botocore's descriptions of AWS's services, read in half of the time that botocore takes.

Each cold start reads them. botocore opens the folders of all services, twice, before it makes the
first client, and makes an OrderedDict of each JSON object. Here nothing is left out: clients of
every service can be made, also those that botocore makes to get credentials.
"""

import gzip
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any

from botocore.loaders import JSONFileLoader, Loader

_OPENED_BY: dict[str, Callable[..., IO[bytes]]] = {".json": open, ".json.gz": gzip.open}  # type: ignore[dict-item] # to read bytes


class PlainFiles(JSONFileLoader):
    """Reads JSON into plain dicts, which keep their order as well."""

    def load_file(self, file_path: str) -> Any:
        """Return what the file holds, or None if there is none. file_path: without its suffix."""
        for suffix, opened in _OPENED_BY.items():
            try:
                with opened(file_path + suffix, "rb") as file:
                    return json.loads(file.read())
            except FileNotFoundError:
                continue
        return None


class Descriptions(Loader):
    """Finds and reads descriptions, those of the user's own services, too."""

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002
        """Return the services that have a folder.

        A service that has no description of this type is in it as well. To load that one raises
        DataNotFoundError.
        """
        folders = [Path(path) for path in self.search_paths]
        return sorted(
            {one.name for path in folders if path.is_dir() for one in os.scandir(path) if one.is_dir()}
        )


@cache
def descriptions() -> Loader:
    """Return the loader of this process: each description is read once."""
    return Descriptions(file_loader=PlainFiles())
