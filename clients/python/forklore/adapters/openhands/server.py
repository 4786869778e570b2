"""A module that OpenHands' agent server imports, so that forklore keeps its conversations.

`openhands-agent-server --import-modules forklore.adapters.openhands.server`. Unlike other modules
of forklore, it changes something when it is imported: three names of the server. They are private,
and were seen in 1.58.2.
"""

from functools import cache
from importlib.metadata import version
from os import environ
from pathlib import Path
from typing import Any
from uuid import UUID

from openhands.agent_server import conversation_service, event_service
from openhands.agent_server.utils import safe_rmtree
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.conversation.persistence_const import BASE_STATE, EVENTS_DIR
from openhands.sdk.io import FileStore, LocalFileStore
from openhands.sdk.utils.cipher import Cipher

from forklore import Forklore
from forklore.adapters.openhands import FOLDER, ForkloreConversation
from forklore.adapters.openhands.store import ForkloreFileStore


class _Store(ForkloreFileStore):
    """The store of a conversation whose folder the server has, where it looks for the base state.

    What is stored is written there after it, and read from forklore alone.
    """

    def __init__(self, folder: Path, cipher: Cipher | None = None) -> None:
        super().__init__(_client(folder.parent), UUID(folder.name), cipher=cipher)
        self._folder = folder

    def read(self, path: str) -> str:
        """Return a file. Raises FileNotFoundError if there is none."""
        text = super().read(path)
        self._show(path, text)
        return text

    def write(self, path: str, contents: str | bytes) -> None:
        """Store the base state or the next event. Raises ValueError for any other file."""
        super().write(path, contents)
        self._show(path, contents)

    def commit(self) -> None:
        """Make the fork. Raises ConflictError if there is a conversation of its id."""
        super().commit()
        self.read(BASE_STATE)

    def _show(self, path: str, contents: str | bytes) -> None:
        if path == BASE_STATE and self._fork is None:
            LocalFileStore(str(self._folder)).write(path, contents)

    def _store_of(self, conversation_id: UUID) -> "_Store":
        return _Store(self._folder.parent / conversation_id.hex, self._cipher)


@cache
def _client(conversations: Path) -> Forklore:
    """Return a client of the service that FORKLORE_URL, _FUNCTION or _DATA names.

    conversations: the folder where the server has its own; without a setting, `forklore` in it.
    """
    if url := environ.get("FORKLORE_URL"):
        key = environ.get("FORKLORE_CLIENT_KEY")
        return Forklore(url, token=environ.get("FORKLORE_TOKEN"), client_key=key)
    user, client = environ.get("FORKLORE_USER", "me"), environ.get("FORKLORE_CLIENT", "openhands")
    if function := environ.get("FORKLORE_FUNCTION"):
        return Forklore.on_lambda(function, user=user, client=client)
    data = environ.get("FORKLORE_DATA") or conversations / FOLDER
    return Forklore.local(user=user, client=client, data=data)


def _has_events(folder: Path) -> bool:
    """Return whether the events of a conversation are on the disk, from before. They stay there."""
    return (folder / EVENTS_DIR).is_dir()


def _conversation(
    *, persistence_dir: str, conversation_id: UUID, cipher: Cipher | None, **more: Any
) -> LocalConversation:
    given = {"persistence_dir": persistence_dir, "conversation_id": conversation_id, "cipher": cipher, **more}
    folder = Path(LocalConversation.get_persistence_dir(persistence_dir, conversation_id)).absolute()
    if _has_events(folder):
        return LocalConversation(**given)
    return ForkloreConversation(**given, file_store=_Store(folder, cipher))


def _store(root: str) -> FileStore:
    """Return where the events of a conversation are read that does not run."""
    folder = Path(root).absolute()
    return LocalFileStore(root) if _has_events(folder) else _Store(folder)


def _removed(path: Path | None, description: str = "directory") -> bool:
    """Remove a folder. If it is one of a conversation, that is deleted first."""
    if path is not None and (path / BASE_STATE).exists() and not _has_events(path):
        _Store(path.absolute()).erase()
    return bool(safe_rmtree(path, description))


_REPLACED: tuple[tuple[Any, str, Any, Any], ...] = (
    (event_service, "LocalConversation", LocalConversation, _conversation),
    (event_service, "LocalFileStore", LocalFileStore, _store),
    (conversation_service, "safe_rmtree", safe_rmtree, _removed),
)
for _room, _name, _known, _ in _REPLACED:
    if getattr(_room, _name, None) is not _known:
        raise ImportError(
            f"forklore knows openhands-agent-server as of 1.58.2. In {version('openhands-agent-server')} "
            f"{_room.__name__}.{_name} is missing or another one: conversations cannot be kept."
        )
for _room, _name, _, _new in _REPLACED:
    setattr(_room, _name, _new)
