"""The built template on an emulator of CloudFormation, by `sam deploy`: `make deploy-emulated`."""

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
import yaml
from botocore.exceptions import ClientError

from forklore.mcp.on_lambda import METADATA
from forklore_local.server.token import AUDIENCE, ISSUER, development_key, key_set, make_token
from tests.deployment.document import of_type, read_document
from tests.deployment.test_emulated_restore import AT, EmulatedAws
from tests.support.emulator import STACK, Emulator, Response
from tools.deployment.account import find_account
from tools.deployment.forms import FORM, form_of
from tools.deployment.restore import intact, restore
from tools.deployment.upgrade import bucket_of, copied, go_back, start, upgrade
from tools.harness.runtime import PROCESSORS

API_KEY = "the planner's key"
PARAMETERS = {
    "Issuer": ISSUER,
    "Audience": AUDIENCE,
    "ApiKeyHashes": f"planner={hashlib.sha256(API_KEY.encode()).hexdigest()}",
    "Admins": "adam",
    "Events": "on",
    "Recall": "titan",
    "Attachments": "on",
    "Mcp": "on",
    "Architecture": PROCESSORS.get(platform.machine(), "x86_64"),
}
OTHER = {"arm64": "x86_64", "x86_64": "arm64"}[PARAMETERS["Architecture"]]
SAID = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "hello"}]}


ON = {"PublishesEvents", "HasModel", "KeepsAttachments", "ServesTools", None}
"""The conditions of the options that are on here; None: what is always there."""


class Deployed:
    """The stack, and requests to its API as a user."""

    def __init__(self, emulated: Emulator, build: Path, key_file: Path) -> None:
        self._key = development_key(key_file)
        self.emulated = emulated
        done = self.deploy(build)
        assert done.returncode == 0, done.stdout + done.stderr
        [self.stack] = emulated.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        self.outputs = {one["OutputKey"]: one["OutputValue"] for one in self.stack["Outputs"]}
        self._api_id = self.outputs["ApiAddress"].partition("//")[2].partition(".")[0]

    def deploy(self, build: Path) -> subprocess.CompletedProcess[str]:
        keys = json.dumps(key_set(self._key), separators=(",", ":"))
        return self.emulated.deploy(build, IssuerKeys=keys, **PARAMETERS)

    def send(
        self,
        method: str,
        path: str,
        *,
        user: str | None = "alice",
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        sent = dict(headers or {})
        if user is not None:
            token = make_token(user, self._key, issuer=ISSUER, audience=AUDIENCE, hours=1, now=time.time())
            sent |= {"Authorization": f"Bearer {token}", "X-API-Key": API_KEY}
        return self.emulated.request(self._api_id, method, path, body=body, headers=sent)


@pytest.fixture(scope="module")
def deployed(emulated: Emulator, build: Path, tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    return Deployed(emulated, build, tmp_path_factory.mktemp("issuer") / "key.pem")


def create(emulated: Emulator, build: Path, name: str, **changed: str) -> None:
    """Create a stack with the build's parameters and one queue. The whole template is too long."""
    template = {
        "Parameters": yaml.safe_load((build / "template.yaml").read_text(encoding="utf-8"))["Parameters"],
        "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
    }
    values = {**PARAMETERS, **changed}
    emulated.client("cloudformation").create_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("Issuer", "http://login.example.com/", "set Issuer to the https address"),
        ("Audience", "*", "set Audience to"),
        ("CorsOrigins", "*", "set CorsOrigins to https origins"),
        ("Admins", "alice,* *", "name user ids or patterns"),
        ("Architecture", OTHER, "value"),
    ],
)
def test_an_unsafe_value_stops_the_deployment_and_says_what_to_set(
    emulated: Emulator, build: Path, name: str, value: str, reason: str
) -> None:
    with pytest.raises(ClientError, match=f"CreateStack operation: Parameter '{name}' {reason}"):
        create(emulated, build, "unsafe", **{name: value})


def test_safe_values_can_be_deployed(emulated: Emulator, build: Path) -> None:
    create(emulated, build, "safe", Admins="ann lee,ops-*", CorsOrigins="https://app.example.com")


def test_every_resource_of_the_template_is_made(deployed: Deployed) -> None:
    pages = deployed.emulated.client("cloudformation").get_paginator("list_stack_resources")
    made = {
        one["LogicalResourceId"]: one["ResourceStatus"]
        for page in pages.paginate(StackName=STACK)
        for one in page["StackResourceSummaries"]
    }

    layers = of_type(
        read_document(), "AWS::Serverless::LayerVersion"
    )  # SAM adds a hash to the names of layers
    resources = read_document()["Resources"]
    optional = {name for name, one in resources.items() if one.get("Condition") not in ON}
    assert resources.keys() - layers.keys() - optional <= made.keys()
    assert optional.isdisjoint(made)
    assert set(made.values()) == {"CREATE_COMPLETE"}
    assert deployed.stack["StackStatus"] == "CREATE_COMPLETE"


def test_the_outputs_name_what_people_need(deployed: Deployed) -> None:
    outputs = read_document()["Outputs"]

    assert deployed.outputs.keys() == {name for name, one in outputs.items() if one.get("Condition") in ON}


def test_requests_go_through_the_authorizer_to_the_functions(deployed: Deployed) -> None:
    made = deployed.send("POST", "/v1/conversations", body={"title": "Hello"})
    conversation = f"/v1/conversations/{made.json['id']}"
    said = deployed.send("POST", f"{conversation}/entries", body=SAID)

    assert (made.status, made.json["ownerUserId"]) == (201, "alice")
    assert (said.status, said.json["userId"], said.json["clientId"]) == (201, "alice", "planner")
    assert deployed.send("GET", f"{conversation}/entries").json["data"] == [said.json]
    assert deployed.send("GET", conversation, user="mallory").status == 403
    assert [one["userId"] for one in deployed.send("GET", f"{conversation}/memberships").json["data"]] == [
        "alice"
    ]
    assert (
        deployed.send("GET", "/v1/admin/conversations", user="adam").json["data"][0]["id"] == made.json["id"]
    )
    assert deployed.send("GET", "/v1/admin/conversations").status == 403
    assert deployed.send("DELETE", conversation).status == 204
    assert deployed.send("GET", conversation).status == 404


def test_files_go_to_the_bucket_and_come_from_there(deployed: Deployed) -> None:
    content = b"\x89PNG" * 500_000
    said = {"name": "casa.png", "contentType": "image/png", "size": len(content)}
    said |= {"sha256": hashlib.sha256(content).hexdigest()}
    upload = deployed.send("POST", "/v1/attachments", body=said).json["upload"]
    sent = httpx.request(upload["method"], upload["url"], headers=upload["headers"], content=content)
    assert sent.is_success, sent.text
    made = deployed.send("POST", "/v1/attachments", body=said).json
    assert made["state"] == "ready"

    seen = [{"role": "USER", "text": "look", "attachments": [{"id": made["id"]}]}]
    conversation = deployed.send("POST", "/v1/conversations", body={}).json["id"]
    path = f"/v1/conversations/{conversation}/entries"
    [shown] = deployed.send("POST", path, body={**SAID, "content": seen}).json["attachments"]
    assert httpx.get(shown["url"]).content == content
    led = deployed.send("GET", f"/v1/attachments/{made['id']}/content")
    assert (led.status, httpx.get(led.headers["location"]).content) == (302, content)
    assert deployed.send("GET", f"/v1/attachments/{made['id']}", user="mallory").status == 404


def test_without_credentials_forklore_answers_401_and_health_is_public(deployed: Deployed) -> None:
    refused = deployed.send("GET", "/v1/conversations", user=None)

    assert (refused.status, refused.json["code"]) == (401, "unauthorized")
    assert refused.headers["www-authenticate"] == "Bearer"
    assert deployed.send("GET", "/v1/health", user=None).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nothing", 404), ("DELETE", "/v1/conversations", 405)]
)
def test_forklore_answers_requests_without_a_route(
    deployed: Deployed, method: str, path: str, status: int
) -> None:
    answer = deployed.send(method, path)

    assert answer.status == status
    assert answer.json["requestId"] == answer.headers["x-request-id"]


def test_the_tools_are_listed_for_callers_and_lead_others_to_the_issuer(deployed: Deployed) -> None:
    """The function itself cannot reach the API here: its address is one of AWS."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepted = {"Accept": "application/json, text/event-stream"}

    listed = deployed.send("POST", "/mcp", body=listing, headers=accepted)
    refused = deployed.send("POST", "/mcp", user=None, body=listing, headers=accepted)
    told = deployed.send("GET", METADATA, user=None)

    assert "say" in [one["name"] for one in listed.json["result"]["tools"]]
    assert (refused.status, refused.body) == (401, b"")
    assert refused.headers["www-authenticate"].endswith(f'{METADATA}"')
    assert told.json["authorization_servers"] == [ISSUER]
    assert told.json["resource"] == f"{deployed.outputs['ApiAddress']}/mcp"
    assert deployed.send("GET", "/mcp").status == 404


def test_agents_invoke_their_function_directly(deployed: Deployed) -> None:
    event = {"operation": "listConversations", "caller": {"userId": "alice"}}
    answer = deployed.emulated.client("lambda").invoke(
        FunctionName=deployed.outputs["AgentFunctionName"], Payload=json.dumps(event)
    )

    assert json.load(answer["Payload"])["status"] == 200


def test_a_restore_switches_the_service_to_the_restored_table_and_a_deployment_keeps_it(
    deployed: Deployed, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fsck. The emulator's CloudFormation does not turn on recovery, so that is done here."""
    made = deployed.send("POST", "/v1/conversations", body={"title": "Kept"})
    conversation = f"/v1/conversations/{made.json['id']}"
    said = deployed.send("POST", f"{conversation}/entries", body=SAID)
    old, dynamodb = deployed.outputs["TableName"], deployed.emulated.client("dynamodb")
    dynamodb.update_continuous_backups(
        TableName=old, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for name, value in deployed.emulated.environment.items():
        monkeypatch.setenv(name, value)
    aws = EmulatedAws(deployed.emulated)
    account = find_account("us-east-1", os.environ)

    new = restore(
        aws, STACK, AT, confirm=lambda _: True, check=lambda table: intact(table, account, os.environ)
    )

    [entry] = deployed.send("GET", f"{conversation}/entries").json["data"]
    assert entry == said.json
    added = deployed.send("POST", f"{conversation}/entries", body=SAID)
    assert added.status == 201
    holding = [
        dynamodb.scan(
            TableName=table,
            FilterExpression="contains(SK, :id)",
            ExpressionAttributeValues={":id": {"S": added.json["id"]}},
            Select="COUNT",
        )["Count"]
        for table in (new, old)
    ]
    assert holding == [1, 0]
    again = deployed.deploy(build)
    assert again.returncode == 0, again.stdout + again.stderr
    assert aws.table(STACK) == new
    assert len(deployed.send("GET", f"{conversation}/entries").json["data"]) == 2


def test_an_upgrade_moves_the_data_of_a_stage_that_is_used_and_leads_back(
    deployed: Deployed, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps of `make upgrade COPY=yes`, and of BACK=…, with the commands that they run."""
    made = deployed.send("POST", "/v1/conversations", body={"title": "Moved"})
    conversation = f"/v1/conversations/{made.json['id']}"
    said = deployed.send("POST", f"{conversation}/entries", body=SAID)
    for name, value in deployed.emulated.environment.items():
        monkeypatch.setenv(name, value)
    aws, account = EmulatedAws(deployed.emulated), find_account("us-east-1", os.environ)
    old, bucket = aws.table(STACK), bucket_of(aws, STACK)
    assert bucket
    dynamodb, seen = deployed.emulated.client("dynamodb"), list[object]()
    while len(seen) < 2 or seen[-1] != seen[-2]:  # the emulator lets functions write in the background
        time.sleep(2)
        seen.append(dynamodb.scan(TableName=old)["Items"])

    new = upgrade(
        aws,
        STACK,
        confirm=lambda _: True,
        copy=lambda source, target: copied(source, target, bucket, account, os.environ),
        check=lambda table: intact(table, account, os.environ),
        always=True,
    )
    moved = deployed.deploy(build)
    start(aws, STACK)

    assert moved.returncode == 0, moved.stdout + moved.stderr
    assert (aws.table(STACK), form_of(aws, new)) == (new, FORM)
    assert deployed.send("GET", f"{conversation}/entries").json["data"] == [said.json]
    assert deployed.send("POST", f"{conversation}/entries", body=SAID).status == 201

    go_back(aws, STACK, old, confirm=lambda _: True)
    start(aws, STACK)

    assert deployed.send("GET", f"{conversation}/entries").json["data"] == [said.json]
    assert deployed.send("POST", f"{conversation}/entries", body=SAID).status == 201
