"""The vectors of a whole folder: they are counted, and made anew; one that is killed goes on."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from forklore import Forklore
from forklore.client.errors import ApiError
from forklore_local.in_process import embedding as rebuilding
from forklore_local.in_process.embedding import Embedding
from forklore_local.in_process.folder import DataError
from tests.local.in_process.test_killed import check
from tests.support import meaning
from tests.support.meaning import Model, by_length, vectors_of
from tests.support.processes import PROJECT

TOPICS, OTHER = "tests.support.meaning:vectors_of", "tests.support.meaning:by_length"
TEXTS = {"The inn.", "A hotel.", "A train.", "Sardine."}
"""What somebody shows and may be found. What nobody shows any more gets no vector."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with trees of two users, a removed branch, and an entry without text."""
    with Forklore.local(user="ann", client="planner", data=tmp_path) as fl:
        chat = fl.conversation()
        anchor = chat.say("user", "The inn.")
        chat.say("tool", " ")
        removed = chat.fork(after=anchor)
        shown = removed.say("ai", "A hotel.")
        removed.fork(after=shown).say("ai", "A train.")
        removed.say("ai", "What nobody shows.")
        removed.delete()
        fl.acting_as("bob").conversation().say("user", "Sardine.")
    return tmp_path


class KilledError(Exception):
    """The process ends here."""


def counted(folder: Path, named: str) -> tuple[int, int, list[int]]:
    with Embedding(folder, named) as embedding:
        found = embedding.count()
    return found.embedded, found.waiting, [*found.others.values()]


def rebuild(folder: Path, named: str, *, steps: int = 99) -> int:
    """Make vectors; after some steps the process is killed. Return of how many it has told."""
    told: list[int] = []

    def done(more: int) -> None:
        told.append(more)
        if len(told) == steps:
            raise KilledError

    with Embedding(folder, named) as embedding:
        embedding.rebuild(done)
    return sum(told)


def test_one_that_is_killed_goes_on_also_with_another_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "ENTRIES_AT_ONCE", 1)
    assert counted(folder, TOPICS) == (0, len(TEXTS), [])
    assert rebuild(folder, TOPICS) == len(TEXTS)
    assert (counted(folder, TOPICS), counted(folder, OTHER)) == ((4, 0, []), (0, 4, [4]))
    with pytest.raises(KilledError):
        rebuild(folder, OTHER, steps=1)
    assert (counted(folder, TOPICS), counted(folder, OTHER)) == ((3, 1, [1]), (1, 3, [3]))
    assert rebuild(folder, OTHER) == 3
    assert (counted(folder, OTHER), rebuild(folder, OTHER)) == ((4, 0, []), 0)
    assert rebuild(folder, TOPICS) == 4

    check(folder)


def test_a_recall_after_it_makes_no_vector(folder: Path) -> None:
    rebuild(folder, TOPICS)
    asked: list[str] = []

    def model(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return vectors_of(texts)

    with Forklore.local(user="ann", data=folder, recall=model) as fl:
        assert [hit.line.text for hit in fl.recall("lodging", limit=2)] == ["A hotel.", "The inn."]
    assert not TEXTS & {*asked}


class Noisy:
    """A model whose vectors of one text differ a little, as those of a service may."""

    def __init__(self, model: str | None = None, *, dimensions: int = 256) -> None:
        self.model, self._dimensions = model, dimensions
        self.asked: list[str] = []
        self._random = Random(1)

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        vectors = (one[: self._dimensions] for one in vectors_of(texts))
        return [[number + self._random.uniform(-1e-3, 1e-3) for number in one] for one in vectors]


def test_a_function_whose_vectors_of_one_text_differ_needs_a_name(folder: Path) -> None:
    with Forklore.local(user="ann", data=folder, recall=Noisy()) as fl:
        with pytest.raises(ApiError, match="set its attribute `model`") as raised:
            fl.recall("lodging")
        assert raised.value.code == "unavailable"
        assert [hit.line.text for hit in fl.search("lodging train", search_type="fulltext")] == ["A train."]
    first, again = Noisy("noisy 1"), Noisy("noisy 1")
    with (
        Forklore.local(user="ann", data=folder, recall=first) as fl,
        Forklore.local(user="ann", data=folder, recall=again) as same,
    ):
        for one in (fl, same):
            assert {hit.line.text for hit in one.recall("lodging", limit=2)} == {"The inn.", "A hotel."}
    assert TEXTS - {"Sardine."} <= {*first.asked}
    assert not TEXTS & {*again.asked}


@pytest.mark.parametrize("other", [Noisy("noisy 2"), Noisy("noisy 1", dimensions=8)])
def test_another_name_or_length_is_another_model(folder: Path, other: Noisy) -> None:
    with Forklore.local(user="ann", data=folder, recall=Noisy("noisy 1")) as fl:
        fl.recall("lodging")
        with (
            Forklore.local(user="ann", data=folder, recall=other) as others,
            pytest.raises(ApiError, match="the model noisy 1-"),
        ):
            others.recall("lodging")
    with Forklore.local(user="ann", data=folder, recall=other) as fl:
        assert len(fl.recall("lodging")) == 3


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("wordllama-2", "there is no model"),
        ("tests.support.meaning:nothing", "cannot be imported"),
        ("tests.support.meaning:TOPICS", "is no function"),
        (":", "cannot be imported"),
    ],
)
def test_what_is_no_model_is_told(folder: Path, named: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        Embedding(folder, named)


def test_a_folder_without_data_is_told_and_a_model_that_fails(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no data"):
        Embedding(tmp_path / "other", TOPICS)
    with Embedding(folder, "builtins:len") as embedding, pytest.raises(DataError, match="model of recall"):
        embedding.count()


def test_a_text_that_the_model_refuses_is_told_and_asked_for_again_only_by_a_rebuild(folder: Path) -> None:
    taken = Model()
    refusing = Model()
    refusing.refused = {"A hotel."}
    with Forklore.local(user="ann", data=folder, recall=refusing) as fl:
        fl.conversation().say("user", "The inn of Faro.")
        assert [hit.line.text for hit in fl.recall("lodging", limit=3)] == [
            "The inn of Faro.",
            "The inn.",
            "A train.",
        ]
    with Forklore.local(user="ann", data=folder, recall=taken) as fl:
        fl.recall("lodging")
    assert "A hotel." not in taken.asked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "vectors_of", refusing)
        with Embedding(folder, TOPICS) as embedding:
            found = embedding.count()
            assert (found.embedded, found.waiting, found.refused) == (3, 1, 1)
            embedding.rebuild(lambda _: None)
            assert (embedding.count().embedded, embedding.count().refused) == (4, 1)
    assert rebuild(folder, TOPICS) == 1
    assert counted(folder, TOPICS) == (5, 0, [])
    check(folder)


FULL = """\
import fcntl, resource, signal, sys
from pathlib import Path
from types import SimpleNamespace
from forklore_local.in_process.one_model import MODEL, OneModel
from forklore_service.errors import StoreFailedError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
one = OneModel(SimpleNamespace(model="m"), Path(sys.argv[1]))
try:
    one.keep()
except StoreFailedError as error:
    with open(Path(sys.argv[1], MODEL)) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    one.close()
    sys.exit(error.details["reason"])
"""


def test_a_model_that_cannot_be_noted_is_told_and_holds_up_no_other_program(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "failed\n")


def test_while_a_program_recalls_another_model_is_refused_in_the_folder(folder: Path) -> None:
    with Forklore.local(user="ann", data=folder, recall=Model()) as fl:
        assert rebuild(folder, OTHER) == 4
        assert len(fl.recall("lodging")) == 3
        with Forklore.local(user="ann", data=folder, recall=Model()) as same:
            assert len(same.recall("lodging")) == 3
        with Forklore.local(user="ann", data=folder, recall=by_length) as other:
            with pytest.raises(ApiError, match="another program recalls") as raised:
                other.recall("lodging")
            assert (raised.value.code, next(iter(other.search("+inn"))).line.text) == (
                "store_failed",
                "The inn.",
            )
        with pytest.raises(DataError, match="another program recalls"):
            rebuild(folder, OTHER)
        assert counted(folder, OTHER) == (1, 3, [3])
    assert rebuild(folder, OTHER) == 3
