"""A few conversations of several users, for tests of requests that go wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.harness.gateway import Answer, Gateway, Pairs

CONVERSATIONS = "/v1/conversations"
SEARCH = "/v1/conversations/search"
TRANSFERS = "/v1/ownership-transfers"
JSON = "application/json"


def conversation_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


ROOT, FORK, FOREIGN, BOUND, FRESH = (conversation_id(number) for number in range(1, 6))
"""Ann's root, its fork before its second entry, Bob's, one of Ann's planner, and an unused id."""

USED_KEY = "the key that made the root"

PLAIN: Mapping[str, Any] = {"contentType": "text/plain", "content": ["hello"]}
SAID: Mapping[str, Any] = {
    "channel": "history",
    "contentType": "history",
    "content": [{"role": "USER", "text": "hello"}],
}
NOTED: Mapping[str, Any] = {"channel": "context", "contentType": "note", "content": [{"kept": True}]}
PRESENT: Mapping[str, Any] = {"contentType": "note", "content": [{"kept": True}]}
"""An agent's present context, as an append carries it."""


def path_of(conversation: str) -> str:
    return f"{CONVERSATIONS}/{conversation}"


@dataclass(frozen=True)
class Ask:
    """A request. The world replaces `<name>` in it with the id that it keeps under that name."""

    method: str
    path: str
    body: Any = None
    query: str = ""
    headers: Pairs = ()
    user: str | None = "ann"
    agent: str | None = None


def create(body: Any, **more: Any) -> Ask:
    return Ask("POST", CONVERSATIONS, body, **more)


def change(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("PATCH", path_of(of), body, **more)


def append(body: Any, *, to: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(to)}/entries", body, **more)


def fork(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/fork", body, **more)


def promote(body: Any = None, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/promote", body, **more)


def score(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/scores", body, **more)


def merge(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/merge", body, **more)


def copy(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/copy", body, **more)


def show(conversation: str, **more: Any) -> Ask:
    return Ask("GET", path_of(conversation), **more)


def conversations(query: str = "", **more: Any) -> Ask:
    return Ask("GET", CONVERSATIONS, query=query, **more)


def find(body: Any, **more: Any) -> Ask:
    """Return a search."""
    return Ask("POST", SEARCH, body, **more)


def entries(query: str = "", *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("GET", f"{path_of(of)}/entries", query=query, **more)


def compare(query: str, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("GET", f"{path_of(of)}/compare", query=query, **more)


def forks(query: str = "", *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("GET", f"{path_of(of)}/forks", query=query, **more)


def children(query: str = "", *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("GET", f"{path_of(of)}/children", query=query, **more)


def memberships(query: str = "", *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("GET", f"{path_of(of)}/memberships", query=query, **more)


def share(body: Any, *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("POST", f"{path_of(of)}/memberships", body, **more)


def archive(*, of: str = ROOT, **more: Any) -> Ask:
    return Ask("PUT", f"{path_of(of)}/archive", **more)


def pin(query: str = "", *, of: str = ROOT, **more: Any) -> Ask:
    return Ask("PUT", f"{path_of(of)}/pin", query=query, **more)


def offer(body: Any, **more: Any) -> Ask:
    return Ask("POST", TRANSFERS, body, **more)


def transfers(query: str = "", **more: Any) -> Ask:
    return Ask("GET", TRANSFERS, query=query, **more)


def show_transfer(transfer: str, **more: Any) -> Ask:
    return Ask("GET", f"{TRANSFERS}/{transfer}", **more)


def end_transfer(transfer: str, **more: Any) -> Ask:
    return Ask("DELETE", f"{TRANSFERS}/{transfer}", **more)


def nested(levels: int) -> str:
    """Return the body of an append that is nested `levels` deep."""
    inner = levels - 2
    return '{"contentType":"x","content":[' + "[" * inner + "]" * inner + "]}"


def with_content(content: Any, **more: Any) -> dict[str, Any]:
    return {**PLAIN, "content": content, **more}


def with_message(**message: Any) -> dict[str, Any]:
    return {**SAID, "content": [{"role": "USER", **message}]}


def with_usage(text: str) -> str:
    return '{"contentType":"x","content":[],"usage":' + text + "}"


def tags(number: int) -> dict[str, str]:
    return {f"key{n}": "value" for n in range(number)}


def metadata(size: int, letter: str = "x") -> str:
    """Return a body whose metadata is `size` bytes of JSON text."""
    rest, width = size - len('{"a":""}'), len(letter.encode())
    return '{"metadata":{"a":"' + letter * (rest // width) + "x" * (rest % width) + '"}}'


class World:
    """The conversations. made: the ids that `<name>` stands for in a request."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.made: dict[str, str] = {}
        self.send(create({"id": ROOT, "title": "of Ann"}, headers=[("Idempotency-Key", USED_KEY)]))
        self.made["first"] = self._id_of(append(SAID))
        self.made["second"] = self._id_of(append(PLAIN))
        self.made["noted"] = self._id_of(append({**NOTED, "epoch": 5}, agent="planner"))
        self.send(fork({"id": FORK, "atEntryId": "<second>"}))
        self.made["of fork"] = self._id_of(append(SAID, to=FORK))
        self.send(create({"id": FOREIGN}, user="bob"))
        self.made["foreign"] = self._id_of(append(SAID, to=FOREIGN, user="bob"))
        self.send(create({"id": BOUND}, agent="planner"))
        self.send(share({"userId": "will", "accessLevel": "writer"}))
        self.send(share({"userId": "rita", "accessLevel": "reader"}))
        self.made["forks"] = self.send(forks("limit=1")).json["afterCursor"]
        self.made["forks of fork"] = self.send(forks("limit=1", of=FORK)).json["afterCursor"]
        self.made["conversations"] = self.send(conversations("limit=1")).json["afterCursor"]
        self.made["search"] = self.send(find({"query": "hello", "limit": 1})).json["afterCursor"]
        self.made["search of Bob"] = self.send(find({"query": "+hello", "limit": 1}, user="bob")).json[
            "afterCursor"
        ]
        self.send(create({"id": conversation_id(6)}, user="bob"))
        self.made["conversations of Bob"] = self.send(conversations("limit=1", user="bob")).json[
            "afterCursor"
        ]
        assert all(self.made.values()), self.made

    def send(self, ask: Ask) -> Answer:
        """Return the answer to a request of this world."""
        return self._gateway.send(
            ask.method,
            self.named(ask.path),
            body=self.named(ask.body),
            query=self.named(ask.query),
            headers=[(name, self.named(text)) for name, text in ask.headers],
            user=self.named(ask.user),
            agent=ask.agent,
        )

    def _id_of(self, ask: Ask) -> str:
        made: str = self.send(ask).json["id"]
        return made

    def named(self, part: Any) -> Any:
        """Return a part of a request with each `<name>` replaced by its id."""
        match part:
            case str():
                for name, held in self.made.items():
                    part = part.replace(f"<{name}>", held)
                return part
            case dict():
                return {name: self.named(held) for name, held in part.items()}
            case list():
                return [self.named(held) for held in part]
            case _:
                return part
