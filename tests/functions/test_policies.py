"""What each function does to the table, held against what the template allows: moto allows everything."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from forklore.storage.connection import Connection
from tests.deployment.document import read_document, statements_by_function
from tests.edge.gateway import Answer, Gateway, table_on_moto

VERBS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
CALLS = {"query": "Query", "batch_get_item": "BatchGetItem", "batch_write_item": "BatchWriteItem"}
PARENT, CHILD, OTHER = (f"0000000{n}-0000-4000-8000-000000000000" for n in (1, 2, 3))
SAID = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hello"}]}
TABLE, BY_CONVERSATION, ALL_TREES = "Table", "byConversation", "allTrees"

Actions = set[tuple[str, str]]
"""(verb, the table or index it is for)."""


def allowed() -> Mapping[str, Actions]:
    """Return what the template allows each function, without the prefix `dynamodb:`."""
    return {
        name: {
            (verb, _named(one))
            for statement in statements
            for service, _, verb in (action.partition(":") for action in statement.actions)
            for one in statement.resources
            if service == "dynamodb"
        }
        for name, statements in statements_by_function(read_document()).items()
    }


def _named(resource: Any) -> str:
    """Return the table or the index that an entry of `Resource` means."""
    text = str(resource)
    return next((index for index in (BY_CONVERSATION, ALL_TREES) if index in text), TABLE)


@contextmanager
def noted(calls: Actions) -> Iterator[None]:
    """Note in `calls` what is asked of DynamoDB meanwhile."""
    call = Connection.call

    def note(self: Connection, operation: str, deadline: Any, **parameters: Any) -> dict[str, Any]:
        if operation == "transact_write_items":
            calls.update((VERBS[verb], TABLE) for part in parameters["TransactItems"] for verb in part)
        else:
            calls.add((CALLS[operation], parameters.get("IndexName", TABLE)))
        return call(self, operation, deadline, **parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "call", note)
        yield


class Watched:
    """The functions, with what each has done."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.done: dict[str, Actions] = defaultdict(set)

    def __call__(self, method: str, path: str, body: Any = None, *, user: str = "ann") -> Answer:
        function, _ = self._gateway.event(method, f"/v1/{path}")
        with noted(self.done[function.name]):
            answer = self._gateway.send(method, f"/v1/{path}", user=user, body=body)
        assert answer.status < 300, (method, path, answer.text)
        return answer


def test_no_function_does_what_the_template_does_not_let_it_do() -> None:
    with table_on_moto() as read:
        ask = Watched(Gateway(read, FORKLORE_ADMINS="adam"))
        for group in (PARENT, OTHER):
            ask("POST", f"conversations/{group}/entries", SAID)
            ask("POST", f"conversations/{group}/fork", {})
            for number in range(60):
                body = {"userId": f"user {number}", "accessLevel": "reader"}
                ask("POST", f"conversations/{group}/memberships", body)
            child = CHILD if group == PARENT else CHILD.replace("2", "4", 1)
            started = {**SAID, "startedByConversationId": group}
            ask("POST", f"conversations/{child}/entries", started)
            ask("PATCH", f"conversations/{group}", {"title": "x"})
            ask("PATCH", f"conversations/{group}/memberships/user%201", {"accessLevel": "writer"})
            ask("DELETE", f"conversations/{group}/memberships/user%202")
            for path in ("", "/entries", "/forks", "/children", "/memberships"):
                ask("GET", f"conversations/{group}{path}")
                ask("GET", f"admin/conversations/{group}{path}", user="adam")
            ask("GET", "conversations")
            ask("GET", "admin/conversations", user="adam")
        offer = {"conversationId": PARENT, "newOwnerUserId": "user 1"}
        transfer = ask("POST", "ownership-transfers", offer).json["id"]
        ask("GET", "ownership-transfers")
        ask("DELETE", f"ownership-transfers/{transfer}")
        transfer = ask("POST", "ownership-transfers", offer).json["id"]
        ask("POST", f"ownership-transfers/{transfer}/accept", user="user 1")
        ask("DELETE", f"conversations/{PARENT}", user="user 1")
        ask("DELETE", f"admin/conversations/{OTHER}", user="adam")

    policies = allowed()
    assert {name: done - policies[name] for name, done in ask.done.items() if done - policies[name]} == {}
    assert ask.done.keys() == {"ConversationsFunction", "EntriesFunction", "SharingFunction", "AdminFunction"}
    assert ("DeleteItem", TABLE) in ask.done["EntriesFunction"], "a staged child ends its job"
    every = set().union(*ask.done.values())
    assert every <= policies["AgentFunction"]


def test_no_function_may_do_what_is_none_of_forklores_verbs() -> None:
    for name, actions in allowed().items():
        assert {verb for verb, _ in actions} <= {*VERBS.values(), *CALLS.values()}, name
