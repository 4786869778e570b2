"""Files: on their way to the service and back, over each transport, and what can go wrong there."""

import hashlib
import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import httpx
import httpx2
import pytest

from forklore import (
    AsyncForklore,
    ConflictError,
    Forklore,
    InputError,
    NoAnswerError,
    NotFoundError,
    TooLargeError,
    UnexpectedAnswerError,
)
from forklore.client.files import Target
from forklore.client.generated.limits import ATTACHMENT_BYTES_MAX, ATTACHMENT_INLINE_BYTES_MAX
from forklore.client.generated.results import AttachedFile
from forklore.client.retrying import Options
from forklore.client.transports.addresses import located
from forklore_service.aws import wiring
from forklore_service.storage.objects import LINK_SECONDS
from forklore_service.storage.objects_s3 import S3Objects
from tests.clients.python import faulty
from tests.clients.python.here import served
from tests.clients.python.ways import WAYS, Way, opened
from tests.support.buckets import served_bucket
from tools.harness.gateway import given, table_in_memory

SMALL, LARGE = b"\x89PNG" * 1000, os.urandom(ATTACHMENT_INLINE_BYTES_MAX + 1_000_000)
BUCKET = "bucket-of-files"


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Objects]:
    """A bucket of a server that takes signed addresses as S3 does."""
    with served_bucket(BUCKET) as client:
        yield S3Objects(BUCKET, client)


@contextmanager
def way_of(transport: str, mode: str, request: pytest.FixtureRequest) -> Iterator[Way]:
    """Yield a way to a service of its own. Where a function is invoked, the bytes are in S3."""
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        way = stack.enter_context(opened(transport, mode, environment))
        if transport == "lambda":
            stack.enter_context(given(wiring._given._replace(objects=request.getfixturevalue("bucket"))))
        yield way


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_files_go_with_a_message_and_come_back(
    transport: str,
    mode: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "casa.jpg").write_bytes(SMALL)
    (tmp_path / "film.mp4").write_bytes(LARGE)
    told: list[tuple[int, int]] = []
    with way_of(transport, mode, request) as way, (tmp_path / "film.mp4").open("rb") as film:
        ann, bob, do = way.client(), way.client("bob"), way.run
        chat = ann.named("trip")
        note = do(lambda: ann.upload(("note", b"Alfama"), content_type="text/markdown", name="note.md"))
        files = [tmp_path / "casa.jpg", film, ("Łódź.pdf", SMALL), note]
        said = do(lambda: chat.say("user", "Look:", files=files))

        shown = [(one.name, one.content_type, one.size) for one in said.attachments]
        assert shown == [
            ("casa.jpg", "image/jpeg", len(SMALL)),
            ("film.mp4", "video/mp4", len(LARGE)),
            ("Łódź.pdf", "application/pdf", len(SMALL)),
            ("note.md", "text/markdown", 6),
        ]
        contents = [do(lambda one=one: ann.read(one)) for one in said.attachments]
        assert contents == [SMALL, LARGE, SMALL, b"Alfama"]

        typed = {"content_type": "video/mp4", "progress": lambda *n: told.append(n)}
        known = do(lambda: ann.upload(("other", LARGE), **typed))
        assert (known.id, known.state, told) == (said.attachments[1].id, "ready", [])
        again = do(lambda: chat.turn("ai", "This one?", files=[known, said.attachments[0]]))
        assert [one.id for one in again.attachments] == [one.id for one in said.attachments[1::-1]]

        found = do(lambda: ann.download(known.id, tmp_path / "copy", progress=lambda *n: told.append(n)))
        assert (tmp_path / "copy").read_bytes() == LARGE
        assert (found.sha_256, told[-1]) == (hashlib.sha256(LARGE).hexdigest(), (len(LARGE), len(LARGE)))
        with pytest.raises(NotFoundError):
            do(lambda: bob.download(known, tmp_path / "stolen"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["casa.jpg", "copy", "film.mp4"]
    ours = (one.getMessage() for one in caplog.records if one.name.startswith(("http", "forklore")))
    assert not any(re.search(r"(?i)signature=\w", line) for line in ours)


def test_the_link_of_a_member_who_is_removed_is_dead_within_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        table_in_memory() as template,
        served(template) as url,
        Forklore(url, token="ann") as ann,
        Forklore(url, token="bob") as bob,
    ):
        chat = ann.create()
        chat.say("user", "Look:", files=[("casa.jpg", SMALL)])
        chat.share("bob", "reader")
        [shown] = bob.conversation(chat.id).entries().list()[-1].attachments
        link = bob.api.located(shown.url or "")
        assert httpx.get(link).content == bob.read(shown) == SMALL

        chat.unshare("bob")
        with pytest.raises(NotFoundError):
            bob.api.get_attachment(shown.id)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + LINK_SECONDS)
        assert httpx.get(link).status_code == 403
        with pytest.raises(NotFoundError):
            bob.read(shown)


class Faults(faulty.Proxy):
    """Plants `plan`, a fault for each request."""

    plan: Iterator[str] = iter(())

    def fault(self) -> str:
        return next(self.plan, "no_fault")


@contextmanager
def disturbed(*plan: str) -> Iterator[Forklore]:
    """Yield a client of a local server behind a proxy, which plants these faults in turn."""
    with table_in_memory() as template, served(template) as url, faulty.proxy(url, 0, Faults) as proxy:
        proxy.plan = iter(plan)  # type: ignore[attr-defined]
        with Forklore(proxy.url, token="ann") as client:
            yield client


@pytest.mark.parametrize(
    ("fault", "times"), [("answer_lost", 1), ("reset_after", 1), ("busy", 2), ("reset_before", 2)]
)
def test_bytes_are_sent_again_only_if_they_did_not_arrive(fault: str, times: int) -> None:
    told: list[int] = []

    with disturbed("no_fault", fault) as client:
        made = client.upload(("film.mp4", LARGE), progress=lambda done, _: told.append(done))

        assert (made.state, told.count(len(LARGE))) == ("ready", times)
        assert client.read(made) == LARGE


def test_a_download_that_is_cut_off_goes_on_where_it_was() -> None:
    told: list[int] = []
    content = io.BytesIO()

    with disturbed(*["no_fault"] * 4, "truncated") as client:
        made = client.upload(("film.mp4", LARGE))
        client.download(made, content, progress=lambda done, _: told.append(done))

    assert content.getvalue() == LARGE
    assert told == sorted(set(told))


def test_bytes_that_never_arrive_are_an_error_without_the_address() -> None:
    with (
        disturbed(*["no_fault", "reset_before"] * 9) as client,
        pytest.raises(NoAnswerError, match=r"the bytes of film\.mp4 have not arrived") as raised,
    ):
        client.with_options(retries=1).upload(("film.mp4", LARGE))

    assert "/files/" not in str(raised.value)


def test_bytes_that_come_and_go_slowly_end_with_the_budget_of_all_calls() -> None:
    told: list[int] = []

    def slowly(done: int, _: int) -> None:
        told.append(done)
        time.sleep(1)

    with disturbed() as client:
        made = client.upload(("film.mp4", LARGE))
        hurried = client.with_options(budget=1)
        with pytest.raises(NoAnswerError):
            hurried.download(made, io.BytesIO(), progress=slowly)
        with pytest.raises(NoAnswerError):
            client.with_options(budget=1).upload(("other.mp4", LARGE[::-1]), progress=slowly)

    assert len(LARGE) not in told


@pytest.mark.parametrize(
    "change", [lambda file: file.truncate(10), lambda file: file.write(bytes([LARGE[-1] ^ 1]))]
)
def test_a_file_that_changes_while_it_is_sent_is_no_attachment(
    tmp_path: Path, change: Callable[[Any], Any]
) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(LARGE)

    def progress(_done: int, _all: int) -> None:
        with path.open("r+b") as file:
            file.seek(len(LARGE) - 1)
            change(file)

    with disturbed() as client, pytest.raises(InputError, match=r"film\.mp4 has changed"):
        client.upload(path, progress=progress)


def test_what_is_no_file_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(ATTACHMENT_BYTES_MAX + 1)
    with Forklore("http://127.0.0.1:9", token="ann", retries=0) as client:
        chat = client.named("trip")
        wrong: list[tuple[Any, str]] = [
            (tmp_path / "none.jpg", "none.jpg: No such file or directory"),
            (tmp_path, f"{tmp_path.name}: Is a directory"),
            (tmp_path / "empty", "empty is empty"),
            (io.BytesIO(b"bytes"), "the file has no name"),
            (b"bytes", "a file is a path, a name with bytes, or open for reading bytes, not bytes"),
        ]
        for one, said in wrong:
            with pytest.raises(InputError, match=re.escape(said)):
                chat.say("user", "Look:", files=[one])
        with pytest.raises(InputError, match="files is a list"):
            chat.say("user", "Look:", files="casa.jpg")
        with pytest.raises(InputError, match="at most 10 files, not 11"):
            chat.say("user", "Look:", files=[("a", b"b")] * 11)
        with pytest.raises(TooLargeError, match="huge has more than 100,000,000 bytes"):
            client.upload(huge)
        with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'none'}: No such file")):
            client.download("0", tmp_path / "none" / "casa.jpg")


def test_a_pipe_is_read_once() -> None:
    read, write = os.pipe()
    os.write(write, b"Alfama")
    os.close(write)

    with Forklore.local(user="ann") as client, os.fdopen(read, "rb") as pipe:
        made = client.upload(pipe, name="note.txt")

        assert client.read(made) == b"Alfama"


def test_a_deployment_without_attachments_says_so() -> None:
    with (
        table_in_memory() as template,
        served(template) as url,
        given(wiring._given._replace(objects=None)),
        Forklore(url, token="ann") as client,
        pytest.raises(ConflictError, match="this deployment keeps no attachments") as raised,
    ):
        client.named("trip").say("user", "Look:", files=[("casa.jpg", SMALL)])

    assert raised.value.reason == "attachments_off"


def test_bytes_that_an_admin_has_removed_are_not_there() -> None:
    with Forklore.local(user="ann", roles=("admin",)) as client:
        said = client.conversation().say("user", "Look:", files=[("casa.jpg", SMALL)])
        [casa] = said.attachments
        client.api.admin_remove_attachment(casa.id)

        with pytest.raises(NotFoundError, match="it is removed"):
            client.read(casa)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("file:///etc/passwd", "https://forklore.example"),
        ("http://forklore.example/a", "https://forklore.example"),
        ("http://127.0.0.1:2375/containers/create", "https://forklore.example"),
        ("//forklore.example/a", "http://127.0.0.1:8080"),
        ("/files/a", None),
        ("file:///etc/passwd", None),
        ("http://forklore.example/a", None),
    ],
)
def test_an_address_that_is_not_safe_is_not_used_and_not_shown(url: str, base: str | None) -> None:
    with pytest.raises(UnexpectedAnswerError) as raised:
        located(url, base)

    assert url not in str(raised.value)


@contextmanager
def lying(**told: Any) -> Iterator[Forklore]:
    """Yield a client of a service that answers each call with an attachment of these members."""
    about = {"id": "a", "name": "a", "contentType": "image/png", "size": 4, "state": "ready"}
    answer = {**about, "createdAt": "2026-03-01T09:15:00.000Z", "sha256": "0" * 64, **told}
    asked = httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer))
    with (
        httpx2.Client(transport=asked) as sent,
        Forklore("https://forklore.example", token="ann", http=sent) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "told",
    [
        {"sha256": "../stolen"},
        {"sha256": "/etc/passwd"},
        {"sha256": "0" * 63},
        {"sha256": "0" * 64 + "\n"},
        {"sha256": 7},
        {"id": "../a"},
        {"id": "-rf"},
    ],
)
def test_an_id_or_a_hash_of_another_form_is_no_answer(told: dict[str, Any]) -> None:
    with lying(**told) as client, pytest.raises(UnexpectedAnswerError):
        client.api.get_attachment("a")


def test_a_service_does_not_choose_what_else_is_done_at_an_address() -> None:
    upload = {"method": "DELETE", "url": "https://127.0.0.1/a", "headers": {}, "expiresAt": ""}
    with lying(upload=upload) as client, pytest.raises(UnexpectedAnswerError, match="another method"):
        client.upload(("a", b"a"))


def test_more_bytes_than_the_service_has_told_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "endless").write_bytes(LARGE)
    found = AttachedFile(id="a", name="a", content_type="image/png", size=4)
    stream = io.BytesIO()
    with Target(stream) as target, pytest.raises(UnexpectedAnswerError, match="other bytes"):
        target.fetch((tmp_path / "endless").as_uri(), found, None, Options())

    assert stream.tell() == 0


@pytest.mark.parametrize("backend", ["asyncio", pytest.param("trio", marks=pytest.mark.long)])
def test_a_cancelled_task_sends_no_more(backend: str) -> None:
    told: list[int] = []

    async def main() -> bool:
        async with AsyncForklore.local(user="ann") as client:
            with anyio.CancelScope() as scope:

                def progress(done: int, _all: int) -> None:
                    told.append(done)
                    anyio.from_thread.run_sync(scope.cancel)

                await client.upload(("film.mp4", LARGE), progress=progress)
        return scope.cancelled_caught

    assert anyio.run(main, backend=backend)
    assert len(told) == 1
