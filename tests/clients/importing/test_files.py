import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.exporting.jsonlines import header_line, tree_lines
from forklore.importing import file_records
from forklore.importing.file_records import records_of
from forklore.importing.files import read_file, read_stream
from forklore.importing.foreign_trees import ImportReport, MalformedFileError
from forklore.importing.one_file import FileImport, ImportOptions
from forklore.importing.unpacking import zstd_module
from tests.clients.importing.builders import ask, line_of
from tests.service.domain.builders import examples

NODE: dict[str, Any] = {"parent": None, "message": {"content": {"content_type": "text", "parts": ["hi"]}}}
CHATGPT = {"id": "g", "mapping": {"n": NODE}}
CLAUDE = {"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "hi"}]}
CONVERSATION = {"id": "f", "title": "T"}
OWN = header_line() + "".join(tree_lines("f", [("conversation", CONVERSATION)]))


def values_of(text: bytes, **given_: Any) -> list[Any]:
    return [record.value for record in records_of(io.BytesIO(text), **given_)]


def trees_in(path: Path, given: str | None = None) -> list[str]:
    return [tree.tree_id for tree in read_file(path, ImportReport(), given=given)]


VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
ALIKE = st.recursive(
    st.sampled_from([1, '},{"a"', '"}, {"a"', "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.fixed_dictionaries({"a": inner}, optional={"b": inner}),
    max_leaves=12,
)
"""Objects that begin with the same name, also inside each other and in texts."""


@examples(150)
@given(
    st.lists(VALUES, max_size=6) | st.lists(ALIKE, max_size=9),
    st.sampled_from([None, 1]),
    st.integers(1, 40) | st.just(10_000),
    st.data(),
)
def test_the_elements_of_an_array_are_cut_as_json_says(
    monkeypatch_chunk: None, rows: list[Any], indent: int | None, chunk: int, data: st.DataObject
) -> None:
    file_records.CHUNK_BYTES = chunk
    text = json.dumps(rows, indent=indent, ensure_ascii=data.draw(st.booleans())).encode()

    assert values_of(b"\n " + text + b" \n") == rows


@pytest.fixture(scope="module")
def monkeypatch_chunk() -> Any:
    before = file_records.CHUNK_BYTES
    yield
    file_records.CHUNK_BYTES = before


@examples(100)
@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=3), min_size=1, max_size=6), st.booleans())
def test_lines_and_one_object_are_read(rows: list[Any], marked: bool) -> None:
    mark = b"\xef\xbb\xbf" if marked else b""

    lines = "\n\n".join(json.dumps(row) for row in rows).encode()
    assert values_of(mark + lines) == rows
    assert values_of(mark + json.dumps(rows[0], indent=1).encode()) == [rows[0]]


def test_an_array_is_read_element_by_element() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            text = super().read(size)
            self.taken += len(text)
            return text

    rows = [{"text": "x" * 1_000_000} for _ in range(20)]
    stream = Counting(json.dumps(rows).encode())

    first = next(records_of(stream))
    assert (first.value, first.place) == (rows[0], "element 1")
    assert stream.taken < 4_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "no conversation in the file"),
        (b" \n\xef", "line 2: not UTF-8 at byte 1"),
        (b"\xff\xfe[\0]\0", "line 1: UTF-16, not UTF-8"),
        (b"\xffabc", "line 1: not UTF-8 at byte 1"),
        (b"PK is no archive", "line 1: not JSON: Expecting value at column 1"),
        (b"<html>", "line 1: not JSON: Expecting value at column 1"),
        (b"[", "element 1: the file ends inside it"),
        (b'[{"id": "a"}, {"id', "element 2: the file ends inside it"),
        (b'[{"mapping": {}}, {nonsense}]', "element 2: not JSON: Expecting property name"),
        (b'[{"mapping": {}},]', "element 2: not JSON: Expecting value at column 1"),
        (b"[}]", "element 1: not JSON: a bracket that closes nothing"),
        (b"[] []", "not JSON: something follows the end of the array"),
        (b"[]", "no conversation in the file"),
        (
            b'[{"id": 1}, 2]',
            "element 1: no format that is known; --format forces one of: chatgpt, claude, tr",
        ),
        (b'{\n "mapping": {},\n nonsense}', "line 3: not JSON: Expecting property name"),
        (b'{"mapping": {}}\n{"mapping": NaN}', "line 2: not JSON: NaN is no number"),
        (
            b'[{"mapping": {}}]',
            "no conversation in the file: not a conversation with messages: 1 (element 1)",
        ),
        (b'{"mapping": {"a": 1e99999999999999999999}}', "line 1: a number is beyond what can be read"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_place(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(text)

    with pytest.raises(MalformedFileError) as caught:
        trees_in(path)

    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [b'{"a": "%s"}\n', b'[1, "%s"]', b'{"a":\n"%s"}', b'1\n"%s"'])
def test_a_value_that_is_too_long_is_an_error_before_it_is_read(text: bytes) -> None:
    with pytest.raises(MalformedFileError, match="more than 2,000,000 bytes"):
        values_of(text % (b"x" * 4_000_000), bytes_max=2_000_000)


@pytest.mark.parametrize("text", [b"[[%s]]", b'{"a": [%s]}\n', b'{"a":\n[%s]}', b"1\n[%s]"])
def test_a_value_of_too_many_values_is_an_error_before_it_is_read(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_records, "VALUES_MAX", 1_000)
    for many in (b"{},", b"0,", b'{"a":1},'):
        with pytest.raises(MalformedFileError, match="more than 1,000 values"):
            values_of(text % (many * 1_000 + b'"a"'))
    words = b'"%s"' % (b'a, [b], {c} \\" ' * 2_000)

    assert len(values_of(text % words)) in (1, 2)


@pytest.mark.parametrize("text", [b"%s[1,\n2]%s", b'1%s\n"a"%s', b"%s1\n"])
def test_much_white_space_is_passed_in_few_steps(text: bytes) -> None:
    class Stepped(io.BufferedReader):
        steps = 0

        def read(self, size: int | None = -1) -> bytes:
            self.steps += 1
            return super().read(size)

        def readline(self, size: int | None = -1) -> bytes:
            self.steps += 1
            return super().readline(size)

    space = (b" \r\n" * 100 + b"\t" * 100) * 5_000
    stream = Stepped(io.BytesIO(text.replace(b"%s", space)), 100_000)
    values = [record.value for record in records_of(stream)]

    assert values in ([1, 2], [1, "a"], [1])
    assert stream.steps < 200


def test_what_stands_behind_much_white_space_has_its_line_and_its_column() -> None:
    text = b"1\n" + b"\n" * 1_000_000 + b"   nonsense\n"
    with pytest.raises(MalformedFileError, match="line 1000002: not JSON: Expecting value at column 4"):
        [record.value for record in records_of(io.BufferedReader(io.BytesIO(text)))]


def test_an_archive_that_unpacks_to_much_more_than_programs_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    for blanks, said in ((9_000_000, "no format"), (11_000_000, "the archive unpacks to 11,000,")):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations.json", b"\n" * blanks + json.dumps([CHATGPT]).encode())
        if said == "no format":
            assert trees_in(path) == ["g"]
        else:
            with pytest.raises(MalformedFileError, match=said):
                trees_in(path)


@pytest.mark.parametrize("name", ["file.jsonl.zst", "file", "folder/file.jsonl.zst"])
def test_a_file_that_is_packed_by_zstd_is_read_as_what_it_unpacks_to(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    read = path.parent if "folder" in name else path
    rows = [json.dumps({**CLAUDE, "uuid": f"{number}"}).encode() + b"\n" for number in range(3000)]
    pack = zstd_module().compress

    path.write_bytes(pack(b"".join(rows[:1000])) + pack(b"".join(rows[1000:])))
    assert trees_in(read) == [f"{number}" for number in range(3000)]
    path.write_bytes(pack(b"".join(rows))[:-5])
    with pytest.raises(MalformedFileError, match="damaged zstd: "):
        trees_in(read)
    path.write_bytes(pack(b"".join(rows))[:9] + b"?" * 90)
    with pytest.raises(MalformedFileError, match="damaged zstd: "):
        trees_in(read)


def test_a_file_that_unpacks_to_much_more_than_programs_write_is_not_read(tmp_path: Path) -> None:
    path, text = tmp_path / "file.zst", json.dumps([CHATGPT]).encode()

    path.write_bytes(zstd_module().compress(b"\n" * 9_000_000 + text))
    assert trees_in(path) == ["g"]
    path.write_bytes(zstd_module().compress(b"\n" * 11_000_000 + text))
    with pytest.raises(MalformedFileError, match="the file unpacks to 10,"):
        trees_in(path)


@pytest.mark.parametrize(
    ("text", "tree_id"),
    [
        (json.dumps([CHATGPT]), "g"),
        (json.dumps(CHATGPT, indent=1), "g"),
        (json.dumps([CLAUDE]), "c"),
        (json.dumps(CLAUDE), "c"),
        (json.dumps([{"odd": 1}, CLAUDE]), "c"),
        (line_of(ask("a")).decode(), "t"),
        (f"[{line_of(ask('a')).decode()}]", "t"),
        (OWN, "f"),
    ],
)
def test_the_content_tells_the_format(tmp_path: Path, text: str, tree_id: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)

    assert trees_in(path) == [tree_id]


def test_a_format_can_be_forced() -> None:
    with pytest.raises(MalformedFileError, match="line 1: not the header of forklore's JSON Lines"):
        list(read_stream(io.BytesIO(line_of(ask("a"))), ImportReport(), given="forklore"))


@pytest.mark.parametrize("forced", ["claude", "messages", "codex", "trees", "forklore"])
def test_the_refusal_of_a_forced_format_names_the_one_that_the_file_has(tmp_path: Path, forced: str) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps([CHATGPT]))

    with pytest.raises(MalformedFileError, match=r"; it looks like chatgpt: leave --format out$"):
        trees_in(path, forced)


def test_an_export_is_read_inside_its_archive_in_one_or_several_files(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/conversations-001.json", json.dumps([{**CHATGPT, "id": "g2"}]))
        archive.writestr("x/conversations-000.json", json.dumps([CHATGPT]))
        archive.writestr("x/shared_conversations.json", "[1]")

    assert trees_in(path) == ["g", "g2"]


def test_an_archive_without_conversations_or_with_damage_is_named(tmp_path: Path) -> None:
    empty, damaged = tmp_path / "empty.zip", tmp_path / "damaged.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("user.json", "{}")
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([CHATGPT] * 50))
    data = bytearray(damaged.read_bytes())
    data[60:80] = bytes(20)
    damaged.write_bytes(data)

    with pytest.raises(
        MalformedFileError,
        match=r"no conversation in the archive: user\.json: line 1: no format that is known; --format",
    ):
        trees_in(empty)
    with pytest.raises(MalformedFileError, match=r"^conversations\.json: "):
        trees_in(damaged)


def test_what_stands_beside_the_conversations_of_an_archive_is_counted(tmp_path: Path) -> None:
    path, report = tmp_path / "export.zip", ImportReport()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([CLAUDE]))
        archive.writestr("projects.json", json.dumps([{"name": "Garden"}, {"name": "Boat"}]))
        archive.writestr("memories.json", json.dumps([{"conversations_memory": "x"}]))
        archive.writestr("users.json", "[]")

    assert len(list(read_file(path, report))) == 1
    assert report.lines() == [
        "project of an archive: 2 (Garden, Boat)",
        "memory of an archive: 1 (element 1)",
        "file without conversations: 1 (users.json)",
    ]


def test_a_folder_is_read_file_by_file_and_what_is_of_no_format_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.json").write_text(json.dumps(CLAUDE))
    (tmp_path / "c.json").write_text(json.dumps([CHATGPT]))
    (tmp_path / "d.jsonl").write_bytes(line_of(ask("Rain?"), tree_id="t"))
    (tmp_path / "._d.jsonl").write_bytes(b"\0 what macOS puts beside a file")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "picture.png").write_bytes(b"x")
    report = ImportReport()

    assert [tree.tree_id for tree in read_file(tmp_path, report)] == ["c", "g", "t"]
    assert report.lines() == ["file without conversations: 3 (package.json, ._d.jsonl, picture.png)"]


def test_links_of_a_folder_are_counted_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.json").write_text(json.dumps([CLAUDE]))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.json").write_text(json.dumps([CHATGPT]))
    (folder / "linked.json").symlink_to("../elsewhere/secret.json")
    (folder / "linked").symlink_to("../elsewhere")
    report = ImportReport()

    assert [tree.tree_id for tree in read_file(folder, report)] == ["g"]
    assert report.lines() == ["link, which is not followed: 2 (linked, linked.json)"]


def test_a_file_of_a_folder_that_cannot_be_read_stops_no_other_one(tmp_path: Path) -> None:
    for name, text in (("a", "{"), ("b", json.dumps(CLAUDE)), ("c", "[1"), ("d", json.dumps([CHATGPT]))):
        (tmp_path / f"{name}.json").write_text(text)
    read = list[str]()

    with pytest.raises(MalformedFileError, match=r"^a\.json: line 1: .*; c\.json: "):
        read.extend(tree.tree_id for tree in read_file(tmp_path, ImportReport()))

    assert read == ["c", "g"]


def test_how_much_there_is_to_do_is_estimated_from_how_far_the_file_is_read(tmp_path: Path) -> None:
    path, expected = tmp_path / "trees.jsonl", list[int]()
    path.write_bytes(b"".join(line_of(ask("x" * 20_000), tree_id=f"{number}") for number in range(100)))

    plans = list(FileImport(path, ImportOptions("ann")).plans(on_total=expected.append))

    assert len(plans) == expected[-1] == 100
    assert all(80 <= total <= 101 for total in expected[20:]), expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'[{"header": "Gemini Apps", "title": "Said", "time": "2025"}]', "looks like a Gemini takeout"),
        (b'{"chunkedPrompt": {}, "runSettings": {}}', "looks like a Google AI Studio prompt"),
        (b'{"prompt": {"text": "x"}}', "no format that is known"),
        (b'{"prompt": "x", "completion": "y"}', "no format that is known"),
        (b"SQLite format 3\0", "damaged database: file is not a database"),
        (b"\x1f\x8b\x08", "compressed by gzip"),
    ],
)
def test_a_refusal_names_the_system_and_what_can_be_forced(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(text)

    with pytest.raises(MalformedFileError, match=f"^(line 1: |element 1: )?{said}"):
        trees_in(path)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        trees_in(tmp_path / "none")


@pytest.mark.parametrize("damage", ["truncated", "middle", "directory", "named"])
def test_a_damaged_archive_is_called_one(tmp_path: Path, damage: str) -> None:
    path = tmp_path / ("a.zip" if damage == "named" else "a")
    text = json.dumps([CHATGPT] * 50)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("conversations.json", text)
    held = bytearray(path.read_bytes())
    at = held.index(b"PK\x01\x02")
    match damage:
        case "truncated":
            held = held[: len(held) // 2]
        case "middle":
            held[held.rindex(b": ", 0, at) + 1] = ord("\n")  # still JSON, but other bytes
        case "directory":
            held[at : at + 4] = bytes(4)
        case "named":
            held = bytearray(b"no archive")
    path.write_bytes(held)

    with pytest.raises(MalformedFileError, match="damaged archive"):
        list(read_file(path, ImportReport()))
