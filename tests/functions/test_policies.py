"""Each function does exactly what the template allows. moto does not check permissions."""

import json
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from moto import mock_aws

from forklore_local.server.files import ServedObjects
from forklore_local.server.invocation import invoke, load_handler
from forklore_service.api import operations
from forklore_service.aws.wiring import Given, open_table
from forklore_service.domain import ids, keys, rate
from forklore_service.domain.attachments import File
from forklore_service.domain.model import JobKind
from forklore_service.errors import UnavailableError
from forklore_service.events.changes import Change
from forklore_service.storage import actions
from forklore_service.storage.connection import Connection
from forklore_service.storage.schema import BY_MEANING
from forklore_service.usecases.background import sweeper
from tests.deployment.document import PROJECT, read_document, statements_by_function
from tests.service.aws.direct import Direct
from tests.service.aws.story import tell
from tests.service.aws.test_both_ways import by_http, directly
from tests.service.events.buses import Heard
from tests.service.events.recording import record_of
from tests.support.meaning import nearness
from tools.catalogue import PHOTO, SAID, Step
from tools.deployment.template import read_template
from tools.harness.gateway import Gateway, given, store_in_memory
from tools.harness.sample_events import sample_event
from tools.harness.service import OPERATIONS

VERBS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
CALLS = {
    "scan": "Scan",
    "query": "Query",
    "search_vectors": "SearchVectors",
    "batch_get_item": "BatchGetItem",
    "batch_write_item": "BatchWriteItem",
    "update_item": "UpdateItem",
}
OF_OBJECTS = {
    "upload": {"PutObject"},
    "store": {"PutObject"},
    "holds": {"GetObject", "ListBucket"},
    "link": {"GetObject"},
    "delete": {"DeleteObject"},
}
"""What S3 asks of who calls a method of the objects, or signs an address by it (S3 user guide)."""
TABLE, BY_CONVERSATION, ALL_TREES, BUCKET = "Table", "byConversation", "allTrees", "AttachmentsBucket"
RESOURCES = (BY_CONVERSATION, ALL_TREES, BY_MEANING, BUCKET)

AGENT, WORKER, SWEEP, PUBLISH = "AgentFunction", "DeleteGroupFunction", "SweepFunction", "PublishFunction"
EMBED = "EmbedFunction"
ROUNDS = 5
"""Rounds of sweep and worker: a child tree is deleted one round after its parent tree."""

Actions = set[tuple[str, str]]
"""Pairs of a verb and the table or index that it is used on."""


def allowed() -> Mapping[str, Actions]:
    """Return the actions on the table and the bucket that the template allows each function.

    They have no prefix.
    """
    return {
        name: {
            (verb, _named(one))
            for statement in statements
            for service, _, verb in (action.partition(":") for action in statement.actions)
            for one in statement.resources
            if service in ("dynamodb", "s3") and "/stream/" not in str(one)  # Lambda itself reads the stream
        }
        for name, statements in statements_by_function(read_document()).items()
    }


def _named(resource: Any) -> str:
    """Return the table, the index or the bucket that an entry of `Resource` means."""
    text = str(resource)
    return next((one for one in RESOURCES if one in text), TABLE)


@contextmanager
def noted(calls: Actions, *, transactions: int | None = None) -> Iterator[None]:
    """Record in `calls` the actions on the functions' table and bucket inside the `with` block.

    A store that another test has left may still be at work beside it.
    transactions: how many may succeed. Any further one fails, as if no time were left.
    """
    call, functions = Connection.call, open_table().connection.client
    left = transactions

    def note(self: Connection, operation: str, deadline: Any, **parameters: Any) -> dict[str, Any]:
        nonlocal left
        if self.client is not functions:
            return call(self, operation, deadline, **parameters)
        if operation == "transact_write_items":
            if left == 0:
                raise UnavailableError("time is up")
            left = None if left is None else left - 1
            calls.update((VERBS[verb], TABLE) for part in parameters["TransactItems"] for verb in part)
        else:
            calls.add((CALLS[operation], parameters.get("IndexName", TABLE)))
        return call(self, operation, deadline, **parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "call", note)
        for name, verbs in OF_OBJECTS.items():
            patch.setattr(ServedObjects, name, _noting(getattr(ServedObjects, name), verbs, calls))
        yield


def _noting(method: Callable[..., Any], verbs: set[str], calls: Actions) -> Callable[..., Any]:
    """Return a method of the objects that records what it needs."""

    def call(*arguments: Any, **named: Any) -> Any:
        calls.update((verb, BUCKET) for verb in verbs)
        return method(*arguments, **named)

    return call


class Service:
    """The functions, with what each has done.

    is_direct: whether `agent` answers all requests.
    """

    def __init__(self, gateway: Gateway, *, is_direct: bool) -> None:
        self.done: dict[str, Actions] = defaultdict(set)
        self._gateway = gateway
        self._direct = Direct(gateway.template) if is_direct else None
        self._handlers = {one.name: (one, load_handler(one)) for one in gateway.template.functions}

    def tell(self) -> None:
        """Tell the story of the catalogue, which uses every operation."""
        told_to = directly(self._direct) if self._direct else by_http(self._gateway)
        serving = {route.key: one.name for one in self._gateway.template.functions for route in one.routes}

        def ask(step: Step) -> tuple[int, Any]:
            one = OPERATIONS[step.operation]
            name = AGENT if self._direct else serving[f"{one.method} {one.path}"]
            with noted(self.done[name]):
                return told_to(step)

        tell(ask)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "ann",
        status: int = 200,
        transactions: int | None = None,
    ) -> Any:
        """Send a request of a user's agent; return the body of the answer.

        status: the answer must have the same first digit.
        """
        path, _, query = path.partition("?")
        function, event = self._gateway.event(method, f"/v1/{path}", query=query)
        name = AGENT if self._direct else function.name
        with noted(self.done[name], transactions=transactions):
            if self._direct:
                answered = self._direct.send(_direct_request(event, body, user=user))
                found, answer = answered["status"], answered["body"]
            else:
                sent = self._gateway.send(
                    method, f"/v1/{path}", query=query, user=user, agent="planner", body=body
                )
                found, answer = sent.status, json.loads(sent.text or "null")
        assert found // 100 == status // 100, (method, path, answer)
        return answer

    def work_off(self) -> None:
        """Run the sweep and the worker until no job is left."""
        [record] = sample_event("deleteGroup")["Records"]
        # A creation ends while the sweep runs: the sweep finds its job, but no tree in the making.
        ended = actions.job.put(JobKind.CREATION, str(uuid.uuid4()), at=ids.timestamp(0))
        open_table().commit([ended])
        said = ("ann", "text/plain", 1, "0" * 64, "old.txt")
        old = File(ids.fresh_id(0, 1), ids.timestamp(0), *said, due=ids.timestamp(0))
        open_table().commit(actions.attachment.put(old, "ann", in_place_of=None))
        for _ in range(ROUNDS):
            self._run(SWEEP, sample_event("sweep"))
            jobs = [
                row
                for kind in ("delete", "transfer", "prune", "erase")
                for row in open_table().query(keys.jobs_range(kind))
            ]
            bodies = [_message(row["leasedUntil"]["S"], *keys.in_job(row["SK"]["S"])) for row in jobs]
            if bodies:
                records = [record | {"body": body} for body in bodies]
                assert self._run(WORKER, {"Records": records}) == {"batchItemFailures": []}
        for kind in set(JobKind) - {JobKind.UPLOAD}:  # an upload keeps its job for a day
            assert list(open_table().query(keys.jobs_range(kind))) == [], kind

    def publish(self, group_id: str) -> None:
        """Publish the creation of a root, item by item, so that the rest of the write is read."""
        wanted = [keys.conversation(group_id, group_id), keys.head(group_id, group_id)]
        found = open_table().items_at(wanted)
        for key in wanted:
            record = record_of(Change(key, None, found[key], ids.timestamp(0)))
            assert self._run(PUBLISH, {"Records": [record]}) == {"batchItemFailures": []}

    def embed(self, group_id: str) -> None:
        """Make the vectors of a root, whose creation the stream tells."""
        head = keys.head(group_id, group_id)
        record = record_of(Change(head, None, open_table().items_at([head])[head], ids.timestamp(0)))
        assert self._run(EMBED, {"Records": [record]}) == {"batchItemFailures": []}

    def _run(self, name: str, event: Any) -> Any:
        with noted(self.done[name]):
            return invoke(*self._handlers[name], event)


def _message(lease: str, kind: str, group_id: str, conversation_id: str | None, _due: str | None) -> str:
    """Return a message from the worker that has the lease."""
    branch = {} if conversation_id is None else {"conversationId": conversation_id}
    return json.dumps({"groupId": group_id, "kind": kind, "lease": lease, **branch})


def _direct_request(event: Mapping[str, Any], body: Any, *, user: str) -> dict[str, Any]:
    """Return the direct invocation that does the same as the event."""
    [name] = [one.name for one in operations.ROUTES if f"{one.method} {one.path}" == event["routeKey"]]
    roles = ["admin"] if user == "adam" else []
    caller = {"userId": user, "clientId": "planner", "roles": roles}
    return {
        "operation": name,
        "caller": caller,
        "input": {
            **event.get("pathParameters", {}),
            **event.get("queryStringParameters", {}),
            **(body or {}),
        },
    }


def trees() -> list[str]:
    """Return four ids: a tree, its child, a child of the child, and a tree that is abandoned."""
    return [str(uuid.uuid4()) for _ in range(4)]


def use_everything(service: Service) -> None:
    """Use every operation, and leave every kind of job for the sweep and the worker."""
    service.tell()
    ask = service.ask
    parents = []
    for number in (1, 2):
        group, child, grandchild, never_live = trees()
        parents.append(group)
        ask("POST", f"conversations/{group}/entries", SAID)
        for at in range(55 if number == 1 else 3):  # more members than one transaction can copy to a child
            body = {"userId": f"user {at}", "accessLevel": "reader"}
            ask("POST", f"conversations/{group}/memberships", body)
        for parent, started in ((group, child), (child, grandchild)):
            ask("POST", f"conversations/{started}/entries", {**SAID, "startedByConversationId": parent})
        given_up = {**SAID, "startedByConversationId": group}
        if number == 1:
            ask("POST", f"conversations/{never_live}/entries", given_up, transactions=2, status=503)
        ask("PATCH", f"conversations/{group}/memberships?userId=user%201", {"accessLevel": "writer"})
        ask("PATCH", f"conversations/{group}", {"title": "z"}, user="user 1")
        ask("DELETE", f"conversations/{group}/memberships?userId=user%202")
        ask("POST", "names", {"name": "n", "conversationId": group})
        ask("POST", f"conversations/{group}/fork", {"name": {"name": "n"}})
        branch = ask("POST", f"conversations/{group}/fork", {})["id"]
        ask("POST", f"conversations/{branch}/entries", SAID)
        ask("DELETE", f"conversations/{branch}?scope=branch")
    mine, other = parents
    photo = ask("POST", "attachments", PHOTO)["id"]
    ask("POST", "attachments", {name: PHOTO[name] for name in PHOTO if name != "content"}, user="user 1")
    shown = {"role": "USER", "text": "look", "attachments": [{"id": photo}]}
    ask("POST", f"conversations/{mine}/entries", {**SAID, "content": [shown]})
    for _ in range(2):  # the second tree finds the shelf of the first
        ask("POST", "conversations/search", {"query": "look", "includeEntry": True})
        ask("POST", f"conversations/{uuid.uuid4()}/entries", SAID)
    ask("POST", "admin/conversations/search", {"query": "look", "userId": "ann"}, user="adam")
    offer = {"conversationId": mine, "newOwnerUserId": "user 1"}
    transfer = ask("POST", "ownership-transfers", offer)["id"]
    ask("POST", f"ownership-transfers/{transfer}/accept", user="user 1", transactions=1)
    service.work_off()
    transfer = ask("POST", "ownership-transfers", {**offer, "newOwnerUserId": "ann"}, user="user 1")["id"]
    ask("POST", f"ownership-transfers/{transfer}/accept")
    erasure = ask("POST", "admin/erasures", {"userId": "user 3"}, user="adam")["id"]
    service.work_off()
    assert ask("GET", f"admin/erasures/{erasure}", user="adam")["state"] == "done"
    service.publish(mine)
    unseen = str(uuid.uuid4())
    ask("POST", f"conversations/{unseen}/entries", SAID)
    service.embed(unseen)
    ask("DELETE", f"conversations/{mine}")
    ask("DELETE", f"admin/conversations/{other}", user="adam")
    service.work_off()


@pytest.fixture(scope="module")
def done() -> Mapping[str, Actions]:
    """The actions of each function on the table and the bucket."""
    found: dict[str, Actions] = {}
    for is_direct in (False, True):
        with (
            store_in_memory() as store,
            given(Given(store.new_client, objects=store.objects, nearness=nearness(), by_meaning=True)),
            mock_aws(),
            pytest.MonkeyPatch.context() as patch,
        ):
            os.environ["FORKLORE_DIRECT_ROLES"] = "allowed"
            os.environ["FORKLORE_DELETE_WAIT_SECONDS"] = "0"
            os.environ["FORKLORE_USER_REQUESTS_PER_MINUTE"] = "1000000"
            os.environ["FORKLORE_RETENTION_DAYS"] = "1"
            patch.setattr(sweeper, "CREATION_SECONDS_MAX", -1)
            heard = Heard()
            os.environ["FORKLORE_EVENT_BUS"] = heard.name
            os.environ["FORKLORE_PARKED_EVENTS"] = os.environ["FORKLORE_PARKED_VECTORS"] = heard.parked_url
            patch.setattr(rate, "UNCOUNTED_MAX", 1)  # each request is counted when it comes
            template = read_template(PROJECT / "template.yaml")
            gateway = Gateway(template, FORKLORE_ADMINS="adam", FORKLORE_AUDITORS="aude")
            service = Service(gateway, is_direct=is_direct)
            use_everything(service)
        for name, done_by in service.done.items():
            found.setdefault(name, set()).update(done_by)
    return found


def test_no_function_does_anything_that_the_template_does_not_allow(done: Mapping[str, Actions]) -> None:
    policies = allowed()

    assert {
        name: actions - policies[name] for name, actions in done.items() if actions - policies[name]
    } == {}


def test_the_template_allows_no_function_an_action_that_it_never_uses(done: Mapping[str, Actions]) -> None:
    policies = allowed()

    assert policies.keys() - done.keys() == {"AuthorizerFunction", "McpFunction"}
    assert {
        name: policies[name] - actions for name, actions in done.items() if policies[name] - actions
    } == {}
