"""Tokens of a few users in a file, for a server without an issuer.

A line is the SHA-256 of a token in 64 hexadecimal digits, a space and the user's id. The tokens
themselves are shown once, when they are made. A token has 256 random bits, so a plain hash is
enough: there is nothing to guess. Its middle part is read as that of a JSON Web Token, by which the
explorer knows whose it is.
"""

import base64
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from forklore_service.credentials.api_keys import hash_of
from forklore_service.domain.users import is_user_id
from forklore_service.errors import UnavailableError

TOKEN_BYTES = 32
PREFIX = "fl"
MODE = 0o600
_LINE = re.compile(r"(?P<hash>[0-9a-f]{64}) (?P<user>.+)")


class UserTokens:
    """The users of a file, which is read again when it changes.

    Raises OSError, and ValueError for a line of another form. The message names its number only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known = _state_of(path), _read(path)

    def user_of(self, token: str) -> str | None:
        """Return whose token it is, None if it is nobody's.

        Raises UnavailableError if the file has changed and cannot be read.
        """
        try:
            state = _state_of(self.path)
            known, users = self._known  # one value, as threads ask
            if state != known:
                users = _read(self.path)
                self._known = state, users
        except (OSError, ValueError) as error:
            raise UnavailableError("the tokens cannot be read") from error
        return users.get(hash_of(token))


class User(NamedTuple):
    """A user of a file. tokens: how many are good."""

    id: str
    tokens: int


def add_user(path: Path, user_id: str) -> str:
    """Give a user one more token, and return it. It is stored nowhere else. The file is made.

    Raises OSError, and ValueError for an id that is none or a file of another form.
    """
    if not is_user_id(user_id):
        raise ValueError("a user's id has 1 to 255 bytes and no control characters")
    claims = base64.urlsafe_b64encode(json.dumps({"sub": user_id}).encode()).decode().rstrip("=")
    token = f"{PREFIX}.{claims}.{secrets.token_urlsafe(TOKEN_BYTES)}"
    with _alone(path):
        if path.exists():
            _read(path)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, MODE), "ab") as file:
            file.write(f"{hash_of(token)} {user_id}\n".encode())
    return token


def remove_user(path: Path, user_id: str) -> int:
    """Take all tokens of a user away, and return how many they were.

    The file keeps its owner and mode, as who serves may be another user than who calls this. A link
    to it stays one.
    Raises OSError, and ValueError for a file of another form.
    """
    _read(path)  # it is there
    with _alone(path):
        users = _read(path)
        kept = [f"{hashed} {user}\n" for hashed, user in users.items() if user != user_id]
        if len(kept) == len(users):
            return 0
        place = path.resolve()
        beside = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb") as file:
                file.write("".join(kept).encode())
                _give_as(place, beside)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
    return len(users) - len(kept)


def list_users(path: Path) -> list[User]:
    """Return the users by their ids. Raises OSError, and ValueError for a file of another form."""
    found = list(_read(path).values())
    return [User(user, found.count(user)) for user in sorted(set(found))]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let nobody else change the file meanwhile. It is made if it is missing.

    A removal puts another file in its place: who has waited for that looks again.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows, which also replaces no open file
        yield
        return
    while True:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CREAT, MODE)) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                yield
                return


def _read(path: Path) -> Mapping[str, str]:
    """Return the users by the hash of their token."""
    text = path.read_text("utf-8")
    if text and not text.endswith("\n"):
        raise ValueError(f"{path}: the last line has no end")
    return dict(_pairs(path, text.split("\n")[:-1]))


def _pairs(path: Path, lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None or not is_user_id(found["user"]):
            raise ValueError(f"{path}: line {number} is not a SHA-256, a space and a user's id")
        yield found["hash"], found["user"]


def _give_as(one: Path, other: Path) -> None:
    """Give a file the owner and the mode of another one."""
    held, given = one.stat(), other.stat()
    if (held.st_uid, held.st_gid) != (given.st_uid, given.st_gid):
        os.chown(other, held.st_uid, held.st_gid)
    other.chmod(held.st_mode & 0o777)


def _state_of(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
