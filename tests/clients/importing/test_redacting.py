"""What looks like a key is left out with `--redact`, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import pytest

from forklore.importing.redacting import without_keys
from tests.clients.cli.running import Forklore
from tests.support.growth import takes_at_most

LETTERS = "0123456789abcdefghijABCDEFGHIJ0123456789"
KEYS = {  # put together here, so that nobody takes this file for a leak
    "aws": "AKIA" + "ABCDEFGH01234567",
    "github": "ghp_" + LETTERS,
    "anthropic": "sk-" + "ant-api03-" + LETTERS,
    "slack": "xoxb-" + "0123456789-abcdef",
    "google": "AIza" + LETTERS[:35],
    "jwt": "eyJ" + "hbGciOiJI" + ".eyJ" + "zdWIiOiIx" + "." + LETTERS,
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----",
}
"""Made up, in the forms of their makers."""
MADE_UP = "abc123def456"


@pytest.mark.parametrize("maker", KEYS)
def test_a_key_is_left_out_wherever_it_stands(maker: str) -> None:
    key = KEYS[maker]

    assert without_keys(f"use {key}, then go") == f"use {'*' * len(key)}, then go"
    assert key not in without_keys(f"KEY={key}\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password: hunter2hunter", "password: *************"),
        ('{"api_key": "abc123def456"}', '{"api_key": "************"}'),
        (r"{\"apiKey\": \"abc123def456\"}", r"{\"apiKey\": \"************\"}"),
        (r"password=ab\c1234567", "password=***********"),
        ("https://ann:s3cret@example.com/a", "https://**********@example.com/a"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer ****************"),
    ],
)
def test_a_value_behind_a_name_is_left_out(text: str, left: str) -> None:
    assert without_keys(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 12000000",
        "The password is long.",
        "a4f1c9d2e8b7a6f5c4d3e2f1a0b9c8d7e6f5a4b3",
        "https://example.com:8080/a@b",
        "task-0123456789abcdefghijklmnop",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert without_keys(text) == text


def test_looking_for_keys_takes_time_in_proportion_to_the_length() -> None:
    for part in ("token", "eyJa-", "sk-", "-----BEGIN PRIVATE KEY-----", "https://a", "secret=a1"):
        few, many = part * 1_000, part * 8_000

        assert takes_at_most(24, lambda: without_keys(many), than=lambda: without_keys(few)), part  # noqa: B023


def test_nothing_of_a_key_is_stored_and_parts_keep_their_places(run: Forklore, tmp_path: Path) -> None:
    key = KEYS["github"]
    call: dict[str, Any] = {
        "name": "login",
        "arguments": json.dumps({"password": "hunter2hunter", "as": {key: [key, {"clientSecret": MADE_UP}]}}),
    }
    told = [
        {"role": "user", "content": f"The key is {key}."},
        {
            "role": "assistant",
            "content": f"I use {key} now.",
            "reasoning_content": f"{key}?",
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": f"token={key}"},
    ]
    source = tmp_path / "talk.json"
    source.write_text(json.dumps({"id": "t", "title": f"On {key}", "messages": told}))

    ran = run(f"import '{source}' --redact")
    again = run(f"import '{source}'", {"FORKLORE_REDACT": "1"})

    [row] = run("ls --json").lines
    log = run(f"log {json.loads(row)['id']} --json")
    assert "value that looks like a key: 3" in ran.err
    assert key not in row + log.out
    assert "hunter2hunter" not in log.out
    assert MADE_UP not in log.out
    answer = next(one for line in log.lines if (one := json.loads(line)["content"][0])["role"] == "AI")
    assert answer["text"] == f"I use {'*' * len(key)} now."
    assert "3 of them from an earlier import" in again.err
