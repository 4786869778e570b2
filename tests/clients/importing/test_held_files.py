"""Which file of an archive a message names."""

import pytest

from forklore.importing.held_files import Held

PLACES = {
    "file-AbC123xyz-photo of us.png": 9,
    "user-1/file_0000deadbeef-1f2e.dat": 9,
    "file-AbC123xyzz.png": 9,
    "dalle/file-twice123.webp": 9,
    "other/file-twice123.webp": 9,
    "a/notes.pdf": 9,
    "a/two.pdf": 9,
    "b/two.pdf": 9,
    "user.json": 9,
    "file-empty1234.png": 0,
    "file-large1234.mp4": 100_000_001,
}


@pytest.mark.parametrize(
    ("file_id", "shown", "place"),
    [
        ("file-service://file-AbC123xyz", "", "file-AbC123xyz-photo of us.png"),
        ("file-AbC123xyz", "us.png", "file-AbC123xyz-photo of us.png"),
        ("sediment://file_0000deadbeef", "", "user-1/file_0000deadbeef-1f2e.dat"),
        ("sediment://5f3a#file_0000deadbeef#p_0.png", "", "user-1/file_0000deadbeef-1f2e.dat"),
        ("notes.pdf", "notes.pdf", "a/notes.pdf"),
        ("f-1", "notes.pdf", None),
        ("two.pdf", "two.pdf", None),
        ("user.json", "user.json", None),
        ("file-twice123", "", None),
        ("file-service://", "", None),
        ("user-1/file-A", "", None),
        ("file-empty1234", "", None),
        ("file-large1234", "", None),
    ],
)
def test_the_id_or_else_the_whole_name_tells_the_file(file_id: str, shown: str, place: str | None) -> None:
    held = Held()
    held.put(PLACES, lambda _: None, None)

    found = held.find(file_id, shown, {})

    assert (None if found is None else found.place) == place
    assert list(held.taken) == ([] if place is None else [place])


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("", "file-AbC123xyz-photo of us.png"),
        ("urlaub é.png", "urlaub é.png"),
        ("../\u202egnp.exe\x00", ".._" + "_gnp.exe_"),
        ("..", "file"),
        ("é" * 200, "é" * 127),
    ],
)
def test_the_attachment_has_a_plain_name(shown: str, name: str) -> None:
    held = Held()
    held.put(PLACES, lambda _: None, None)

    found = held.find("file-AbC123xyz", shown, {"mimeType": "image/png"})

    assert found is not None
    assert (found.name, found.content_type) == (name, "image/png")
