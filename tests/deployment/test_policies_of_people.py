"""The policies for who deploys and who restores: all that is needed, and nothing else."""

import json
import os
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.document import PROJECT, of_type, read_document, statements_by_function
from tests.support.emulator import SAM

DEPLOYER, ATTACHMENTS, RESTORER, BOUNDARY = (
    json.loads((PROJECT / "docs" / f"{name}-policy.json").read_text(encoding="utf-8"))
    for name in ("deployer", "attachments", "restorer", "boundary")
)
CHARACTERS_MAX = 6144
"""Of a managed policy, without white space (IAM quotas)."""
UNUSED = {
    # of kinds of resources that the template does not have, and of features that it does not use
    r"(ec2|elasticfilesystem|s3files|codedeploy|kinesis|firehose):.*",
    r"events:(Put|Remove)Permission",
    r"s3:(getObject|GetObjectMetadata|REST\.PUT\.OBJECT|DeleteObject|PutObjectAcl|PutBucket(Acl|Replication))",
    r"s3:(Put|Delete)(Bucket)?(Abac|Analytics|Inventory|Metrics|Notification|Replication|Website)(Configuration)?",
    r"s3:Put(Bucket)?(Accelerate|ObjectLock|Logging|Versioning|IntelligentTiering|Replication)(Configuration)?",
    r"s3(tables)?:(Create|Update|Put|Get|Delete)(BucketMetadata|Table|Namespace).*",
    # who may put them may delete them, too
    r"s3:DeleteBucket(Cors|Encryption|Lifecycle)",
    r"dynamodb:(.*TableReplica|ImportTable|DescribeImport|(Put|Delete)ResourcePolicy|Query|Scan)",
    r"dynamodb:(.*KinesisStreamingDestination|UpdateContributorInsights|.*Item)",
    r"iam:(CreateServiceLinkedRole|(Attach|Detach)RolePolicy)",
    r"lambda:(.*CodeSigningConfig|AssociateRuntimeAlias|PassCapacityProvider|PutFunctionScalingConfig)",
    r"lambda:(PutRuntimeManagementConfig|(Put|Delete)ProvisionedConcurrencyConfig|PutFunctionConcurrency)",
    r"logs:((Create|Put|Describe)Log(Stream|Events|Streams)|PutBearerTokenAuthentication)",
    r"logs:((Put|Delete)(DataProtection|Index|Resource)Policy|PutLogGroupDeletionProtection)",
    # with a key of one's own, its policy allows these: docs/operate.md, A key of your own
    r"kms:.*",
    # who may take the boundary off a role is not bound by it
    r"iam:DeleteRolePermissionsBoundary",
}
OF_BUCKETS = ("AWS::S3::Bucket s3:", "AWS::S3::BucketPolicy s3:")
READ = {"dynamodb:DescribeKinesisStreamingDestination", "lambda:GetFunctionCodeSigningConfig"}
"""What CloudFormation asks for whenever it reads a resource, also without the feature."""
BESIDE = {
    # what `sam deploy`, the access log, `make deploy` and the first domain name of an account need
    r"cloudformation:.*",
    r"s3:.*",
    r"logs:(Create|Delete|Get|List|Update)LogDeliver(y|ies)",
    r"logs:(PutResourcePolicy|DescribeResourcePolicies|DescribeLogGroups)",
    r"iam:(PassRole|CreateServiceLinkedRole)",
}


SHORTENED = {f"{service}:{verb}*" for service in ("cloudformation", "lambda") for verb in ("Get", "List")} | {
    "cloudformation:Describe*",
    "dynamodb:Describe*",
}
"""Actions that only read the stack, its functions and table, so that the policy fits into one."""


def actions(policy: dict[str, Any]) -> set[str]:
    return {action for statement in policy["Statement"] for action in statement["Action"]}


def allows(policy: dict[str, Any], action: str) -> bool:
    return any(fnmatchcase(action, one) for one in actions(policy))


def fits(action: str, patterns: set[str]) -> bool:
    return any(re.fullmatch(pattern, action) for pattern in patterns)


@pytest.fixture(scope="module")
def kinds(build: Path) -> dict[str, Any]:
    """What the registry says of each kind of resource, by the kind."""
    python = Path(os.environ.get(SAM, PROJECT / ".sam")) / "bin" / "python"
    script = Path(__file__).with_name("needed_permissions.py")
    done = subprocess.run(
        [str(python), str(script), str(build / "template.yaml")], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_deployer_may_make_change_and_delete_every_kind_of_resource(kinds: dict[str, Any]) -> None:
    missing = {
        kind: [
            action
            for action in one["actions"]
            if not allows(ATTACHMENTS if f"{kind} {action}".startswith(OF_BUCKETS) else DEPLOYER, action)
            and (action in READ or not fits(action, UNUSED))
        ]
        for kind, one in kinds.items()
    }

    assert {kind: names for kind, names in missing.items() if names} == {}
    assert len(kinds) >= 21


def test_a_deployer_may_do_nothing_that_no_resource_needs(kinds: dict[str, Any]) -> None:
    needed = {action for one in kinds.values() for action in one["actions"]}

    allowed = actions(DEPLOYER) | actions(ATTACHMENTS)
    unneeded = {one for one in allowed if not any(fnmatchcase(name, one) for name in needed)}
    assert sorted(one for one in unneeded if not fits(one, BESIDE)) == []


def test_the_page_names_the_kinds_that_take_no_tags(kinds: dict[str, Any]) -> None:
    page = (PROJECT / "docs/operate.md").read_text(encoding="utf-8")
    untaggable = {kind for kind, one in kinds.items() if not one["taggable"]}

    section = page.partition("\n## Tags for cost allocation\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(AWS::\w+::\w+)`", section)) == untaggable


@pytest.mark.parametrize("policy", [DEPLOYER, ATTACHMENTS, RESTORER, BOUNDARY])
def test_a_policy_names_actions_one_by_one_and_resources_by_the_stack(policy: dict[str, Any]) -> None:
    for one in policy["Statement"]:
        assert one["Effect"] == "Allow"
        assert {action for action in one["Action"] if "*" in action} <= SHORTENED
        assert one["Action"] == sorted(one["Action"])
        bound = [
            "STACK" in resource
            or re.search(r"::/(apis|domainnames|tags)|:event-source-mapping:\*$|aws-s|transform/", resource)
            for resource in one["Resource"]
        ]
        assert all(bound) or one["Sid"] in {"Polling", "AccessLog", "Key", "Model"}, one["Sid"]
    assert len(re.sub(r"\s", "", json.dumps(policy))) <= CHARACTERS_MAX
    sids = [one["Sid"] for one in policy["Statement"]]
    assert len(sids) == len(set(sids))


def test_a_role_is_only_passed_to_lambda() -> None:
    [passing] = [one for one in DEPLOYER["Statement"] if "iam:PassRole" in one["Action"]]

    assert passing["Action"] == ["iam:PassRole"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}


GIVES_RIGHTS = {
    *("iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRolePermissionsBoundary"),
    *("iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"),
}
"""Actions on a role that give it rights, or take away what limits them (IAM service authorization
reference: those with the condition key iam:PermissionsBoundary)."""


def test_a_deployer_gives_rights_only_to_roles_within_the_boundary() -> None:
    bounded = {"StringEquals": {"iam:PermissionsBoundary": "arn:aws:iam::ACCOUNT:policy/STACK-boundary"}}

    giving = [one for one in DEPLOYER["Statement"] if GIVES_RIGHTS & {*one["Action"]}]
    assert [one["Condition"] for one in giving] == [bounded]
    assert "iam:DeleteRolePermissionsBoundary" not in actions(DEPLOYER)
    assert not any(
        one.startswith("iam:") and "Policy" in one and "Role" not in one for one in actions(DEPLOYER)
    )


def test_the_boundary_allows_what_the_roles_of_the_template_need_and_nothing_else() -> None:
    document = read_document()
    needed = {
        action
        for statements in statements_by_function(document).values()
        for statement in statements
        for action in statement.actions
    }

    assert actions(BOUNDARY) == needed
    roles = of_type(document, "AWS::IAM::Role")
    assert [role["PermissionsBoundary"] for role in roles.values()] == len(roles) * [
        {"Fn::If": ["HasBoundary", {"Ref": "PermissionsBoundary"}, {"Ref": "AWS::NoValue"}]}
    ]
    [of_keys] = [one for one in BOUNDARY["Statement"] if one["Sid"] == "Key"]
    assert list(of_keys["Condition"]["StringEquals"]) == ["kms:ViaService"]
