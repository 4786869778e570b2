"""`forklore user`: who may use a server of one machine."""

import json
from pathlib import Path

from forklore.cli.exits import DONE, NOT_FOUND, USAGE
from forklore_local.server.user_tokens import UserTokens
from tests.clients.cli.running import Forklore


def test_a_token_is_printed_alone_listed_and_taken_away(run: Forklore, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    option = f"--token-file {file}"
    first = run(f"user add ann {option}")
    second = json.loads(run(f"user add ann {option} --json").out)

    assert first.code == DONE
    users = UserTokens(file)
    assert [users.user_of(one) for one in (first.out.strip(), second["token"])] == ["ann", "ann"]
    assert run(f"user ls {option}").out == "ann\t2\n"
    assert json.loads(run(f"user ls {option} --json").out) == {"type": "user", "userId": "ann", "tokens": 2}
    assert run(f"user rm ann {option}").code == DONE
    assert run(f"user rm ann {option}").code == NOT_FOUND
    assert users.user_of(second["token"]) is None


def test_a_wrong_line_is_told(run: Forklore, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled"
    spoiled.write_text("ann\n")
    for line in ("add ann", f"add --token-file {spoiled}", f"ls ann --token-file {spoiled}", "ls"):
        assert run(f"user {line}").code == USAGE
    assert "line 1" in run(f"user ls --token-file {spoiled}").err
