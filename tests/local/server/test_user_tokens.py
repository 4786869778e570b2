import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from jwt.utils import base64url_decode

from forklore_local.server.user_tokens import UserTokens, add_user, list_users, remove_user
from forklore_service.credentials.api_keys import hash_of
from forklore_service.errors import UnavailableError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_a_token_is_good_from_the_moment_when_it_is_made_until_its_user_goes(file: Path) -> None:
    first = add_user(file, "zoë b")
    tokens = UserTokens(file)
    second, other = add_user(file, "zoë b"), add_user(file, "bob")

    assert [tokens.user_of(one) for one in (first, second, other)] == ["zoë b", "zoë b", "bob"]
    claims = base64url_decode(first.split(".")[1])  # by which the explorer knows the user
    assert json.loads(claims) == {"sub": "zoë b"}
    assert list_users(file) == [("bob", 1), ("zoë b", 2)]
    assert remove_user(file, "zoë b") == 2
    assert [tokens.user_of(one) for one in (first, second, other)] == [None, None, "bob"]
    assert remove_user(file, "zoë b") == 0


def test_the_file_holds_no_token_and_only_its_owner_reads_it(file: Path) -> None:
    token = add_user(file, "ann")

    assert token not in file.read_text()
    assert hash_of(token) in file.read_text()
    assert UserTokens(file).user_of(hash_of(token)) is None
    for _ in range(2):
        assert file.stat().st_mode & 0o777 == 0o600
        remove_user(file, "ann")


def test_a_file_that_is_shared_with_who_serves_stays_so(tmp_path: Path, file: Path) -> None:
    add_user(file, "ann")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 0, 12345)
    held, link = file.stat(), tmp_path / "link"
    link.symlink_to(file)

    assert remove_user(link, "ann") == 1

    assert link.is_symlink()
    assert list_users(file) == []
    assert file.stat().st_mode == held.st_mode
    assert file.stat().st_gid == held.st_gid
    assert set(tmp_path.iterdir()) == {file, link}


HASH = "0" * 64


@pytest.mark.parametrize("text", ["ann", "ann secret\n", f"{HASH[1:]} ann\n", f"{HASH} \n", f"{HASH} ann"])
def test_a_file_of_another_form_is_named_without_what_it_holds(file: Path, text: str) -> None:
    file.write_text(text)
    for use in (
        UserTokens,
        list_users,
        lambda path: add_user(path, "bob"),
        lambda path: remove_user(path, "ann"),
    ):
        with pytest.raises(ValueError, match=r"tokens: (the last )?line") as caught:
            use(file)
        assert "secret" not in str(caught.value)
    assert file.read_text() == text


@pytest.mark.parametrize("user", ["", " ", "a\nb", "a" * 256])
def test_what_is_no_user_id_gets_no_token(file: Path, user: str) -> None:
    with pytest.raises(ValueError, match="user's id"):
        add_user(file, user)
    assert not file.exists()


def test_a_file_that_is_gone_or_spoiled_meanwhile_lets_nobody_in_and_none_out_for_good(file: Path) -> None:
    token = add_user(file, "ann")
    tokens, kept = UserTokens(file), file.read_bytes()

    file.write_bytes(kept[:-1])
    with pytest.raises(UnavailableError):
        tokens.user_of(token)
    file.unlink()
    with pytest.raises(UnavailableError):
        tokens.user_of(token)
    file.write_bytes(kept)
    assert tokens.user_of(token) == "ann"


def test_who_adds_and_who_removes_at_the_same_moment_lose_nothing(file: Path) -> None:
    users = [f"user{number}" for number in range(12)]

    def come_and_go(user: str) -> None:
        add_user(file, f"{user} passing")
        assert remove_user(file, f"{user} passing") == 1

    with ThreadPoolExecutor(8) as threads:
        done = [threads.submit(work, user) for user in users for work in (come_and_go, _add_to(file))]
        for one in done:
            one.result()

    assert list_users(file) == [(user, 1) for user in sorted(users)]


def _add_to(file: Path) -> Callable[[str], object]:
    return lambda user: add_user(file, user)
