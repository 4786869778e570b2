"""Short functions for uploads, for entries that name them, and for what is left of them."""

import hashlib
from base64 import b64encode
from typing import Any

from forklore_local.fsck.check import check
from forklore_service.domain.model import Caller
from forklore_service.storage import items
from tests.service.usecases.builders import ANN, ROOT
from tests.support.mailbox import Mailbox
from tests.support.tables import DAY_S, Store, WrongClock
from tools.harness.service import Answer, Process

PHOTO = b"not really a photo"


def described(content: bytes = PHOTO, /, **more: Any) -> dict[str, Any]:
    """Return the body of an upload. more: other fields."""
    digest = hashlib.sha256(content).hexdigest()
    said = {"name": "cat.png", "contentType": "image/png", "size": len(content), "sha256": digest}
    return said | more


def upload(process: Process, content: bytes = PHOTO, by: Caller = ANN, **more: Any) -> str:
    """Upload at once. Return the attachment."""
    sent = described(content, content=b64encode(content).decode(), **more)
    return process.ask("uploadAttachment", by, **sent).id


def send(store: Store, attachment_id: str, content: bytes) -> None:
    """Bring bytes to the store, whatever was said of them."""
    incoming = store.objects.folder / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    (incoming / attachment_id).write_bytes(content)


def name(process: Process, *attachment_ids: str, to: str = ROOT, by: Caller = ANN, **more: Any) -> Answer:
    """Append an entry that names attachments. more: other fields of the append."""
    content = [{"role": "USER", "text": "look", "attachments": [{"id": one} for one in attachment_ids]}]
    said: dict[str, Any] = {"channel": "history", "contentType": "history", "content": content}
    return process.ask("appendEntry", by, conversationId=to, **said, **more)


def shown(process: Process, conversation_id: str = ROOT, by: Caller = ANN) -> list[list[str]]:
    """Return the attachments of each entry that a conversation shows."""
    page = process.ask("listEntries", by, conversationId=conversation_id).body["data"]
    return [[one["id"] for one in entry.get("attachments", [])] for entry in page]


def left(store: Store) -> set[str]:
    """Return the attachments of which anything is left: an item, a reference or an object.

    The item that waits for late bytes is not counted.
    """
    scanned = store.client.scan(TableName=store.name)["Items"]
    found = {
        key.partition.split("#")[1]
        for item in scanned
        if (key := items.key(item)).partition[:5] == "FILE#" and "going" not in item
    }
    return found | {object_id for object_id, _ in store.objects.all()}


def assert_intact(store: Store) -> None:
    """Assert that the table has no damage, and that each object is one of an attachment."""
    scanned = store.client.scan(TableName=store.name)["Items"]
    found = check(scanned, now_s=store.process().now_s())
    assert found == [], found


def settle(store: Store, mailbox: Mailbox) -> None:
    """Do all work that was announced, until nothing is left."""
    while mailbox.messages:
        for message in mailbox.take():
            message.work(store.process(), mailbox.queue, lease_s=100, wait_s=0)


def in_two_days(store: Store) -> Any:
    """Return the table as a process sees it in two days."""
    return store.process(clock=WrongClock(2 * DAY_S * 1000))
