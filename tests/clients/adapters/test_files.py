"""Files in what the frameworks store: each of them keeps large ones as attachments."""

import base64
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import ormsgpack
import pytest
from claude_agent_sdk import SessionKey

from forklore import Forklore, NotFoundError, TooLargeError, UnexpectedAnswerError
from forklore.adapters.claude_agent import ForkloreSessionStore
from forklore.adapters.files import File, Files, files_in
from forklore.adapters.langgraph import ForkloreSaver
from forklore.adapters.openai_agents import ForkloreSession
from forklore.adapters.running import run
from forklore.adapters.storable import restored
from forklore.adapters.strands import ForkloreSessionRepository
from forklore.client import jsontext
from forklore.client.generated.results import AttachedFile
from tests.clients.adapters.chats import CHATS, ID, Chat, data_url, photo, source
from tests.clients.adapters.claude_agent_lines import said
from tests.clients.adapters.metered import Metered
from tests.clients.adapters.services import Service
from tests.clients.adapters.wires import Wire

LARGE = photo(1, 40_000)
NUMBERS = ormsgpack.OPT_NON_STR_KEYS


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
    return list({one.id: one for entry in entries for one in entry.attachments}.values())


def shown(client: Forklore) -> list[str]:
    """Return the content types of the attachments that entries name."""
    return [one.content_type for one in attached(client)]


def test_a_turn_after_ten_photos_moves_no_bytes_of_them(service: Service, user: str, chat: Chat) -> None:
    photos = [photo(number) for number in range(10)]
    with wired(service, user) as (client, wire):
        chat(client, "Look!", photos)
        assert wire.sent.count("uploadAttachment") == 20  # each of them takes two
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
        assert "getAttachment" not in wire.sent  # the entries have links
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


def test_a_photo_that_an_admin_has_removed_can_be_stored_again(chat: Chat) -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        chat(client, "Look!", [LARGE])
        [removed] = attached(client)
        client.api.admin_remove_attachment(removed.id)
        chat(client, "Again", [LARGE])
        [_, again] = chat(Wire().wrapped(client), "And now?", [])
        assert again == LARGE


def test_a_thread_whose_photo_an_admin_has_removed_is_not_read_to_its_begin() -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        CHATS["langgraph"](client, "Look!", [LARGE])
        for number in range(8):
            CHATS["langgraph"](client, f"And {number}?", [])
        [removed] = attached(client)
        client.api.admin_remove_attachment(removed.id)
        wire = Wire()
        assert ForkloreSaver(wire.wrapped(client)).get_tuple({"configurable": {"thread_id": "chat"}})
        assert wire.sent == ["listEntriesByName", "getAttachment", "getAttachment"]


def test_a_thread_is_pruned_after_an_admin_has_removed_a_photo_that_is_held() -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        CHATS["langgraph"](client, "Look!", [LARGE, photo(2, 50_000)])
        [removed] = [one for one in attached(client) if one.size == len(LARGE)]
        client.api.admin_remove_attachment(removed.id)
        ForkloreSaver(client).prune(["chat"])
        other = Wire().wrapped(client)
        assert CHATS["langgraph"](other, "And now?", []) == [bytes(40_000), photo(2, 50_000)]


def test_a_photo_whose_stored_bytes_have_changed_is_refused(chat: Chat, tmp_path: Path) -> None:
    with Forklore.local(user="ann", data=tmp_path) as client:
        chat(client, "Look!", [LARGE])
        [stored] = [one for one in tmp_path.rglob("*") if one.stat().st_size == len(LARGE)]
        stored.chmod(0o600)
        stored.write_bytes(bytes(len(LARGE)))
        with pytest.raises(UnexpectedAnswerError, match="other bytes came"):
            chat(Wire().wrapped(client), "And now?", [])


def test_items_that_are_replaced_keep_a_photo_that_an_admin_has_removed_before() -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        session = ForkloreSession("chat", client)
        items: list[Any] = [{"role": "user", "content": [{"image_url": data_url(LARGE)}]}]
        anyio.run(session.add_items, items)
        [removed] = attached(client)
        client.api.admin_remove_attachment(removed.id)
        anyio.run(session._atomic_replace_items, items)
        assert anyio.run(session.get_items) == items


def test_a_change_that_names_what_is_removed_each_time_is_tried_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Wire()
    with Forklore.local(user="ann", roles=("admin",)) as client:
        mine = wire.wrapped(client)
        session = ForkloreSession("chat", mine)
        upload = mine.upload
        items: list[Any] = [{"role": "user", "content": [{"image_url": data_url(LARGE)}]}]

        def removed(_: Forklore, *given: Any, **more: Any) -> Any:
            made = upload(*given, **more)
            client.api.admin_remove_attachment(made.id)
            return made

        monkeypatch.setattr(Forklore, "upload", removed)
        with pytest.raises(NotFoundError, match="no attachment"):
            anyio.run(session.add_items, items)
        assert wire.sent.count("appendEntryByName") == 2


def moved(client: Forklore, other: Forklore) -> None:
    """Copy what the names of a client show to another user, as an export and an import do."""
    made: dict[str, str] = {}
    for name in client.names():
        appended = other.named(name.name)
        for entry in client.named(name.name).entries(channel="history"):
            for one in entry.attachments:
                upload = other.upload((one.name, client.read(one)), content_type=one.content_type)
                made[one.id] = upload.id
            content = [
                {**each, "attachments": [{"id": made[one["id"]]} for one in each["attachments"]]}
                if "attachments" in each
                else each
                for each in entry.content
            ]
            draft = {"contentType": entry.content_type, "content": content}
            appended.append_all([draft | ({"key": entry.key} if entry.key else {})])


def test_photos_come_back_under_the_ids_of_an_import(service: Service, user: str, chat: Chat) -> None:
    photos = [photo(number, 50_000 + number) for number in range(3)]
    with wired(service, user) as (client, _), wired(service, f"{user}-2") as (other, _):
        for one in photos:
            chat(client, "Look!", [one])
        for number in range(20):
            chat(client, f"And {number}?", [])
        moved(client, other)
    with wired(service, f"{user}-2") as (other, wire):
        assert chat(other, "And now?", [photos[0]]) == [*photos, photos[0]]
        wire.sent.clear()
        assert chat(other, "And now?", []) == [*photos, photos[0]]
        assert "getAttachment" not in wire.sent


def test_langgraph_reads_the_photos_of_what_is_returned_or_stays_alone(
    service: Service, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wired(service, user) as (client, _):
        for number in range(4):
            CHATS["langgraph"](client, "Look!", [photo(number, 40_000)])
    with wired(service, user) as (client, _):
        saver, mended, read = ForkloreSaver(client), Files.mended, list[str]()

        def counted(self: Files, text: str, attached: Any) -> Any:
            read.append(text)
            return mended(self, text, attached)

        monkeypatch.setattr(Files, "mended", counted)
        thread: Any = {"configurable": {"thread_id": "chat"}}
        assert len(list(saver.list(thread))) == 12
        all_of_them = len(read)
        for few in (
            lambda: list(saver.list(thread, limit=1)),
            lambda: list(saver.list(thread, filter={"step": 1})),
            lambda: saver.prune(["chat"]),
        ):
            read.clear()
            few()
            assert 0 < len(read) < all_of_them / 2


def test_a_file_is_called_as_it_is_beside_its_bytes(service: Service, user: str) -> None:
    pdf = base64.b64encode(b"%PDF-" + bytes(40_000)).decode()
    image = {"format": "pdf", "name": "plan", "source": {"bytes": pdf}}
    names = {
        "a_b.pdf": {"type": "input_file", "filename": "C:\\docs\\a?b.pdf", "file_data": pdf},
        "plan.pdf": {"document": image},
        "application.pdf": {"name": "ann", "content": [{"data": pdf}]},
        "é" * 125 + ".pdf": {"title": "é" * 264, "data": pdf},
    }
    for number, (name, item) in enumerate(names.items()):
        with wired(service, f"{user}-{number}") as (client, _):
            [(_, [made])] = run(client, Files().cut([item]))
            assert client.api.get_attachment(made).name == name


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph"])
def test_a_text_that_looks_like_a_reference_comes_back(service: Service, user: str, framework: str) -> None:
    chat = CHATS[framework]
    with wired(service, user) as (client, _):
        chat(client, "Look!", [LARGE])
        [attachment] = attached(client)
        for name in (attachment.id, ID):
            assert chat(client, f"[attachment:{name}:{'0' * 64}:40000:+=]", [LARGE])
        photos = [LARGE, LARGE, LARGE, photo(2, 3_000_000)]
        assert chat(client, "Look again!", [photos[-1]]) == photos
    with wired(service, user) as (client, wire):
        assert chat(client, "And now?", []) == photos
        assert wire.moved <= 3_000_000  # the largest photo is no part of it


def test_the_type_is_that_of_the_bytes() -> None:
    types = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff\xe0": "image/jpeg",
        b"RIFF\x00\x01\x02\x03WEBPVP8 ": "image/webp",
        b"RIFF\x00\x01\x02\x03WAVEfmt ": "audio/x-wav",
        b"%PDF-1.7": "application/pdf",
        b"\x00\x00\x00\x20ftypisom": "video/mp4",
        "Größe;Preis\n".encode() * 10: "text/plain",
    }
    for begin, content_type in types.items():
        behind = b"1;2\n" * 10_000 if content_type == "text/plain" else random.Random(1).randbytes(40_000)
        [found] = files_in(base64.b64encode(begin + behind).decode())
        assert (found.content, found.content_type) == (begin + behind, content_type)
    for odd in (bytes(40_000), random.Random(1).randbytes(40_000)):
        assert list(files_in(f"data:image/png;base64,{base64.b64encode(odd).decode()}")) == list[File]()


def drawn(draw: random.Random) -> str:
    """Return base64 with something around it, of either alphabet, with and without padding."""
    letters = base64.b64encode(photo(draw.randrange(4), 33_000 + draw.randrange(3))).decode()
    if draw.random() < 0.3:
        letters = letters.replace("+", "-").replace("/", "_")
    if draw.random() < 0.3:
        letters = letters.rstrip("=")
    pieces = [
        "",
        " ",
        "7",
        "_",
        "=",
        "==",
        "：",
        "é",
        "\n",
        "\\",
        '"',
        "data:image/png;base64,",
        "AB+",
        "[",
        "]",
    ]
    before, behind = ("".join(draw.choices(pieces, k=2)) for _ in range(2))
    return before + letters + behind


def test_files_come_back_from_whatever_stands_around_them() -> None:
    """Records of JSON, some with half of a surrogate pair, and of msgpack, with numbers as keys."""
    draw, cut = random.Random(1), 0
    with Forklore.local(user="ann") as client:
        mine, other = Files.of(client), Files()
        for _ in range(600):
            texts = [drawn(draw) for _ in range(draw.randrange(1, 3))]
            odd = draw.choice(["", "é", "\ud83d", "[attachment:"])
            record = {"a": texts, texts[0][:3]: [{"deep": texts[0], "n": 1.5}, None, odd]}
            [(value, ids)] = run(client, mine.stored([record]))
            text, _ = run(client, other.mended(jsontext.write([value]), dict.fromkeys(ids)))
            assert restored(jsontext.read(text)[0]) == record
            numbers = {draw.randrange(128): each for each in texts}
            packed = ormsgpack.packb([numbers, [texts[0], draw.randrange(128)]], option=NUMBERS).decode(
                "latin-1"
            )
            [(stored, in_it)] = run(client, mine.cut([packed]))
            assert run(client, other.mended(stored, dict.fromkeys(in_it)))[0] == packed
            cut += bool(ids) + bool(in_it)
    assert cut > 1_000


def test_what_would_not_come_back_stays_where_it_is() -> None:
    letters = base64.b64encode(LARGE).decode()
    for odd in (letters[:-3] + "B==", letters.replace("+", "-")):
        found = [one for one in files_in(odd) if one.stop == len(odd)]
        assert found == list[File]()


def test_a_call_names_as_many_photos_as_its_entries_can(service: Service, user: str) -> None:
    photos = [photo(number, 2_000_000) for number in range(12)]
    with wired(service, user) as (client, _):
        session = ForkloreSession("chat", client)
        items: list[Any] = [{"role": "user", "content": [{"image_url": data_url(one)}]} for one in photos]
        items += [{"role": "user", "content": str(number)} for number in range(1_000)]
        anyio.run(session.add_items, items)
        assert anyio.run(session.get_items) == items
        store, key = ForkloreSessionStore(client), SessionKey(project_key="-trip", session_id=ID)
        blocks: list[Any] = [{"type": "image", "source": source("data", "media_type", one)} for one in photos]
        lines = [said("assistant", [block]) for block in blocks]
        anyio.run(store.append, key, lines)
        assert anyio.run(store.load, key) == lines
