"""All of `make deploy` on an emulator of CloudFormation, without a person, as CI runs it."""

import json
import platform
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from forklore_local.server.token import development_key, key_set
from tests.deployment.document import PROJECT, read_document
from tests.support.emulator import Emulator, emulated_template
from tools.deployment.samconfig import read_stage
from tools.harness.runtime import PROCESSORS

STAGE, STACK = "emulated", "forklore-emulated"
ISSUER = "https://login.example.com/"
CERTIFICATE = "arn:aws:acm:us-east-1:000000000000:certificate/12345678-1234-1234-1234-123456789012"
KEY = "arn:aws:kms:us-east-1:000000000000:key/12345678-1234-1234-1234-123456789012"
OPTIONS = {
    "SnapStart": "on",
    "DomainName": "chat.example.com",
    "CertificateArn": CERTIFICATE,
    "DisableDefaultEndpoint": "true",
    "KmsKeyArn": KEY,
}


SET = {name: str(one.get("Default")) for name, one in read_document()["Parameters"].items()} | OPTIONS
"""The parameters of a deployment with these options."""
TOLD = [
    "JustificationRequired",
    "UserRequestsPerMinute",
    "LogUsers",
    "KmsKeyArn",
    "Attachments",
    "AttachmentMegabytes",
    "AttachmentsPerUser",
    "EntriesPerConversation",
    "Recall",
]
"""The parameters that the description of a version tells, so that a change makes another one."""


class Stage:
    """A stage whose samconfig.toml is `file`."""

    def __init__(self, emulated: Emulator, build: Path, file: Path) -> None:
        self.emulated = emulated
        self.build = build
        self.file = file
        file.write_text((PROJECT / "samconfig.toml").read_text(encoding="utf-8"), encoding="utf-8")

    def deploy(self, **variables: str) -> subprocess.CompletedProcess[str]:
        words = [f"{name}={value}" for name, value in variables.items()]
        return subprocess.run(
            ["make", "deploy", f"STAGE={STAGE}", f"SAMCONFIG={self.file}", "CONFIRM=no", *words],
            cwd=PROJECT,
            env=self.emulated.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def deployed(self, **variables: str) -> dict[str, str]:
        """Deploy, with the template as the emulator takes it. Return the stack's resources."""
        text = self.file.read_text(encoding="utf-8")
        with emulated_template(self.build) as template:
            section = f"[{STAGE}.deploy.parameters]\n"
            assert section in text
            line = f'template_file = "{template}"\n'
            if line not in text:
                self.file.write_text(text.replace(section, section + line), encoding="utf-8")
            done = self.deploy(**variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.resources()

    def resources(self) -> dict[str, str]:
        pages = self.emulated.client("cloudformation").get_paginator("list_stack_resources")
        return {
            one["LogicalResourceId"]: one["PhysicalResourceId"]
            for page in pages.paginate(StackName=STACK)
            for one in page["StackResourceSummaries"]
        }

    def published(self, function: str) -> list[dict[str, Any]]:
        """Return the published versions of a function, oldest first."""
        found = self.emulated.client("lambda").list_versions_by_function(FunctionName=function)["Versions"]
        return [one for one in found if one["Version"] != "$LATEST"]


@pytest.fixture(scope="module")
def stage(emulated: Emulator, build: Path, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(emulated, build, tmp_path_factory.mktemp("stage") / "samconfig.toml")


def test_without_an_audience_nothing_is_built_or_deployed(stage: Stage) -> None:
    done = stage.deploy(ISSUER=ISSUER)

    assert done.returncode == 2
    assert "Audience is missing: set Audience to the claim aud" in done.stderr
    assert "Building" not in done.stdout


def test_a_deployment_that_fails_keeps_the_answers_and_says_how_to_go_on(stage: Stage) -> None:
    """The emulator cannot make alarms of several metrics, so this deployment fails midway."""
    architecture = PROCESSORS.get(platform.machine(), "x86_64")
    failed = stage.deploy(ISSUER=ISSUER, AUDIENCE="forklore", ARCHITECTURE=architecture, TAGS="team=chat")
    again = stage.deploy()

    kept = read_stage(stage.file.read_text(encoding="utf-8"), STAGE)
    assert (failed.returncode, again.returncode) == (2, 2)  # make's
    assert "ROLLBACK_COMPLETE" in failed.stdout + failed.stderr
    assert f"sam delete --stack-name {STACK} --region us-east-1" in again.stderr
    assert kept.parameters == {"Issuer": ISSUER, "Audience": "forklore", "Architecture": architecture}
    assert (kept.region, kept.tags) == ("us-east-1", "team=chat")


def test_it_is_deployed_with_the_kept_answers_and_all_options(stage: Stage) -> None:
    stage.emulated.client("cloudformation").delete_stack(StackName=STACK)
    made = stage.deployed(PARAMETERS=" ".join(f"{name}={value}" for name, value in OPTIONS.items()))

    [version] = stage.published(made["EntriesFunction"])
    alias = stage.emulated.client("lambda").get_alias(FunctionName=made["EntriesFunction"], Name="live")
    [stack] = stage.emulated.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
    integrations = stage.emulated.client("apigatewayv2").get_integrations(ApiId=made["Api"])["Items"]
    assert version["SnapStart"]["ApplyOn"] == "PublishedVersions"
    assert version["Description"].split()[1:] == [made["Table"], *(SET[name] for name in TOLD)]
    assert alias["FunctionVersion"] == version["Version"]
    assert {one["IntegrationUri"].rpartition(":")[2] for one in integrations} == {"live/invocations"}
    assert {"Key": "team", "Value": "chat"} in stack["Tags"]
    assert outputs["ApiAddress"] == "https://chat.example.com"
    assert outputs["DomainTarget"].endswith(".amazonaws.com")
    assert stage.emulated.request(made["Api"], "GET", "/v1/health").status == 200


@pytest.mark.failure("stale-settings")
def test_a_changed_parameter_makes_a_new_version_that_the_alias_takes(stage: Stage) -> None:
    """The values arrive as they were given, also with spaces, quotes and commas."""
    values = {
        "JustificationRequired": "true",
        "Admins": "ann lee,ops-*,o'neil",
        "IssuerKeys": json.dumps(key_set(development_key(stage.file.with_name("key.pem")))),
        "RolesClaim": "https://example.com/roles",
    }
    made = stage.deployed(PARAMETERS=" ".join(f"{name}={shlex.quote(one)}" for name, one in values.items()))

    authorizer = stage.emulated.client("lambda").get_function_configuration(
        FunctionName=made["AuthorizerFunction"]
    )
    told = authorizer["Environment"]["Variables"]
    assert [told[f"FORKLORE_{name}"] for name in ("ADMINS", "ISSUER_KEYS", "ROLES_CLAIM")] == [
        values[name] for name in ("Admins", "IssuerKeys", "RolesClaim")
    ]
    versions = stage.published(made["EntriesFunction"])
    alias = stage.emulated.client("lambda").get_alias(FunctionName=made["EntriesFunction"], Name="live")
    assert versions[-1]["Environment"]["Variables"]["FORKLORE_JUSTIFICATION_REQUIRED"] == "true"
    assert alias["FunctionVersion"] == versions[-1]["Version"]
    assert stage.emulated.request(made["Api"], "GET", "/v1/health").status == 200


def test_without_the_options_the_routes_lead_to_the_functions_again(stage: Stage) -> None:
    off = {**dict.fromkeys(OPTIONS, ""), "SnapStart": "off", "DisableDefaultEndpoint": "false"}
    made = stage.deployed(PARAMETERS=" ".join(f"{name}={value}" for name, value in off.items()))

    integrations = stage.emulated.client("apigatewayv2").get_integrations(ApiId=made["Api"])["Items"]
    assert not [one for one in integrations if "live" in one["IntegrationUri"]]
    assert {"EntriesAlias", "EntriesVersion", "Domain"}.isdisjoint(made)
    assert stage.emulated.request(made["Api"], "GET", "/v1/health").status == 200
