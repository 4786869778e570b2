"""Links by which people without an account read a conversation.

The secret of a link is a token in its address: the conversation, and 16 random bytes. The store has
the link under a digest of these bytes, and nowhere the bytes themselves. They are made of a salt
and of the Idempotency-Key of the request, so that who sends the request again gets the same secret.
For that the record of the request has the salt, and nothing has the key.
"""

import hashlib
import hmac
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

from forklore_service.domain import ids
from forklore_service.domain.ids import EntryId

SALT_BYTES = RANDOM_BYTES = 16
_ID_BYTES = 16
DAY_SECONDS = 24 * 3600


class ReaderLink(NamedTuple):
    """A link as it is stored.

    created_at: a timestamp. ttl: the second at which it ends. up_to: the last entry that it shows
    with its turn; None: it shows the whole tree. user_ids: whether readers see who has written.
    stays: whether it outlives a transfer of the tree. opens: how often it was opened.
    """

    link_id: str
    conversation_id: str
    created_at: str
    ttl: int
    up_to: EntryId | None = None
    user_ids: bool = False
    stays: bool = False
    opens: int = 0

    @property
    def all_forks(self) -> bool:
        """Whether it shows every conversation of the tree, and what is said later."""
        return self.up_to is None

    @property
    def ends_at(self) -> str:
        return ids.timestamp(self.ttl * 1000)

    def is_open(self, *, now_s: int) -> bool:
        return now_s < self.ttl


class Secret(NamedTuple):
    """What the address of a link says: the conversation, and the link."""

    conversation_id: str
    link_id: str


def random_of(salt: bytes, key: str) -> bytes:
    """Return the random bytes of a secret, which need both a salt and a key.

    key: the Idempotency-Key of the request; empty without one. Then nothing keeps the salt.

    >>> random_of(bytes(16), "k").hex(), len(random_of(bytes(16), ""))
    ('40fc241f23ecd34159c8de2c16831b11', 16)
    """
    assert len(salt) == SALT_BYTES, salt
    return hmac.digest(salt, key.encode(), "sha256")[:RANDOM_BYTES]


def secret_of(conversation_id: str, random: bytes) -> tuple[str, str]:
    """Return the secret of a new link, which only its maker learns, and the link's id.

    >>> secret_of("00000000-0000-4000-8000-000000000001", bytes(16))
    ('AAAAAAAAQACAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAA', '374708ff-f771-9dd5-979e-c875d56cd228')
    """
    assert len(random) == RANDOM_BYTES, random
    packed = uuid.UUID(conversation_id).bytes + random
    return urlsafe_b64encode(packed).decode().rstrip("="), _digest(random)


def read_secret(text: str) -> Secret | None:
    """Return what a secret says; None for a text that is none.

    >>> read_secret("AAAAAAAAQACAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAA").conversation_id
    '00000000-0000-4000-8000-000000000001'
    >>> read_secret("short"), read_secret("AAAAAAAAQACAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAB")
    (None, None)
    """
    try:
        packed = urlsafe_b64decode(f"{text}=")
    except ValueError:  # binascii's own error is one
        return None
    is_same = urlsafe_b64encode(packed).decode().rstrip("=") == text
    if len(packed) != _ID_BYTES + RANDOM_BYTES or not is_same:
        return None
    conversation_id = str(uuid.UUID(bytes=packed[:_ID_BYTES]))
    return Secret(conversation_id, _digest(packed[_ID_BYTES:]))


def _digest(random: bytes) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(random).digest()[:_ID_BYTES]))
