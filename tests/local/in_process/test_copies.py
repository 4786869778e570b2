"""Copies of a folder, made again and again, and the way back after all was lost."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from forklore import Forklore
from forklore.cli.commands.backup import _again_and_again
from forklore.cli.exits import CommandError
from forklore_local.in_process.bucket import Bucket, newest_in
from forklore_local.in_process.copies import add_copy, copies_in, make_of, name_at, put_back
from forklore_local.in_process.folder import FILE, DataError
from forklore_local.in_process.upkeep import damage_in
from tests.support.buckets import served_bucket
from tests.support.processes import PROJECT

BEGUN = datetime(2026, 3, 1, 9, 15, tzinfo=UTC)
WRITER = """\
import sys, time
from pathlib import Path
from forklore import Forklore
with Forklore.local(data=Path(sys.argv[1]), user="ann") as client:
    chat = client.named("trip")
    for number in range(100_000):
        chat.say("user", str(number))
        print(number, time.time(), flush=True)
"""


def said(folder: Path) -> list[str]:
    with Forklore.local(data=folder, user="ann") as client:
        return [str(entry.content[0]["text"]) for entry in client.named("trip").entries()]


def say(folder: Path, text: str) -> None:
    with Forklore.local(data=folder, user="ann") as client:
        client.named("trip").say("user", text)


def test_the_newest_copies_stay_and_the_newest_of_all_is_restored(tmp_path: Path) -> None:
    folder, place, to = tmp_path / "data", tmp_path / "copies", tmp_path / "new"
    for number in range(4):
        say(folder, str(number))
        add_copy(folder, place, keep=2, moment=BEGUN + timedelta(hours=number))
        (place / ".forklore-half").mkdir()
        (place / "notes").mkdir(exist_ok=True)

    assert [copy.name for copy in copies_in(place)] == [name_at(BEGUN + timedelta(hours=n)) for n in (2, 3)]
    assert put_back(place, to, is_good=lambda made: made != to) == copies_in(place)[-1]
    assert said(to) == ["0", "1", "2", "3"]
    to.rename(tmp_path / "newest")
    to.mkdir()
    put_back(copies_in(place)[0], to, is_good=lambda _made: True)
    assert said(to) == ["0", "1", "2"]
    late, _ = add_copy(folder, place, keep=1, moment=BEGUN)
    assert [copy.name for copy in copies_in(place)] == [late.name, name_at(BEGUN + timedelta(hours=3))]


def test_nothing_is_restored_over_anything_or_of_what_is_not_good(tmp_path: Path) -> None:
    folder, place, other = tmp_path / "data", tmp_path / "copies", tmp_path / "other"
    say(folder, "hello")
    add_copy(folder, place, keep=1, moment=BEGUN)
    other.mkdir()
    (other / "notes").touch()
    before = sorted(tmp_path.rglob("*"))

    for copy, to, told in (
        (place, folder, "stop what uses it"),
        (place, other, "has files"),
        (place, other / "notes", "has files"),
        (other, tmp_path / "new", "is no copy of forklore"),
    ):
        with pytest.raises(DataError, match=told):
            put_back(copy, to, is_good=lambda _made: True)
    assert put_back(place, tmp_path / "new", is_good=lambda _made: False) is None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_newest_copy_that_is_damaged_is_named_and_the_one_before_it(tmp_path: Path) -> None:
    folder, place = tmp_path / "data", tmp_path / "copies"
    for number in range(2):
        say(folder, "hello")
        add_copy(folder, place, keep=2, moment=BEGUN + timedelta(hours=number))
    before, newest = copies_in(place)
    (newest / FILE).write_bytes(b"no database" * 1000)

    with pytest.raises(DataError, match=f"{newest.name}: .*; the one before is .*{before.name}$"):
        put_back(place, tmp_path / "new", is_good=lambda _made: True)
    assert put_back(before, tmp_path / "new", is_good=lambda _made: True) == before


def test_copies_in_a_bucket_are_whole_kept_by_number_and_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, to, place = tmp_path / "data", tmp_path / "new", "s3://copies-of-ours/of/forklore"
    with served_bucket("copies-of-ours") as served:
        client = boto3.client(
            "s3",
            endpoint_url=served.meta.endpoint_url,
            region_name="eu-central-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        bucket = Bucket(f"{place}/", client)
        with Forklore.local(data=folder, user="ann") as chats:
            [file] = chats.named("trip").say("user", "0", files=[("a.txt", b"a text")]).attachments
        for number in range(1, 4):
            bucket.add(folder, keep=2, moment=BEGUN + timedelta(hours=number))
            say(folder, str(number))
        half, other = f"of/forklore/{name_at(BEGUN + timedelta(hours=9))}/x", "of/forklore/forklore-notes"
        for key in (half, other):
            client.put_object(Bucket="copies-of-ours", Key=key, Body=b"x")

        names = [name_at(BEGUN + timedelta(hours=number)) for number in (2, 3)]
        assert bucket.names() == names
        used, fetch = newest_in(place, client)
        assert used == f"{place}/{names[1]}"
        seen: list[set[str]] = []

        def is_good(made: Path) -> bool:
            seen.append({file.name for file in made.rglob("*") if file.is_file()})
            return damage_in(made) == []

        assert make_of(fetch, to, is_good=is_good)
        assert said(to) == ["0", "1", "2"]
        assert file.id in str(seen)
        _, fetch = newest_in(f"{place}/{names[0]}", client)
        make_of(fetch, tmp_path / "older", is_good=lambda _: True)
        assert said(tmp_path / "older") == ["0", "1"]

        bucket.add(folder, keep=1, moment=BEGUN + timedelta(hours=10))  # the half one is older
        left = {
            one["Key"].split("/")[2] for one in client.list_objects_v2(Bucket="copies-of-ours")["Contents"]
        }
        newest = name_at(BEGUN + timedelta(hours=10))
        assert left == {"forklore-notes", newest}
        bucket.add(folder, keep=1, moment=BEGUN)
        assert bucket.names() == [name_at(BEGUN), newest]
        for number, name in enumerate((f"../{FILE}", f"{tmp_path}/away")):
            client.put_object(Bucket="copies-of-ours", Key=f"of/forklore/{newest}/{name}", Body=b"x")
            _, fetch = newest_in(place, client)
            with pytest.raises(DataError, match="none of forklore's"):
                make_of(fetch, tmp_path / str(number), is_good=lambda _: True)
            client.delete_object(Bucket="copies-of-ours", Key=f"of/forklore/{newest}/{name}")
        assert not {tmp_path / "away", tmp_path / FILE} & {*tmp_path.iterdir()}
        for address, told in ((f"{place}/not", "has none"), ("s3://copies-of-others", "NoSuchBucket")):
            with pytest.raises(DataError, match=told):
                newest_in(address, client)
        with pytest.raises(DataError, match="NoSuchBucket"):
            Bucket("s3://copies-of-others", client).add(folder, keep=1, moment=BEGUN)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
        with pytest.raises(DataError, match="No such file"):
            bucket.add(folder, keep=1, moment=BEGUN)
    with pytest.raises(DataError, match="s3://BUCKET/PREFIX"):
        Bucket("s3://x")


def test_a_copy_that_fails_deletes_none(tmp_path: Path) -> None:
    folder, place = tmp_path / "data", tmp_path / "copies"
    say(folder, "hello")
    add_copy(folder, place, keep=1, moment=BEGUN)
    (folder / FILE).rename(folder / "away")

    with pytest.raises(DataError):
        add_copy(folder, place, keep=1, moment=BEGUN + timedelta(hours=1))
    assert [copy.name for copy in copies_in(place)] == [name_at(BEGUN)]


def forklore(*words: str) -> list[str]:
    return [sys.executable, "-m", "forklore.cli", *words]


def lost_by_a_kill(place: Path, *, period_s: int, chance: random.Random) -> tuple[int, float]:
    """Kill who writes and who copies at a random instant; restore, and look for what was said.

    Return how many acknowledged entries are lost, and over how many seconds before the kill.
    """
    data, copies, to = place / "data", place / "copies", place / "new"
    environ = {**os.environ, "PYTHONPATH": str(PROJECT)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(data)], env=environ, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout
    lines = [writer.stdout.readline()]
    copier = subprocess.Popen(
        forklore("backup", str(data), str(copies), "--every", f"{period_s}s", "--keep", "2"),
        env=environ,
        stderr=subprocess.DEVNULL,
    )
    while not copies_in(copies):
        lines.append(writer.stdout.readline())
    time.sleep(chance.uniform(0, 2.5 * period_s))
    killed_s = time.time()
    for process in (writer, copier):
        process.send_signal(signal.SIGKILL)
    lines += writer.stdout
    for process in (writer, copier):
        process.communicate()
    begun = datetime.strptime(copies_in(copies)[-1].name, "forklore-%Y-%m-%dT%H-%M-%S.%fZ").replace(
        tzinfo=UTC
    )
    done = subprocess.run(forklore("restore", str(copies), str(to)), env=environ, check=False)
    assert done.returncode == 0
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    kept = said(to)
    assert kept == [str(number) for number in range(len(kept))]
    assert len(kept) >= sum(float(at) < begun.timestamp() for _, at in acknowledged)
    return max(0, len(acknowledged) - len(kept)), killed_s - begun.timestamp()


@pytest.mark.long
@pytest.mark.failure("killed-embedded")
def test_what_was_said_before_the_newest_copy_is_there_after_all_was_killed(tmp_path: Path) -> None:
    for number in range(2):
        lost_by_a_kill(tmp_path / str(number), period_s=1, chance=random.Random(number))


def test_copies_that_take_longer_than_the_period_go_on() -> None:
    told: list[str] = []
    fails = iter([False, True, False])

    def copy() -> None:
        if next(fails):
            raise CommandError("away")

    shell: Any = SimpleNamespace(say=told.append)
    with pytest.raises(StopIteration):
        _again_and_again(shell, 0, copy)
    assert told == ["no copy: away; the next one is tried in its turn"]


def test_copies_and_a_restore_by_the_command_line(tmp_path: Path) -> None:
    folder, place = tmp_path / "data", tmp_path / "copies"
    say(folder, "hello")
    made = subprocess.run(
        forklore("backup", str(folder), str(place), "--keep", "3", "--json"), capture_output=True, check=True
    )
    assert Path(json.loads(made.stdout)["folder"]) == copies_in(place)[0]
    restored = subprocess.run(
        forklore("restore", str(place), str(tmp_path / "new")), capture_output=True, check=False
    )
    refused = subprocess.run(
        forklore("restore", str(place), str(folder)), capture_output=True, text=True, check=False
    )

    assert (restored.returncode, said(tmp_path / "new")) == (0, ["hello"])
    assert (refused.returncode, "stop what uses it" in refused.stderr) == (2, True)
