"""Files in what the frameworks store: each of them keeps large ones as attachments."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager

import ormsgpack
import pytest

from forklore import Forklore, TooLargeError
from forklore.adapters.files import File, files_in
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.strands import ForkloreSessionRepository
from forklore.client.results import AttachedFile
from tests.clients.adapters.chats import CHATS, Chat, data_url, photo, source
from tests.clients.adapters.metered import Metered
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire

LARGE = photo(1, 40_000)


@pytest.fixture(params=CHATS)
def chat(request: pytest.FixtureRequest) -> Chat:
    """A chat in each of the frameworks."""
    return CHATS[request.param]


@contextmanager
def wired(service: Service, user: str) -> Iterator[tuple[Forklore, Wire]]:
    """Yield the client of a new process, and what it sends."""
    wire = Wire()
    with service.client(user) as client:
        yield wire.wrapped(client), wire


def attached(client: Forklore) -> list[AttachedFile]:
    """Return the attachments that entries name, each once."""
    conversations = [client.conversation(one.id) for one in client.conversations()]
    entries = [entry for one in conversations for entry in one.entries(channel="history")]
    return list({one.id: one for entry in entries for one in entry.attachments or ()}.values())


def shown(client: Forklore) -> list[str]:
    """Return the content types of the attachments that entries name."""
    return [one.content_type for one in attached(client)]


def test_a_turn_after_ten_photos_moves_no_bytes_of_them(service: Service, user: str, chat: Chat) -> None:
    photos = [photo(number) for number in range(10)]
    with wired(service, user) as (client, wire):
        chat(client, "Look!", photos)
        wire.sent.clear()
        wire.moved = 0
        assert chat(client, "And now?", []) == photos
        assert wire.moved <= 50_000
        assert not {"uploadAttachment", "getAttachment"} & set(wire.sent)
        assert shown(client) == ["image/png"] * 10


def test_another_process_reads_each_photo_once(service: Service, user: str, chat: Chat) -> None:
    photos = [photo(number, 100_000) for number in range(3)]
    with wired(service, user) as (client, _):
        chat(client, "Look!", photos)
    with wired(service, user) as (client, wire):
        assert chat(client, "And now?", []) == photos
        assert chat(client, "Again", photos[:1]) == [*photos, photos[0]]
        assert wire.sent.count("getAttachment") == 3
        assert wire.sent.count("uploadAttachment") <= 1  # whether it is still there
        assert chat(client, "Once more", photos[:1]) == [*photos, photos[0], photos[0]]
        assert wire.sent.count("uploadAttachment") <= 1
        assert shown(client) == ["image/png"] * 3


def test_a_small_photo_stays_inside(service: Service, user: str, chat: Chat) -> None:
    with wired(service, user) as (client, wire):
        chat(client, "Look!", [photo(1, 32_000)])
        assert chat(client, "And now?", []) == [photo(1, 32_000)]
        assert "uploadAttachment" not in wire.sent


def test_beside_the_ten_largest_photos_others_stay_inside(service: Service, user: str, chat: Chat) -> None:
    photos = [photo(number, 100_000 - number) for number in range(12)]
    with wired(service, user) as (client, _):
        chat(client, "Look!", photos)
        assert chat(client, "And now?", []) == photos
        if chat is not CHATS["langgraph"]:  # a later checkpoint has ten more
            assert len(shown(client)) == 10


def test_what_does_not_fit_beside_the_ten_is_refused(service: Service, user: str) -> None:
    photos = [photo(number, 900_000) for number in range(13)]
    with wired(service, user) as (client, _), pytest.raises(TooLargeError, match="an item has 3,"):
        CHATS["openai-agents"](client, "Look!", photos)


def test_a_service_without_attachments_keeps_the_photos_inside(metered: Metered, chat: Chat) -> None:
    metered.keep_no_attachments()
    client = metered.client()
    chat(client, "Look!", [LARGE])
    assert chat(client, "And now?", []) == [LARGE]
    assert shown(client) == []


def test_a_fork_of_strands_keeps_the_photos_of_a_session_that_is_deleted(service: Service, user: str) -> None:
    with wired(service, user) as (client, _):
        CHATS["strands"](client, "Look!", [LARGE])
        repository = ForkloreSessionRepository(client)
        repository.fork_session("chat", "fork")
        repository.delete_session("chat")
        repository.fork_session("fork", "chat")
    with wired(service, user) as (client, _):
        assert CHATS["strands"](client, "And now?", []) == [LARGE]


def test_a_pruned_copy_of_langgraph_keeps_the_photos_of_a_thread_that_is_deleted(
    service: Service, user: str
) -> None:
    with wired(service, user) as (client, _):
        CHATS["langgraph"](client, "Look!", [LARGE])
        saver = ForkloreSaver(client)
        saver.copy_thread("chat", "copy")
        saver.delete_thread("chat")
        saver.prune(["copy"])
        saver.copy_thread("copy", "chat")
        saver.delete_thread("copy")
    with wired(service, user) as (client, _):
        assert CHATS["langgraph"](client, "And now?", []) == [LARGE]
        assert shown(client) == ["image/png"]


def test_a_photo_that_an_admin_has_removed_is_zeros(chat: Chat) -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        chat(client, "Look!", [LARGE, photo(2, 50_000)])
        [removed] = [one for one in attached(client) if one.size == len(LARGE)]
        client.api.admin_remove_attachment(removed.id)
        other = Wire().wrapped(client)  # it holds no bytes
        assert chat(other, "And now?", []) == [bytes(40_000), photo(2, 50_000)]
        if chat is CHATS["langgraph"]:
            ForkloreSaver(Wire().wrapped(client)).prune(["chat"])
        assert chat(other, "Look!", [photo(3, 50_000)]) == [bytes(40_000), photo(2, 50_000), photo(3, 50_000)]


def test_a_text_that_looks_like_a_reference_comes_back(service: Service, user: str) -> None:
    with wired(service, user) as (client, _):
        CHATS["openai-agents"](client, "Look!", [LARGE])
        [entry] = client.named("openai/chat").entries()
        [attachment] = entry.attachments or ()
        text = f"attachment:{attachment.id}:{'0' * 64}:40000"
        assert CHATS["openai-agents"](client, text, [LARGE]) == [LARGE, LARGE]


def test_the_type_is_the_one_that_stands_nearest() -> None:
    letters = base64.b64encode(LARGE).decode()
    pdf = source("data", "media_type", LARGE) | {"media_type": "application/pdf"}
    found = {
        str([data_url(LARGE), f"data:;base64,{letters}"]): ["image/png", "application/octet-stream"],
        str([source("data", "media_type", LARGE), pdf]): ["image/png", "application/pdf"],
        str({"input_audio": {"data": letters, "format": "wav"}}): ["audio/x-wav"],
        str({"text": letters}): [],
    }
    for text, types in found.items():
        assert [one.content_type for one in files_in(text)] == types


def test_the_length_in_front_of_a_text_is_no_part_of_the_file() -> None:
    for size in range(40_000, 40_400):
        held = source("data", "media_type", photo(1, size))
        text = ormsgpack.packb(held).decode("latin-1")
        [found] = files_in(text)
        assert (found.content, text[found.start : found.stop]) == (photo(1, size), held["data"])


def test_base64_that_would_not_come_back_stays_where_it_is() -> None:
    letters = base64.b64encode(LARGE).decode()
    for odd in (letters[:-3] + "B==", letters.replace("+", "-")):
        assert list(files_in(f"image/png {odd}")) == list[File]()
