"""Rules for the template: permissions, authorization, what is kept, alarms and parameters."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from forklore.mcp.on_lambda import METADATA
from forklore_service.api.operations import (
    admin,
    answer_logs,
    attachments,
    conversations,
    copying,
    entries,
    linked,
    names,
    notes,
    search,
    sharing,
)
from forklore_service.aws import telemetry
from forklore_service.aws.wiring import Consumption
from forklore_service.storage.bedrock import COHERE, TITAN
from forklore_service.storage.table import GROUP_GIGABYTES_MAX
from tests.deployment.document import (
    FUNCTION,
    PROJECT,
    Properties,
    of_type,
    read_document,
    resource_of,
    statements_by_function,
    with_options,
    without_options,
)
from tests.support.lines import metrics_of as of_line
from tests.support.lines import reading_lines

DOCUMENT = read_document()
PARAMETERS: Mapping[str, Properties] = DOCUMENT["Parameters"]
FUNCTIONS = of_type(DOCUMENT, FUNCTION)
ROUTES = of_type(DOCUMENT, "AWS::ApiGatewayV2::Route")
ALARMS = of_type(DOCUMENT, "AWS::CloudWatch::Alarm")
QUEUES = of_type(DOCUMENT, "AWS::SQS::Queue")
ROLES = of_type(DOCUMENT, "AWS::IAM::Role")
[TABLE] = of_type(DOCUMENT, "AWS::DynamoDB::Table").values()

SERVED = {
    "ConversationsFunction": (*conversations.OPERATIONS, *search.OPERATIONS),
    "EntriesFunction": (
        *entries.OPERATIONS,
        *answer_logs.OPERATIONS,
        *copying.OPERATIONS,
        *linked.OPERATIONS,
        *names.OPERATIONS,
        *attachments.OPERATIONS,
        *attachments.CONTENT_ROUTES,
    ),
    "SharingFunction": (*sharing.OPERATIONS, *sharing.BY_PATH, *notes.OPERATIONS),
    "AdminFunction": admin.OPERATIONS,
}
"""The operations that each function of the HTTP API serves."""
TOOLS = {"POST /mcp": "mcp", f"GET {METADATA}": "mcpMetadata"}
"""The routes of the tools for agents, which call those operations."""
BUCKET, OBJECTS = "!GetAtt AttachmentsBucket.Arn", "!Sub ${AttachmentsBucket.Arn}/*"
MODEL = "!If " + str(
    [
        "AsksCohere",
        *(
            {"Fn::Sub": f"arn:${{AWS::Partition}}:bedrock:${{AWS::Region}}::foundation-model/{model}"}
            for model in (COHERE, TITAN)
        ),
    ]
)
BY_MEANING = "!Sub ${Table.Arn}/index/byMeaning"
MAY_RECALL = {MODEL: {"bedrock:InvokeModel"}, BY_MEANING: {"dynamodb:SearchVectors"}}
STREAM = "!Sub ${Table.Arn}/stream/*"
READS_THE_STREAM = {
    f"dynamodb:{verb}" for verb in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
}
BESIDE_THE_TABLE = {
    "ConversationsFunction": {
        "!GetAtt JobsQueue.Arn": {"sqs:SendMessage"},
        OBJECTS: {"s3:GetObject"},
        **MAY_RECALL,
    },
    "EntriesFunction": {OBJECTS: {"s3:GetObject", "s3:PutObject"}, BUCKET: {"s3:ListBucket"}},
    "AdminFunction": {
        "!GetAtt JobsQueue.Arn": {"sqs:SendMessage"},
        OBJECTS: {"s3:DeleteObject", "s3:GetObject"},
        **MAY_RECALL,
    },
    "SharingFunction": {"!GetAtt JobsQueue.Arn": {"sqs:SendMessage"}},
    "AgentFunction": {
        "!GetAtt JobsQueue.Arn": {"sqs:SendMessage"},
        "!GetAtt AgentFailures.Arn": {"sqs:SendMessage"},
        OBJECTS: {"s3:DeleteObject", "s3:GetObject", "s3:PutObject"},
        BUCKET: {"s3:ListBucket"},
        **MAY_RECALL,
    },
    "DeleteGroupFunction": {
        "!GetAtt JobsQueue.Arn": {
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:SendMessage",
        },
        OBJECTS: {"s3:DeleteObject"},
    },
    "SweepFunction": {"!GetAtt JobsQueue.Arn": {"sqs:SendMessage"}, OBJECTS: {"s3:DeleteObject"}},
    "PublishFunction": {
        "!GetAtt EventBus.Arn": {"events:PutEvents"},
        "!GetAtt ParkedEvents.Arn": {"sqs:SendMessage"},
        STREAM: READS_THE_STREAM,
    },
    "EmbedFunction": {
        "!GetAtt ParkedVectors.Arn": {"sqs:SendMessage"},
        STREAM: READS_THE_STREAM,
        MODEL: {"bedrock:InvokeModel"},
    },
    "AuthorizerFunction": {},
    "McpFunction": {},
}
"""What each role allows apart from its log and the table, by resource.

tests/functions/test_policies.py tests what it allows on the table."""
TABLE_AND_INDEXES = {
    "!GetAtt Table.Arn",
    "!Sub ${Table.Arn}/index/byConversation",
    "!Sub ${Table.Arn}/index/allTrees",
}


def short(value: Any) -> str:
    """Return a tag in its short form, so that a difference can be read."""
    [(name, inner)] = value.items()
    return f"!{name.removeprefix('Fn::')} {inner}"


def texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value, without keys of mappings."""
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from texts(one)
        case list():
            for one in value:
                yield from texts(one)


def route_target(route: Properties) -> str:
    """Return the function that a route leads to."""
    integration = re.fullmatch(r"integrations/\$\{(\w+)\}", route["Target"]["Fn::Sub"])
    assert integration is not None, route
    found = of_type(DOCUMENT, "AWS::ApiGatewayV2::Integration")[integration[1]]["IntegrationUri"]
    uri = without_options(found)["Fn::Sub"]
    function = re.search(r"functions/\$\{(\w+)\.Arn\}/invocations$", uri)
    assert function is not None, uri
    return function[1]


# Permissions


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_role_allows_its_log_its_queues_and_verbs_of_the_table_and_nothing_else(name: str) -> None:
    allowed: dict[str, set[str]] = {}
    for statement in statements_by_function(DOCUMENT)[name]:
        for resource in map(short, statement.resources):
            allowed.setdefault(resource, set()).update(statement.actions)
    of_table = {resource: allowed.pop(resource, set()) for resource in TABLE_AND_INDEXES}

    log = f"!GetAtt {name.replace('Function', 'Logs')}.Arn"
    assert allowed == {
        log: {"logs:CreateLogStream", "logs:PutLogEvents"},
        "!Ref KmsKeyArn": {"kms:Decrypt", "kms:GenerateDataKey"},
        **BESIDE_THE_TABLE[name],
    }
    for resource, actions in of_table.items():
        assert all(re.fullmatch(r"dynamodb:[A-Z][A-Za-z]+", action) for action in actions)
        assert "index" not in resource or actions <= {"dynamodb:Query"}, (
            "an index is used for something other than Query"
        )


def test_a_role_has_only_allow_statements_without_conditions() -> None:
    for name, role in ROLES.items():
        for policy in role["Policies"]:
            for one in map(with_options, policy["PolicyDocument"]["Statement"]):
                assert (one.keys(), one["Effect"]) == ({"Effect", "Action", "Resource"}, "Allow"), name


def test_each_function_has_its_own_role_without_managed_policies() -> None:
    assert Counter(resource_of(function["Role"]) for function in FUNCTIONS.values()) == Counter([*ROLES])
    for name, role in ROLES.items():
        assert role.keys() == {"AssumeRolePolicyDocument", "PermissionsBoundary", "Policies"}, name
        [trust] = role["AssumeRolePolicyDocument"]["Statement"]
        assert trust == {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }


def test_no_statement_of_a_role_holds_a_star() -> None:
    stars = {text for role in ROLES.values() for text in texts(role) if "*" in text}

    # any object of this bucket, any stream of this table
    assert stars == {"${AttachmentsBucket.Arn}/*", "${Table.Arn}/stream/*"}


@pytest.mark.parametrize("room", ["Authorizer", "Mcp"])
def test_the_authorizer_and_the_tools_may_write_their_log_and_nothing_else(room: str) -> None:
    statements = statements_by_function(DOCUMENT)[f"{room}Function"]

    named = [short(one) for statement in statements for one in statement.resources]
    assert named == [f"!GetAtt {room}Logs.Arn", "!Ref KmsKeyArn"]
    environment = FUNCTIONS[f"{room}Function"]["Environment"]["Variables"]
    assert [environment[f"FORKLORE_{name}"] for name in ("TABLE", "QUEUE", "ATTACHMENTS")] == ["", "", ""]


@pytest.mark.failure("forged-event")
def test_only_this_api_may_invoke_the_functions_and_the_authorizer() -> None:
    granted = {
        resource_of(without_options(permission["FunctionName"])): permission["SourceArn"][
            "Fn::Sub"
        ].partition("${AWS::AccountId}:")[2]
        for permission in of_type(DOCUMENT, "AWS::Lambda::Permission").values()
        if (permission["Action"], permission["Principal"])
        == ("lambda:InvokeFunction", "apigateway.amazonaws.com")
    }

    assert len(of_type(DOCUMENT, "AWS::Lambda::Permission")) == len(granted)
    assert granted == {
        **dict.fromkeys(SERVED, "${Api}/*/*"),
        "AuthorizerFunction": "${Api}/authorizers/${Authorizer}",
        "McpFunction": "${Api}/*/mcp",
    }


def test_only_the_functions_of_the_api_know_its_id() -> None:
    told = {
        name: function["Environment"]["Variables"]["FORKLORE_API"]
        for name, function in FUNCTIONS.items()
        if "FORKLORE_API" in function.get("Environment", {}).get("Variables", {})
    }

    assert told == {name: {"Ref": "Api"} for name in SERVED}


@pytest.mark.parametrize("setting", ["DELETED_DAYS", "RETENTION_DAYS"])
def test_the_functions_that_delete_list_and_restore_know_how_long_the_trash_keeps_a_tree(
    setting: str,
) -> None:
    told = {
        name
        for name, function in FUNCTIONS.items()
        if f"FORKLORE_{setting}" in function.get("Environment", {}).get("Variables", {})
    }
    of_trash = {"deleteConversation", "listTrash", "restoreConversation"}
    of_trash |= {f"admin{name[0].upper()}{name[1:]}" for name in of_trash}
    serving = {name for name, served in SERVED.items() if {one.name for one in served} & of_trash}

    assert told == serving | {"AgentFunction", "SweepFunction"}


# Authorization


def test_every_operation_has_a_route_that_leads_to_the_function_that_serves_it() -> None:
    routes = {route["RouteKey"]: route_target(route) for route in ROUTES.values()}

    assert routes == {
        f"{operation.method} {operation.path}": function
        for function, operations in SERVED.items()
        for operation in operations
    } | {"$default": "ConversationsFunction", **dict.fromkeys(TOOLS, "McpFunction")}
    assert len(routes) == len(ROUTES)


def test_the_page_for_operators_says_what_the_metrics_of_all_operations_cost() -> None:
    """Each is a metric for each of its statuses, and each metric costs money."""
    count = sum(map(len, SERVED.values()))
    text = " ".join((PROJECT / "docs" / "operate.md").read_text(encoding="utf-8").split())

    assert f"about {4 * count + 10} metrics, {round((4 * count + 10) * 0.3)} $" in text


def test_a_route_has_the_name_of_its_operation() -> None:
    operations = {f"{o.method} {o.path}": o.name for served in SERVED.values() for o in served}
    operations |= TOOLS

    for name, route in ROUTES.items():
        operation = operations.get(route["RouteKey"], "default")
        assert name == f"{operation[0].upper()}{operation[1:]}Route"


@pytest.mark.parametrize("name", ROUTES)
def test_every_route_asks_the_authorizer(name: str) -> None:
    route = ROUTES[name]

    assert (route["ApiId"], route["AuthorizationType"]) == ({"Ref": "Api"}, "CUSTOM")
    assert route["AuthorizerId"] == {"Ref": "Authorizer"}


def test_the_authorizer_sees_every_request_and_nothing_of_it_is_kept() -> None:
    [authorizer] = of_type(DOCUMENT, "AWS::ApiGatewayV2::Authorizer").values()

    assert authorizer["AuthorizerUri"]["Fn::Sub"].endswith("functions/${AuthorizerFunction.Arn}/invocations")
    assert {
        name: authorizer[name] for name in authorizer if name.startswith(("Authorizer", "Enable", "Ident"))
    } == {
        "AuthorizerType": "REQUEST",
        "AuthorizerUri": authorizer["AuthorizerUri"],
        "AuthorizerPayloadFormatVersion": "2.0",
        "EnableSimpleResponses": True,
        "AuthorizerResultTtlInSeconds": 0,
        "IdentitySource": [],
    }


def test_no_function_has_another_public_entrance_than_the_api() -> None:
    kinds = {resource["Type"] for resource in DOCUMENT["Resources"].values()}

    assert kinds.isdisjoint({"AWS::Lambda::Url", "AWS::Serverless::Api", "AWS::Serverless::HttpApi"})
    for name, function in FUNCTIONS.items():
        assert "FunctionUrlConfig" not in function, name
        calls = {event["Type"] for event in function.get("Events", {}).values()}
        assert calls <= {"SQS", "Schedule", "DynamoDB"}, name


def test_the_api_is_the_first_resource() -> None:
    """`sam local` chooses its reader by the first resource that it knows."""
    assert next(iter(DOCUMENT["Resources"])) == "Api"


@pytest.mark.failure("unsafe-settings")
def test_browsers_may_call_only_from_configured_origins() -> None:
    cors = of_type(DOCUMENT, "AWS::ApiGatewayV2::Api")["Api"]["CorsConfiguration"]["Fn::If"]

    assert cors[0] == "HasCors"
    assert cors[1]["AllowOrigins"] == {"Fn::Split": [",", {"Ref": "CorsOrigins"}]}
    assert cors[1]["AllowMethods"] == ["GET", "POST", "PUT", "PATCH", "DELETE"]
    assert "AllowCredentials" not in cors[1]
    assert [text for text in texts(cors) if "*" in text] == []
    assert cors[2] == {"Ref": "AWS::NoValue"}


# Data and logs


def test_the_table_is_encrypted_recovered_and_kept() -> None:
    resource = DOCUMENT["Resources"]["Table"]

    assert TABLE["SSESpecification"]["SSEEnabled"] is True
    assert TABLE["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert TABLE["DeletionProtectionEnabled"] == {"Ref": "DeletionProtection"}
    assert PARAMETERS["DeletionProtection"]["Default"] == "true"
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert TABLE["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert TABLE["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.failure("unsafe-settings")
def test_the_bucket_of_the_attachments_is_private_encrypted_and_kept() -> None:
    [bucket] = of_type(DOCUMENT, "AWS::S3::Bucket").values()
    [policy] = of_type(DOCUMENT, "AWS::S3::BucketPolicy").values()

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    [encryption] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {
        "SSEAlgorithm": {"Fn::If": ["HasKmsKey", "aws:kms", "AES256"]},
        "KMSMasterKeyID": {"Fn::If": ["HasKmsKey", {"Ref": "KmsKeyArn"}, {"Ref": "AWS::NoValue"}]},
    }
    assert "VersioningConfiguration" not in bucket, "what is deleted is gone"
    [rule] = bucket["LifecycleConfiguration"]["Rules"]
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    [denied] = policy["PolicyDocument"]["Statement"]
    assert (denied["Effect"], denied["Principal"], denied["Action"]) == ("Deny", "*", "s3:*")
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert [*map(short, denied["Resource"])] == [BUCKET, OBJECTS]
    for name in ("AttachmentsBucket", "AttachmentsBucketPolicy"):
        resource = DOCUMENT["Resources"][name]
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert resource["Condition"] == "KeepsAttachments"
    assert DOCUMENT["Conditions"]["KeepsAttachments"] == {"Fn::Equals": [{"Ref": "Attachments"}, "on"]}
    assert PARAMETERS["Attachments"]["Default"] == "off"
    told = DOCUMENT["Globals"]["Function"]["Environment"]["Variables"]["FORKLORE_ATTACHMENTS"]
    assert told == {"Fn::If": ["KeepsAttachments", {"Ref": "AttachmentsBucket"}, ""]}


@pytest.mark.failure("unsafe-settings")
def test_pages_of_the_configured_origins_may_send_and_get_bytes_and_no_other_pages() -> None:
    [bucket] = of_type(DOCUMENT, "AWS::S3::Bucket").values()
    condition, cors, absent = bucket["CorsConfiguration"]["Fn::If"]

    assert (condition, absent) == ("HasCors", {"Ref": "AWS::NoValue"})
    [rule] = cors["CorsRules"]
    assert rule["AllowedOrigins"] == {"Fn::Split": [",", {"Ref": "CorsOrigins"}]}
    assert rule["AllowedMethods"] == ["GET", "HEAD", "PUT"]
    sent = {"content-type", "x-amz-checksum-sha256", "x-amz-sdk-checksum-algorithm"}
    assert {name.lower() for name in rule["AllowedHeaders"]} == sent | {"if-none-match", "range"}
    assert [text for text in texts(rule) if "*" in text] == []


@pytest.mark.failure("poison-message")
def test_queues_are_encrypted_and_have_dead_letter_queues() -> None:
    assert all(without_options(queue["SqsManagedSseEnabled"]) is True for queue in QUEUES.values())
    redrive = QUEUES["JobsQueue"]["RedrivePolicy"]
    assert (resource_of(redrive["deadLetterTargetArn"]), redrive["maxReceiveCount"]) == ("DeadJobsQueue", 5)
    [event] = FUNCTIONS["DeleteGroupFunction"]["Events"].values()
    assert event["Type"] == "SQS"
    assert event["Properties"] == {
        "Queue": {"Fn::GetAtt": "JobsQueue.Arn"},
        "BatchSize": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 5},
    }
    invoked = FUNCTIONS["AgentFunction"]["EventInvokeConfig"]["DestinationConfig"]["OnFailure"]
    assert resource_of(invoked["Destination"]) == "AgentFailures"
    kept = [QUEUES[name]["MessageRetentionPeriod"] for name in QUEUES.keys() - {"JobsQueue"}]
    assert kept == [14 * 86_400] * 4


def test_a_message_stays_hidden_for_six_times_as_long_as_its_function_may_run() -> None:
    timeout = FUNCTIONS["DeleteGroupFunction"]["Timeout"]

    assert QUEUES["JobsQueue"]["VisibilityTimeout"] >= 6 * timeout


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_its_own_log_group_with_the_configured_retention(name: str) -> None:
    group = resource_of(FUNCTIONS[name]["LoggingConfig"]["LogGroup"])

    assert group == name.replace("Function", "Logs")
    assert of_type(DOCUMENT, "AWS::Logs::LogGroup")[group]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert DOCUMENT["Globals"]["Function"]["LoggingConfig"]["LogFormat"] == "JSON"
    used = {short(one) for statement in statements_by_function(DOCUMENT)[name] for one in statement.resources}
    assert {one for one in used if "Logs" in one} == {f"!GetAtt {group}.Arn"}


def test_the_logs_with_audit_lines_outlive_the_stack() -> None:
    kept = {
        name
        for name, resource in DOCUMENT["Resources"].items()
        if resource["Type"] == "AWS::Logs::LogGroup"
        and (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")) == ("Retain", "Retain")
    }

    assert kept == {"AdminLogs", "AgentLogs"}


def test_every_explicit_name_includes_the_name_of_the_stack() -> None:
    """Otherwise two stacks of one account and region would have conflicting names."""
    layers = of_type(DOCUMENT, "AWS::Serverless::LayerVersion").values()
    group = of_type(DOCUMENT, "AWS::Logs::LogGroup")["AccessLogs"]

    [bus] = of_type(DOCUMENT, "AWS::Events::EventBus").values()

    assert bus["Name"] == {"Ref": "AWS::StackName"}
    assert [layer["LayerName"]["Fn::Sub"] for layer in layers] == [
        "${AWS::StackName}-core",
        "${AWS::StackName}-mcp",
    ]
    assert group["LogGroupName"] == {"Fn::Sub": "/aws/vendedlogs/${AWS::StackName}-access"}
    for resources, name in (
        (FUNCTIONS, "FunctionName"),
        (ROLES, "RoleName"),
        (QUEUES, "QueueName"),
        (ALARMS, "AlarmName"),
        ({"Table": TABLE}, "TableName"),
    ):
        assert [one for one in resources.values() if name in one] == []


def test_the_access_log_writes_json_lines_without_path_query_or_agent() -> None:
    [stage] = of_type(DOCUMENT, "AWS::ApiGatewayV2::Stage").values()
    line = json.loads(stage["AccessLogSettings"]["Format"])

    assert resource_of(stage["AccessLogSettings"]["DestinationArn"]) == "AccessLogs"
    assert of_type(DOCUMENT, "AWS::Logs::LogGroup")["AccessLogs"]["RetentionInDays"] == {
        "Ref": "LogRetentionDays"
    }
    assert {"$context.requestId", "$context.routeKey", "$context.status"} <= set(line.values())
    told = " ".join(line.values())
    assert not re.search(r"path|query|userAgent|header|cookie|authorizer\.(?!error)", told, re.IGNORECASE)


def test_the_stage_is_throttled() -> None:
    [stage] = of_type(DOCUMENT, "AWS::ApiGatewayV2::Stage").values()

    assert stage["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": {"Ref": "RequestsPerSecond"},
        "ThrottlingBurstLimit": {"Ref": "RequestsBurst"},
    }


# Events

STREAMING = {
    "PublishesEvents": ("PublishFunction", "ParkedEvents"),
    "HasModel": ("EmbedFunction", "ParkedVectors"),
}
"""The functions that get the table's stream, by their condition, with the queue of what fails."""


@pytest.mark.parametrize("condition", STREAMING)
def test_all_that_reads_the_stream_exists_only_with_its_option(condition: str) -> None:
    conditions = DOCUMENT["Conditions"]
    assert conditions["PublishesEvents"] == {"Fn::Equals": [{"Ref": "Events"}, "on"]}
    assert conditions["HasModel"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Recall"}, "off"]}]}
    assert conditions["HasStream"] == {"Fn::Or": [{"Condition": one} for one in STREAMING]}
    assert TABLE["StreamSpecification"] == {
        "Fn::If": ["HasStream", {"StreamViewType": "NEW_AND_OLD_IMAGES"}, {"Ref": "AWS::NoValue"}]
    }
    function, queue = STREAMING[condition]
    resources = DOCUMENT["Resources"]
    of_it = {name for name, one in resources.items() if one.get("Condition") == condition}
    room = function.removesuffix("Function")
    assert {function, queue, f"{room}Role", f"{room}Logs"} <= of_it
    for name in resources.keys() - of_it:
        unconditional = json.dumps(_without_ifs(resources[name], condition))
        assert not [one for one in of_it if re.search(rf"\b{one}\b", unconditional)], name
    named = [one for one in DOCUMENT["Outputs"].values() if one["Value"] in [{"Ref": name} for name in of_it]]
    assert {one["Condition"] for one in named} == {condition}


def _without_ifs(value: Any, condition: str) -> Any:
    """Return a value without its parts that depend on a condition."""
    match value:
        case {"Fn::If": [name, *_]} if name == condition:
            return None
        case dict():
            return {name: _without_ifs(one, condition) for name, one in value.items()}
        case list():
            return [_without_ifs(one, condition) for one in value]
    return value


@pytest.mark.failure("lost-event", "poison-record")
@pytest.mark.parametrize(("function", "queue"), STREAMING.values())
def test_a_failed_batch_is_cut_and_repeated_and_never_holds_up_the_stream_for_good(
    function: str, queue: str
) -> None:
    [event] = FUNCTIONS[function]["Events"].values()
    how = event["Properties"]

    assert (event["Type"], how["Stream"]) == ("DynamoDB", {"Fn::GetAtt": "Table.StreamArn"})
    assert how["StartingPosition"] == "TRIM_HORIZON"
    assert how["BisectBatchOnFunctionError"] is True
    assert how["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (how["MaximumRetryAttempts"], how["MaximumRecordAgeInSeconds"]) == (100, 6 * 3600)
    failed = how["DestinationConfig"]["OnFailure"]
    assert (failed["Type"], resource_of(failed["Destination"])) == ("SQS", queue)
    assert "ParallelizationFactor" not in how, "the order within a tree"


# Alarms


class Watch(NamedTuple):
    """What an alarm reads and when it goes off.

    statistics: one for each metric that it reads. of: the resource in its dimensions; "each
    function" means one metric of every function. periods: how many, of five minutes each.
    """

    namespace: str
    metric: str
    of: str
    statistics: Sequence[str]
    comparison: str
    threshold: int | str
    periods: int = 1
    missing: str = "notBreaching"
    expression: str | None = None


MORE, AS_MANY, FEWER = "GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold"
EACH_FUNCTION, STACK = "each function", "AWS::StackName"
REFUSED_NAMESPACE = "forklore/${AWS::StackName}"
WAITING, SUM = "ApproximateNumberOfMessagesVisible", "SUM(METRICS())"
WATCHED = {
    "DeadJobsAlarm": Watch("AWS/SQS", WAITING, "DeadJobsQueue", ["Maximum"], MORE, 0),
    "AgentFailuresAlarm": Watch("AWS/SQS", WAITING, "AgentFailures", ["Maximum"], MORE, 0),
    "AgentDeliveryAlarm": Watch(
        "AWS/Lambda", "DestinationDeliveryFailures", "AgentFunction", ["Sum"], MORE, 0
    ),
    "FunctionErrorsAlarm": Watch(
        "AWS/Lambda", "Errors", EACH_FUNCTION, ["Sum"] * len(FUNCTIONS), MORE, 0, expression=SUM
    ),
    "FunctionThrottlesAlarm": Watch(
        "AWS/Lambda", "Throttles", EACH_FUNCTION, ["Sum"] * len(FUNCTIONS), MORE, 0, expression=SUM
    ),
    "ServerErrorsAlarm": Watch("AWS/ApiGateway", "5xx", "Api", ["Sum"], AS_MANY, 5),
    "LatencyAlarm": Watch("AWS/ApiGateway", "Latency", "Api", ["p99"], MORE, "LatencyAlarmMs", 3),
    "RefusedAlarm": Watch(REFUSED_NAMESPACE, "Refused", "", ["Sum"], AS_MANY, "RefusedAlarmCount"),
    "TableThrottlesAlarm": Watch("forklore", "DynamoDBThrottles", STACK, ["Sum"], AS_MANY, 10, 3),
    "OldestJobAlarm": Watch("forklore", "OldestJob", STACK, ["Maximum"], MORE, 3600),
    "LargestTreeAlarm": Watch("forklore", "LargestTree", STACK, ["Maximum"], MORE, 8_000_000_000),
    "ClockOffsetAlarm": Watch(
        "forklore",
        "ClockOffset",
        STACK,
        ["Maximum", "Minimum"],
        MORE,
        60_000,
        expression="MAX([ahead, -behind])",
    ),
    "HeadsAheadAlarm": Watch("forklore", "HeadsAhead", STACK, ["Sum"], MORE, 0),
    "ParkedEventsAlarm": Watch("AWS/SQS", WAITING, "ParkedEvents", ["Maximum"], MORE, 0),
    "LateEventsAlarm": Watch("AWS/Lambda", "IteratorAge", "PublishFunction", ["Maximum"], MORE, 300_000),
    "ParkedVectorsAlarm": Watch("AWS/SQS", WAITING, "ParkedVectors", ["Maximum"], MORE, 0),
    "LateVectorsAlarm": Watch("AWS/Lambda", "IteratorAge", "EmbedFunction", ["Maximum"], MORE, 300_000),
    "SweepSilentAlarm": Watch("forklore", "JobsOpen", STACK, ["SampleCount"], FEWER, 1, 3, "breaching"),
}
DIMENSIONS = {
    "AWS/SQS": ["QueueName"],
    "AWS/Lambda": ["FunctionName"],
    "AWS/ApiGateway": ["ApiId", "Stage"],
    "forklore": ["stack"],
    REFUSED_NAMESPACE: [],
}
"""The dimensions of each namespace. Sources: the metrics pages of the developer guides."""


def queries_of(alarm: Properties) -> list[Properties]:
    """Return the queries of an alarm, as they are if all of the template exists."""
    return [one["Fn::If"][1] if "Fn::If" in one else one for one in alarm["Metrics"]]


def metrics_of(alarm: Properties) -> list[Properties]:
    """Return the metrics that an alarm reads, directly or in its expression."""
    if "Metrics" not in alarm:
        return [alarm]
    return [one["MetricStat"]["Metric"] for one in queries_of(alarm) if "MetricStat" in one]


def statistics_of(alarm: Properties) -> list[tuple[str, int]]:
    """Return the statistic and the period of each metric that an alarm reads."""
    if "Metrics" not in alarm:
        return [(alarm.get("Statistic") or alarm["ExtendedStatistic"], alarm["Period"])]
    read = [one["MetricStat"] for one in queries_of(alarm) if "MetricStat" in one]
    return [(one["Stat"], one["Period"]) for one in read]


def _plain(value: Any) -> Any:
    """Return a value without `!Ref` or `!Sub`."""
    return next(iter(value.values())) if isinstance(value, dict) else value


@pytest.mark.failure("poison-message")
def test_the_template_has_exactly_the_expected_alarms() -> None:
    """A message in a dead-letter queue raises one of these alarms."""
    assert ALARMS.keys() == WATCHED.keys()


@pytest.mark.parametrize("name", WATCHED)
def test_an_alarm_reads_existing_metrics_and_has_the_expected_threshold(name: str) -> None:
    alarm, watch = ALARMS[name], WATCHED[name]

    for read in metrics_of(alarm):
        assert (_plain(read["Namespace"]), read["MetricName"]) == (watch.namespace, watch.metric)
        dimensions = read.get("Dimensions", [])
        assert [dimension["Name"] for dimension in dimensions] == DIMENSIONS[watch.namespace]
        named = {resource_of(dimension["Value"]) for dimension in dimensions[:1]}
        assert named <= (FUNCTIONS.keys() if watch.of == EACH_FUNCTION else {watch.of})
    assert statistics_of(alarm) == [(statistic, 300) for statistic in watch.statistics]
    assert (alarm["ComparisonOperator"], _plain(alarm["Threshold"])) == (watch.comparison, watch.threshold)
    assert (alarm["EvaluationPeriods"], alarm["TreatMissingData"]) == (watch.periods, watch.missing)
    assert "DatapointsToAlarm" not in alarm
    queries = queries_of(alarm) if "Metrics" in alarm else []
    returned = [one["Expression"] for one in queries if one.get("ReturnData", True)]
    assert returned == ([watch.expression] if watch.expression else [])


def test_the_api_s_metrics_are_those_of_its_stage() -> None:
    assert ALARMS["ServerErrorsAlarm"]["Dimensions"][1]["Value"] == {"Ref": "Stage"}


def test_the_alarm_for_a_large_tree_goes_off_before_its_appends_are_refused() -> None:
    """DynamoDB reports sizes in whole gigabytes. The metric is in bytes."""
    told, usage = [], Consumption()
    for gigabytes in (GROUP_GIGABYTES_MAX - 2, GROUP_GIGABYTES_MAX - 1):
        usage.note_tree(gigabytes)
        told.append(usage.largest_tree_bytes)

    [before, last] = told
    assert before is not None
    assert last is not None
    threshold = WATCHED["LargestTreeAlarm"].threshold
    assert isinstance(threshold, int)
    assert before <= threshold < last


def emitted(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[tuple[str, ...]]]:
    """Return every metric that forklore can emit, with its sets of dimensions."""
    monkeypatch.setenv("FORKLORE_STACK", "forklore")
    usage = Consumption()
    usage.calls = usage.retries = usage.conflicts = usage.throttles = usage.heads_ahead = 1
    usage.read_units = usage.write_units = 1.0
    usage.clock_offset_ms, usage.largest_tree_bytes = 60_000, 1 << 30
    watch = telemetry.Stopwatch()
    with reading_lines() as lines:
        telemetry.log_request(
            None,
            via="http",
            status=200,
            error=None,
            request_id="one",
            lambda_id="one",
            watch=watch,
            usage=usage,
        )
        telemetry.log_job(status="done", kind="delete", watch=watch, usage=usage)
        telemetry.log_sweep(jobs=1, failed=1, oldest_s=1, watch=watch, usage=usage)
        telemetry.log_embedded(trees=1, parked=1, is_finished=True, watch=watch, usage=usage)
        telemetry.log_published(records=1, events=1, parked=1, is_finished=True, watch=watch, usage=usage)
    found: dict[str, set[tuple[str, ...]]] = {}
    for line in lines.all:
        for name, (_, dimensions) in of_line(line).items():
            found.setdefault(name, set()).update(dimensions)
    return found


def dashboard_body() -> str:
    """Return the dashboard's body as it is if all of the template exists."""
    [dashboard] = of_type(DOCUMENT, "AWS::CloudWatch::Dashboard").values()
    body, values = dashboard["DashboardBody"]["Fn::Sub"]
    for name, value in values.items():
        condition, exists, absent = value["Fn::If"]
        assert (condition in STREAMING, absent) == (True, "")
        body = body.replace(f"${{{name}}}", exists["Fn::Sub"])
    return str(body)


def test_alarms_and_dashboard_read_metrics_that_forklore_emits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = emitted(monkeypatch)
    read = {watch.metric for watch in WATCHED.values() if watch.namespace == telemetry.NAMESPACE}
    panels = [one["properties"] for one in json.loads(dashboard_body())["widgets"]]
    shown = [metric for panel in panels for metric in panel.get("metrics", [])]
    ours = {metric[1]: tuple(metric[2:4]) for metric in shown if metric[0] == telemetry.NAMESPACE}
    [search] = [metric[0]["expression"] for metric in shown if isinstance(metric[0], dict)]

    assert set(ours.values()) == {("stack", "${AWS::StackName}")}
    assert all(("stack",) in found[name] for name in read | ours.keys())
    searched = re.match(r"SEARCH\('\{forklore,([a-z,]+)\} MetricName=\"(\w+)\" ", search)
    assert searched is not None
    assert set(searched[1].split(",")) in [set(dimensions) for dimensions in found[searched[2]]]


@pytest.mark.parametrize("name", ["FunctionErrorsAlarm", "FunctionThrottlesAlarm"])
def test_alarms_about_each_function_include_all_functions(name: str) -> None:
    read = [resource_of(metric["Dimensions"][0]["Value"]) for metric in metrics_of(ALARMS[name])]

    assert sorted(read) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_has_a_description_a_page_and_the_topic(name: str) -> None:
    alarm = ALARMS[name]
    told = {"Fn::If": ["HasAlarmsTopic", [{"Ref": "AlarmsTopic"}], {"Ref": "AWS::NoValue"}]}

    assert alarm["AlarmDescription"].endswith(f". docs/operate.md, {name}.")
    assert (alarm["AlarmActions"], alarm["OKActions"]) == (told, told)
    assert f"\n### {name}\n" in (PROJECT / "docs/operate.md").read_text(encoding="utf-8")


def test_the_dashboard_is_json_and_shows_every_alarm() -> None:
    body = dashboard_body()
    widgets = json.loads(body)["widgets"]

    assert set(re.findall(r"\$\{(\w+)\.Arn\}", body)) == set(ALARMS)
    for reference in re.findall(r"\$\{(\w+)(?:\.\w+)?\}", body):
        assert reference in DOCUMENT["Resources"], reference
    taken = Counter(
        (widget["x"] + across, widget["y"] + down)
        for widget in widgets
        for across in range(widget["width"])
        for down in range(widget["height"])
    )
    assert max(taken.values()) == 1, "two panels overlap"
    assert max(x for x, _ in taken) < 24


# Parameters

HASH = "0f" * 32
REFUSED = {
    "Issuer": [
        "",
        "*",
        "http://login.example.com/",
        "login.example.com",
        "https://",
        "https://login.example.com/?x=1",
        "https://login.example.com/#x",
        "https://user@login.example.com/",
        "https://one.example,https://two.example",
        " https://login.example.com/",
        "https://-login.example.com/",
        "https://login.example.com:/",
    ],
    "Audience": ["", "*", "a,", ",a", "a,,b", "a, b", "forklore,*", "forklore-*", "a\nb", 'a"b', "a;b"],
    "UserIdClaim": ["", "*", "sub,email", "scope", "scp", "user id", "#*", "x" * 129],
    "Algorithms": ["", "none", "HS256", "RS256,HS256", "RS256,", "RS128", "rs256", "*", "RS256, ES256"],
    "IssuerKeys": [
        "*",
        '[{"kty":"RSA"}]',
        '{\n"keys": []}',
    ],
    "ApiKeyHashes": [
        "*",
        f"app={HASH},",
        f"={HASH}",
        f"app={HASH.upper()}",
        f"app={HASH}0",
        f"app={HASH[:-1]}",
        f"app={HASH}, other={HASH}",
        HASH,
    ],
    "Admins": [
        "*",
        "**",
        "*,alice",
        "alice,*",
        "alice,",
        ",alice",
        "alice, bob",
        " ",
        " alice",
        "alice ",
        "* *",
        "alice\nann",
    ],
    "RolesClaim": ["*", "scope", "scp", "roles,groups", "my roles", "x" * 129],
    "CorsOrigins": [
        "*",
        "https://*.example.com",
        "http://app.example.com",
        "https://app.example.com/",
        "https://app.example.com,",
        "https://app.example.com, https://b.example.com",
        "https://app.example.com,*",
        "HTTPS://APP.EXAMPLE.COM",
        "http://localhost.example.com",
    ],
    "DomainName": [
        "*",
        "https://chat.example.com",
        "Chat.example.com",
        "*.example.com",
        "chat..example.com",
        "chat.example.com:443",
    ],
    "CertificateArn": [
        "*",
        "arn:aws:iam::123456789012:server-certificate/chat",
        "arn:aws:acm:us-east-1:*:certificate/12345678-1234-1234-1234-123456789012",
    ],
    "KmsKeyArn": [
        "*",
        "12345678-1234-1234-1234-123456789012",
        "alias/forklore",
        "arn:aws:kms:eu-central-1:123456789012:alias/forklore",
    ],
    "PermissionsBoundary": [
        "*",
        "forklore-boundary",
        "arn:aws:iam::123456789012:role/forklore",
        "arn:aws:iam::aws:policy/AdministratorAccess",
    ],
    "DirectUsers": [
        "planner",
        "=ann",
        "planner=",
        "planner=ann,",
        "planner= ann",
        "planner=ann, ops=*",
        "a b=c",
    ],
    "UserRequestsPerMinute": ["", "10.5", "-1", "1e3", "1000000000"],
    "AttachmentMegabytes": ["", "0", "1.5", "-1", "01", "101", "1000"],
    "AttachmentsPerUser": ["", "10.5", "-1", "1e3", "1000000000"],
    "EntriesPerConversation": ["", "10.5", "-1", "1e3", "1000000000"],
    "DeletedDays": ["", "1.5", "-1", "366", "400", "1000"],
    "RetentionDays": ["", "1.5", "-1", "36501", "40000", "100000"],
    "AlarmsTopic": [
        "*",
        "alarms",
        "arn:aws:sqs:eu-central-1:123456789012:alarms",
    ],
}
TAKEN = {
    "Issuer": [
        "https://example.eu.auth0.com/",
        "https://dev-123456.okta.com/oauth2/default",
        "https://localhost:8443/realms/forklore",
        "https://login.example.com/a%20tenant/v2.0",
        "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0",
    ],
    "Audience": [
        "forklore",
        "https://api.example.com/",
        "api://default,1h57kf5cpq17m0eml12EXAMPLE",
        "https://api.example.com/?tenant=a%20b#c",
    ],
    "UserIdClaim": [
        "sub",
        "email",
        "cognito:username",
        "https://example.com/user_id",
        "https://example.com/#id",
    ],
    "Algorithms": ["RS256,ES256", "EdDSA", "PS512", "ES384,RS384"],
    "IssuerKeys": [
        "",
        '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
    ],
    "ApiKeyHashes": ["", f"planner={HASH}", f"planner={HASH},my_app-2.0={HASH}"],
    "Admins": ["", "alice", "alice,ops-*", "*@example.com", "a*b*c", "ann lee,ops *", "* lee", "é ü"],
    "RolesClaim": ["", "roles", "cognito:groups", "https://example.com/roles", "scopes"],
    "CorsOrigins": [
        "",
        "https://app.example.com",
        "https://app.example.com:8443,http://localhost:3000",
        "http://localhost",
    ],
    "DomainName": ["", "chat.example.com", "a-b.c.example.co.uk"],
    "CertificateArn": [
        "",
        "arn:aws:acm:eu-central-1:123456789012:certificate/12345678-1234-1234-1234-123456789012",
    ],
    "KmsKeyArn": [
        "",
        "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012",
        "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab",
    ],
    "PermissionsBoundary": [
        "",
        "arn:aws:iam::123456789012:policy/forklore-boundary",
        "arn:aws-cn:iam::123456789012:policy/team/a+b=c,d.e@f_g-h",
    ],
    "DirectUsers": ["", "planner=ann", "planner=ann lee,planner=bot-*,ops.2_x-y=*", "a=b=c@example.com"],
    "UserRequestsPerMinute": ["0", "10", "999999999"],
    "AttachmentMegabytes": ["1", "9", "10", "99", "100"],
    "AttachmentsPerUser": ["0", "10", "999999999"],
    "EntriesPerConversation": ["0", "10", "999999999"],
    "DeletedDays": ["0", "1", "30", "99", "100", "299", "300", "365"],
    "RetentionDays": ["0", "1", "9999", "10000", "29999", "35999", "36499", "36500"],
    "AlarmsTopic": [
        "",
        "arn:aws:sns:eu-central-1:123456789012:alarms",
        "arn:aws-cn:sns:cn-north-1:123456789012:a_b",
    ],
}
"""Accepted values of parameters. CloudFormation matches a pattern against the whole value."""


def fits(name: str, value: str) -> bool:
    return re.fullmatch(PARAMETERS[name]["AllowedPattern"], value) is not None


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_an_unsafe_value_stops_the_deployment(name: str, value: str) -> None:
    """For example no issuer, no audience, or CORS for every origin."""
    assert not fits(name, value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TAKEN for value in TAKEN[name]])
def test_realistic_values_are_accepted(name: str, value: str) -> None:
    assert fits(name, value)


def test_the_parameters_of_all_roles_have_the_same_pattern() -> None:
    patterns = {PARAMETERS[name]["AllowedPattern"] for name in ("Admins", "Auditors", "Indexers")}

    assert len(patterns) == 1


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_has_a_description_and_restricts_its_values(name: str) -> None:
    parameter = PARAMETERS[name]

    assert parameter["Description"].endswith(".")
    if "AllowedPattern" in parameter:
        assert parameter["AllowedPattern"][0] + parameter["AllowedPattern"][-1] == "^$"
        assert re.search(rf"\b{name}\b|^name ", parameter["ConstraintDescription"])
        assert {name} <= REFUSED.keys() & TAKEN.keys() | {"Auditors", "Indexers"}
    else:
        assert parameter["Type"] == "Number" or parameter["AllowedValues"]


def test_only_issuer_and_audience_have_no_default_and_the_defaults_are_safe() -> None:
    defaults = {name: parameter.get("Default") for name, parameter in PARAMETERS.items()}

    assert {name for name, default in defaults.items() if default is None} == {"Issuer", "Audience"}
    assert [defaults[name] for name in ("Admins", "Auditors", "CorsOrigins", "ApiKeyHashes")] == [""] * 4
    assert (defaults["DirectRoles"], defaults["DeletionProtection"]) == ("refused", "true")
    assert (defaults["DomainName"], defaults["KmsKeyArn"], defaults["SnapStart"]) == ("", "", "off")
    assert all(fits(name, str(defaults[name])) for name in TAKEN if defaults[name] is not None)


def test_the_template_holds_no_account_region_or_secret() -> None:
    text = (PROJECT / "template.yaml").read_text(encoding="utf-8")

    assert not re.search(r"\b\d{12}\b|\b(eu|us|ap)-[a-z]+-\d\b|AKIA", text)
