import json
from typing import Any

import httpx
import pytest

from tests.tools.demo.builders import SOUP, ask, counting_ids, tree_of
from tools.demo.client import Client, RefusedError
from tools.demo.load import load_tree
from tools.demo.plan import plan_tree


class Server:
    """Accepts appends with the entry ids e0, e1, …, and refuses the append number `refuse`."""

    def __init__(self, *, refuse: int | None = None) -> None:
        self.appends: list[tuple[str, Any]] = []
        self.keys: list[str] = []
        self._refuse = refuse
        self.client = Client("http://test", user="ann", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        number = len(self.appends)
        if number == self._refuse:
            return httpx.Response(409, json={"code": "group_full"})
        self.appends.append((request.url.path.split("/")[3], json.loads(request.content)))
        self.keys.append(request.headers["Idempotency-Key"])
        return httpx.Response(201, json={"id": f"e{number}"})


def test_each_message_is_appended_once_in_its_conversation_and_only_first_ones_fork() -> None:
    server = Server()
    done: list[None] = []

    loaded = load_tree(
        server.client, plan_tree(tree_of(SOUP)), new_id=counting_ids(), on_append=lambda: done.append(None)
    )

    assert loaded.conversation_ids == ("id0", "id1", "id2", "id3", "id4")
    assert loaded.entry_ids == tuple(f"e{number}" for number in range(11))
    assert len(done) == 11
    assert [
        (
            conversation_id,
            body["content"][0]["role"],
            body["content"][0]["text"],
            body.get("forkedAtConversationId"),
            body.get("forkedAtEntryId"),
        )
        for conversation_id, body in server.appends
    ] == [
        ("id0", "USER", "flat soup?", None, None),
        ("id0", "AI", "lemon", None, None),
        ("id0", "USER", "too sour", None, None),
        ("id0", "AI", "honey", None, None),
        ("id1", "AI", "sugar", "id0", "e3"),
        ("id1", "USER", "thanks", None, None),
        ("id2", "AI", "roast it", "id0", "e1"),
        ("id2", "USER", "how long?", None, None),
        ("id2", "AI", "3 minutes", None, None),
        ("id3", "AI", "until sweet", "id2", "e8"),
        ("id4", "AI", "herbs", "id0", "e1"),
    ]


def test_every_append_has_a_key_of_its_own() -> None:
    server = Server()

    load_tree(server.client, plan_tree(tree_of(SOUP)), new_id=counting_ids(), on_append=lambda: None)

    assert len(set(server.keys)) == 11


def test_a_refused_append_ends_the_loading() -> None:
    server = Server(refuse=1)

    with pytest.raises(RefusedError, match="409 group_full"):
        load_tree(server.client, plan_tree(tree_of(SOUP)), new_id=counting_ids(), on_append=lambda: None)
    assert len(server.appends) == 1


def test_a_prompt_alone_is_one_append() -> None:
    server = Server()

    loaded = load_tree(
        server.client, plan_tree(tree_of(ask("a"))), new_id=counting_ids(), on_append=lambda: None
    )

    assert (loaded.conversation_ids, loaded.entry_ids) == (("id0",), ("e0",))
