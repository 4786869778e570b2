"""An import finds again what an earlier version has imported, under the ids and keys of then."""

import json
from pathlib import Path

import pytest

import forklore
from tests.clients.cli.running import Forklore

HERE = Path(__file__).parent
EARLIER = HERE / "earlier"
SOURCES = {
    "claude-code": HERE / "programs" / "claude-code",
    "codex": HERE / "programs" / "codex",
    "sillytavern": EARLIER / "sillytavern-chat.jsonl",
}
_ENTRIES = {
    "forkedAtEntryId": "forkedAtConversationId",
    "startedByEntryId": "startedByConversationId",
}
"""They name an entry by its key, in what was recorded, and its conversation."""


def imported_earlier(folder: Path, kind: str) -> int:
    """Let a store hold what an earlier version has imported; return how many entries."""
    ids: dict[tuple[str, str], str] = {}
    with forklore.Forklore.local(user="ann", data=folder) as client:
        for line in (EARLIER / f"{kind}.jsonl").read_text().splitlines():
            given = json.loads(line)
            given |= {name: ids[given[of], given[name]] for name, of in _ENTRIES.items() if name in given}
            answer = client.call("appendEntry", given)
            assert answer.status in (200, 201), answer.text
            added = json.loads(answer.text)["data"]
            ids |= {(entry["conversationId"], entry["key"]): entry["id"] for entry in added}
    return len(ids)


@pytest.mark.parametrize("kind", SOURCES)
def test_nothing_that_an_earlier_version_has_imported_is_doubled(kind: str, tmp_path: Path) -> None:
    count = imported_earlier(tmp_path / "data", kind)
    run = Forklore(("--data", str(tmp_path / "data"), "--user", "ann"), {"HOME": str(tmp_path)})
    before = {line.split("\t")[1] for line in run("ls --all").lines}

    ran = run(f"import '{SOURCES[kind]}'")

    entries, found = (int(part.split()[-1].replace(",", "")) for part in _counts(ran.err))
    assert found == entries
    assert entries <= count
    assert {line.split("\t")[1] for line in run("ls --all").lines} == before


def _counts(told: str) -> tuple[str, str]:
    """Return what stands before `entries`, and before `of them`."""
    line = next(line for line in told.splitlines() if " entries" in line)
    entries, _, rest = line.partition(" entries, ")
    return entries, rest.partition(" of them")[0]
