"""Writes to a folder until it is killed: `python -m tests.embedded.writer FOLDER START`.

Prints a line of JSON for each answered request.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from forklore.domain.model import Caller
from forklore.embedded.service import EmbeddedService

ANN = Caller("ann", "planner")
_ONE_AT_A_TIME = threading.Lock()


def entry(text: str) -> dict[str, Any]:
    return {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": text}]}


def say(**line: Any) -> None:
    with _ONE_AT_A_TIME:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def done(service: EmbeddedService, operation: str, given: dict[str, Any]) -> Any:
    answer = service.call(operation, given, ANN)
    assert answer.status < 300, answer
    return json.loads(answer.text) if answer.text else None


def write(service: EmbeddedService, start: int) -> None:
    """Append large entries to a conversation, fork it, and delete other conversations."""
    chat = done(service, "createConversation", {"title": f"from {start}"})["id"]
    say(made=chat)
    for number in range(start, start + 10_000):
        made = done(service, "appendEntry", {"conversationId": chat, **entry(f"{number} " + "x" * 9_000)})
        say(conversation=chat, entry=made["id"], number=number)
        if number % 3 == 0:
            fork = done(service, "forkConversation", {"conversationId": chat, "atEntryId": made["id"]})
            say(made=fork["id"])
        if number % 5 == 0:
            gone = done(service, "createConversation", {"title": "soon gone"})["id"]
            done(service, "deleteConversation", {"conversationId": gone})
            say(deleted=gone)


def main() -> None:
    folder, start = sys.argv[1:]
    service = EmbeddedService.open(Path(folder))
    threads = [threading.Thread(target=write, args=[service, int(start) + at]) for at in (0, 100_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    raise SystemExit("a writer must be killed")


if __name__ == "__main__":
    main()
