"""Conversations whose entries have one-letter names, so that a view is one line of text."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Self
from uuid import uuid4

from tests.service.http.client import Json, Service
from tests.service.model.asking import Caller

CONTEXT = "context"
HISTORY = "history"
TOLD_MAX = 200
TELLING_SECONDS_MAX = 600.0


class Story:
    """The entries of one agent, named `D`, or `(D)` for context. ids: the id of each name."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.agent = Caller(service.new_user(), "planner")
        self.ids: dict[str, str] = {}

    def tell(self, names: str, *, into: str | None = None, **fork: str) -> str:
        """Append the named entries one by one; return the conversation's id.

        fork: the `forkedAt…` fields, if this creates a fork.
        """
        conversation_id = into or str(uuid4())
        for name in names.split():
            made = self.service.get(self.agent, "appendEntry", conversation_id, body=entry(name) | fork)
            self.ids[name.strip("()")] = made["id"]
        return conversation_id

    def fork(self, source_id: str, **body: Json) -> str:
        """Fork with the fork route; return the fork's id."""
        made: str = self.service.get(self.agent, "forkConversation", source_id, body=body)["id"]
        return made

    def shown(self, conversation_id: str, **query: Json) -> str:
        """Return the names of the entries that a query shows. Checks that paging has no effect."""
        ways = [{"limit": 1000}, {"limit": 2}, {"limit": 1000, "tail": True}, {"limit": 3, "tail": True}]
        whole, *paged = (self.service.entries(self.agent, conversation_id, **way, **query) for way in ways)
        assert all(other == whole for other in paged), (whole, paged)
        return self.names([entry["id"] for entry in whole])

    def seen(self, conversation_id: str) -> list[str]:
        """Return the ids of the entries that the conversation shows."""
        return [entry["id"] for entry in self.service.entries(self.agent, conversation_id, limit=1000)]

    def names(self, entry_ids: list[str]) -> str:
        names = {entry_id: name for name, entry_id in self.ids.items()}
        return " ".join(names[entry_id] for entry_id in entry_ids)


class Telling:
    """Appends E0, E1, … in a thread until the `with` block ends. told: the names so far."""

    def __init__(self, story: Story, into: str) -> None:
        self.told: list[str] = []
        self._story = story
        self._into = into
        self._ends = Event()
        self._thread = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._done = self._thread.submit(self._tell)
        return self

    def __exit__(self, *_: object) -> None:
        with self._thread:
            self._ends.set()
            self._done.result(TELLING_SECONDS_MAX)

    def _tell(self) -> None:
        while not self._ends.is_set() and len(self.told) < TOLD_MAX:
            name = f"E{len(self.told)}"
            self._story.tell(name, into=self._into)
            self.told.append(name)


def entry(name: str) -> dict[str, Json]:
    channel = CONTEXT if name.startswith("(") else HISTORY
    if channel == CONTEXT:
        return {"channel": channel, "contentType": "application/json", "content": [name]}
    return {"channel": channel, "contentType": "history", "content": [{"role": "USER", "text": name}]}
