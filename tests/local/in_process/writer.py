"""Writes to a folder until it is killed: `python -m tests.local.in_process.writer FOLDER START`.

Prints a line of JSON for each answered request, and for each that a signal interrupts.
"""

import itertools
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from forklore_local.in_process.service import EmbeddedService
from forklore_service.domain.model import Caller
from tests.local.in_process.asking import call

ANN = Caller("ann", "planner")


def entry(text: str) -> dict[str, Any]:
    return {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": text}]}


def say(**line: Any) -> None:
    """Print a line whole, whatever signal comes."""
    os.write(sys.stdout.fileno(), (json.dumps(line) + "\n").encode())


def done(service: EmbeddedService, operation: str, given: dict[str, Any]) -> Any:
    answer = call(service, operation, given, ANN)
    assert answer.status < 300, answer
    return json.loads(answer.text) if answer.text else None


def write(service: EmbeddedService, numbers: "itertools.count[int]") -> None:
    """Append large entries to a conversation, fork it, and delete other conversations, for ever."""
    chat = done(service, "createConversation", {"title": "kept"})["id"]
    say(made=chat)
    for number in numbers:
        made = done(service, "appendEntry", {"conversationId": chat, **entry(f"{number} " + "x" * 9_000)})
        say(conversation=chat, entry=made["id"], number=number)
        if number % 3 == 0:
            fork = done(service, "forkConversation", {"conversationId": chat, "atEntryId": made["id"]})
            say(made=fork["id"])
        if number % 5 == 0:
            gone = done(service, "createConversation", {"title": "soon gone"})["id"]
            done(service, "deleteConversation", {"conversationId": gone})
            say(deleted=gone)


def use_each_operation(service: EmbeddedService) -> None:
    """Let pydantic build its models. It takes a signal in the middle of that for an error."""
    chat = done(service, "createConversation", {"title": "gone at once"})["id"]
    done(service, "appendEntry", {"conversationId": chat, **entry("0")})
    done(service, "forkConversation", {"conversationId": chat})
    done(service, "deleteConversation", {"conversationId": chat})


class Interrupted:
    """Raises KeyboardInterrupt for SIGINT, at most once while `is_wanted`."""

    def __init__(self) -> None:
        self.is_wanted = False
        signal.signal(signal.SIGINT, self)

    def __call__(self, *_: object) -> None:
        if self.is_wanted:
            self.is_wanted = False
            raise KeyboardInterrupt


def main() -> None:
    """Write in two threads. What a signal interrupts in the main thread is given up."""
    folder, start = sys.argv[1:]
    interrupted = Interrupted()
    service = EmbeddedService.open(Path(folder))
    use_each_operation(service)
    first = itertools.count(int(start))
    threading.Thread(target=write, args=[service, itertools.count(int(start) + 500_000)], daemon=True).start()
    while True:
        try:
            interrupted.is_wanted = True
            write(service, first)
        except KeyboardInterrupt:
            say(interrupted=1)


if __name__ == "__main__":
    main()
