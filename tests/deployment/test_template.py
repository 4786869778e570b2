"""What the template must say, whatever else: who may do what, who is asked, what is kept and watched."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from forklore.edge.operations import admin, conversations, entries, sharing
from tests.deployment.document import (
    FUNCTION,
    PROJECT,
    Properties,
    of_type,
    read_document,
    resource_of,
    statements_by_function,
)

DOCUMENT = read_document()
PARAMETERS: Mapping[str, Properties] = DOCUMENT["Parameters"]
FUNCTIONS = of_type(DOCUMENT, FUNCTION)
ROUTES = of_type(DOCUMENT, "AWS::ApiGatewayV2::Route")
ALARMS = of_type(DOCUMENT, "AWS::CloudWatch::Alarm")
QUEUES = of_type(DOCUMENT, "AWS::SQS::Queue")
ROLES = of_type(DOCUMENT, "AWS::IAM::Role")
[TABLE] = of_type(DOCUMENT, "AWS::DynamoDB::Table").values()

SERVED = {
    "ConversationsFunction": conversations.OPERATIONS,
    "EntriesFunction": entries.OPERATIONS,
    "SharingFunction": sharing.OPERATIONS,
    "AdminFunction": admin.OPERATIONS,
}
"""The operations that each function of the HTTP API serves."""
NAMED = {
    "dynamodb": {
        "!GetAtt Table.Arn",
        "!Sub ${Table.Arn}/index/byConversation",
        "!Sub ${Table.Arn}/index/allTrees",
    },
    "sqs": {"!GetAtt JobsQueue.Arn", "!GetAtt AgentFailures.Arn"},
    "logs": {f"!GetAtt {name}.Arn" for name in of_type(DOCUMENT, "AWS::Logs::LogGroup")},
}
"""All that a function may be allowed to use, by service."""


def short(value: Any) -> str:
    """Return a tag in its short form, so that a difference can be read."""
    [(name, inner)] = value.items()
    return f"!{name.removeprefix('Fn::')} {inner}"


def texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value, but no keys."""
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
    uri = of_type(DOCUMENT, "AWS::ApiGatewayV2::Integration")[integration[1]]["IntegrationUri"]["Fn::Sub"]
    function = re.search(r"functions/\$\{(\w+)\.Arn\}/invocations$", uri)
    assert function is not None, uri
    return function[1]


# Who may do what


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_role_names_what_it_is_for_and_each_verb(name: str) -> None:
    for statement in statements_by_function(DOCUMENT)[name]:
        services = {action.partition(":")[0] for action in statement.actions}
        assert len(services) == 1, "one service in a statement"
        assert all(re.fullmatch(r"\w+:[A-Z][A-Za-z]+", action) for action in statement.actions)
        assert {short(one) for one in statement.resources} <= NAMED[services.pop()]


def test_each_function_has_a_role_of_its_own_without_managed_policies() -> None:
    assert Counter(resource_of(function["Role"]) for function in FUNCTIONS.values()) == Counter([*ROLES])
    for name, role in ROLES.items():
        assert role.keys() == {"AssumeRolePolicyDocument", "Policies"}, name
        [trust] = role["AssumeRolePolicyDocument"]["Statement"]
        assert trust == {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }


def test_no_statement_of_a_role_holds_a_star() -> None:
    assert [text for role in ROLES.values() for text in texts(role) if "*" in text] == []


def test_the_authorizer_may_write_its_log_and_nothing_else() -> None:
    [statement] = statements_by_function(DOCUMENT)["AuthorizerFunction"]

    assert [short(one) for one in statement.resources] == ["!GetAtt AuthorizerLogs.Arn"]
    environment = FUNCTIONS["AuthorizerFunction"]["Environment"]["Variables"]
    assert (environment["FORKLORE_TABLE"], environment["FORKLORE_QUEUE"]) == ("", "")


def test_functions_are_run_by_this_api_alone_and_the_authorizer_as_its_authorizer() -> None:
    granted = {
        resource_of(permission["FunctionName"]): permission["SourceArn"]["Fn::Sub"].partition(
            "${AWS::AccountId}:"
        )[2]
        for permission in of_type(DOCUMENT, "AWS::Lambda::Permission").values()
        if (permission["Action"], permission["Principal"])
        == ("lambda:InvokeFunction", "apigateway.amazonaws.com")
    }

    assert len(of_type(DOCUMENT, "AWS::Lambda::Permission")) == len(granted)
    assert granted == {
        **dict.fromkeys(SERVED, "${Api}/*/*"),
        "AuthorizerFunction": "${Api}/authorizers/${Authorizer}",
    }


def test_the_functions_of_the_api_know_its_id_and_no_other_does() -> None:
    told = {
        name: function["Environment"]["Variables"]["FORKLORE_API"]
        for name, function in FUNCTIONS.items()
        if "FORKLORE_API" in function.get("Environment", {}).get("Variables", {})
    }

    assert told == {name: {"Ref": "Api"} for name in SERVED}


# Who is asked


def test_every_operation_has_a_route_that_leads_to_the_function_that_serves_it() -> None:
    routes = {route["RouteKey"]: route_target(route) for route in ROUTES.values()}

    assert routes == {
        f"{operation.method} {operation.path}": function
        for function, operations in SERVED.items()
        for operation in operations
    } | {"$default": "ConversationsFunction"}
    assert len(routes) == len(ROUTES)


def test_a_route_is_named_for_its_operation() -> None:
    operations = {f"{o.method} {o.path}": o.name for served in SERVED.values() for o in served}

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


def test_no_function_can_be_reached_around_the_api() -> None:
    kinds = {resource["Type"] for resource in DOCUMENT["Resources"].values()}

    assert kinds.isdisjoint({"AWS::Lambda::Url", "AWS::Serverless::Api", "AWS::Serverless::HttpApi"})
    for name, function in FUNCTIONS.items():
        assert "FunctionUrlConfig" not in function, name
        assert {event["Type"] for event in function.get("Events", {}).values()} <= {"SQS", "Schedule"}, name


def test_the_api_is_the_first_resource() -> None:
    """`sam local` takes its reader from the first resource that it knows."""
    assert next(iter(DOCUMENT["Resources"])) == "Api"


def test_browsers_are_let_in_from_named_origins_alone() -> None:
    cors = of_type(DOCUMENT, "AWS::ApiGatewayV2::Api")["Api"]["CorsConfiguration"]["Fn::If"]

    assert cors[0] == "HasCors"
    assert cors[1]["AllowOrigins"] == {"Fn::Split": [",", {"Ref": "CorsOrigins"}]}
    assert cors[1]["AllowMethods"] == ["GET", "POST", "PATCH", "DELETE"]
    assert "AllowCredentials" not in cors[1]
    assert [text for text in texts(cors) if "*" in text] == []
    assert cors[2] == {"Ref": "AWS::NoValue"}


# What is kept


def test_the_table_is_encrypted_recovered_and_kept() -> None:
    resource = DOCUMENT["Resources"]["Table"]

    assert TABLE["SSESpecification"] == {"SSEEnabled": True}
    assert TABLE["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert TABLE["DeletionProtectionEnabled"] == {"Ref": "DeletionProtection"}
    assert PARAMETERS["DeletionProtection"]["Default"] == "true"
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert TABLE["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert TABLE["BillingMode"] == "PAY_PER_REQUEST"


def test_queues_are_encrypted_and_what_keeps_failing_is_kept_apart() -> None:
    assert all(queue["SqsManagedSseEnabled"] is True for queue in QUEUES.values())
    redrive = QUEUES["JobsQueue"]["RedrivePolicy"]
    assert (resource_of(redrive["deadLetterTargetArn"]), redrive["maxReceiveCount"]) == ("DeadJobsQueue", 5)
    [event] = FUNCTIONS["DeleteGroupFunction"]["Events"].values()
    assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    invoked = FUNCTIONS["AgentFunction"]["EventInvokeConfig"]["DestinationConfig"]["OnFailure"]
    assert resource_of(invoked["Destination"]) == "AgentFailures"
    kept = [QUEUES[name]["MessageRetentionPeriod"] for name in ("DeadJobsQueue", "AgentFailures")]
    assert kept == [14 * 86_400, 14 * 86_400]


def test_a_message_stays_hidden_for_six_times_as_long_as_its_function_may_run() -> None:
    timeout = FUNCTIONS["DeleteGroupFunction"]["Timeout"]

    assert QUEUES["JobsQueue"]["VisibilityTimeout"] >= 6 * timeout


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_logs_to_a_group_of_its_own_for_as_long_as_the_parameter_says(name: str) -> None:
    group = resource_of(FUNCTIONS[name]["LoggingConfig"]["LogGroup"])

    assert group == name.replace("Function", "Logs")
    assert of_type(DOCUMENT, "AWS::Logs::LogGroup")[group]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert DOCUMENT["Globals"]["Function"]["LoggingConfig"]["LogFormat"] == "JSON"
    used = {short(one) for statement in statements_by_function(DOCUMENT)[name] for one in statement.resources}
    assert {one for one in used if "Logs" in one} == {f"!GetAtt {group}.Arn"}


def test_the_access_log_has_a_line_of_json_without_path_query_or_agent() -> None:
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


# What is watched


WATCHED = {
    "DeadJobsAlarm": ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadJobsQueue"),
    "AgentFailuresAlarm": ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "AgentFailures"),
    "FunctionErrorsAlarm": ("AWS/Lambda", "Errors", None),
    "FunctionThrottlesAlarm": ("AWS/Lambda", "Throttles", None),
    "ServerErrorsAlarm": ("AWS/ApiGateway", "5xx", "Api"),
    "TableThrottlesAlarm": ("forklore", "DynamoDBThrottles", "AWS::StackName"),
    "OldestJobAlarm": ("forklore", "OldestJob", "AWS::StackName"),
    "LargestTreeAlarm": ("forklore", "LargestTree", "AWS::StackName"),
    "ClockOffsetAlarm": ("forklore", "ClockOffset", "AWS::StackName"),
    "HeadsAheadAlarm": ("forklore", "HeadsAhead", "AWS::StackName"),
    "SweepSilentAlarm": ("forklore", "JobsOpen", "AWS::StackName"),
}
"""The metric that each alarm watches and, where it is one, the resource."""


def metrics_of(alarm: Properties) -> list[Properties]:
    """Return the metrics that an alarm reads: its own, or those of its expression."""
    if "Metrics" not in alarm:
        return [alarm]
    return [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]


def test_there_is_an_alarm_for_each_thing_that_somebody_must_know() -> None:
    assert ALARMS.keys() == WATCHED.keys()
    for name, (namespace, metric, of) in WATCHED.items():
        for read in metrics_of(ALARMS[name]):
            assert (read["Namespace"], read["MetricName"]) == (namespace, metric), name
            named = resource_of(read["Dimensions"][0]["Value"])
            assert named in (FUNCTIONS if of is None else {of}), name
            if namespace == "forklore":
                assert [dimension["Name"] for dimension in read["Dimensions"]] == ["stack"], name


@pytest.mark.parametrize("name", ["FunctionErrorsAlarm", "FunctionThrottlesAlarm"])
def test_no_function_is_left_out_of_an_alarm(name: str) -> None:
    read = [resource_of(metric["Dimensions"][0]["Value"]) for metric in metrics_of(ALARMS[name])]

    assert sorted(read) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_says_what_it_means_where_to_look_and_whom_to_tell(name: str) -> None:
    alarm = ALARMS[name]
    told = {"Fn::If": ["HasAlarmsTopic", [{"Ref": "AlarmsTopic"}], {"Ref": "AWS::NoValue"}]}

    assert alarm["AlarmDescription"].endswith(f". docs/operate.md, {name}.")
    assert f"\n### {name}\n" in (PROJECT / "docs/operate.md").read_text(encoding="utf-8")
    assert (alarm["AlarmActions"], alarm["OKActions"]) == (told, told)
    expected = "breaching" if name == "SweepSilentAlarm" else "notBreaching"
    assert alarm["TreatMissingData"] == expected


def test_the_dashboard_is_json_and_shows_every_alarm() -> None:
    [dashboard] = of_type(DOCUMENT, "AWS::CloudWatch::Dashboard").values()
    body = dashboard["DashboardBody"]["Fn::Sub"]
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


# What a deployment may say

HASH = "0f" * 32
REFUSED = {
    "Issuer": [
        "",
        "*",
        "http://login.example.com/",
        "login.example.com",
        "https://",
        "https://a b",
        "https://login.example.com/?x=1",
        "https://login.example.com/#x",
        "https://user@login.example.com/",
        "https://login.example.com/*",
        "https://one.example,https://two.example",
        " https://login.example.com/",
    ],
    "Audience": ["", "*", "a,", ",a", "a,,b", "a, b", "forklore,*", "forklore-*", "a\nb"],
    "UserIdClaim": ["", "*", "sub,email", "scope", "scp", "user id", "x" * 129],
    "Algorithms": ["", "none", "HS256", "RS256,HS256", "RS256,", "RS128", "rs256", "*", "RS256, ES256"],
    "IssuerKeys": ["*", "https://login.example.com/keys", '[{"kty":"RSA"}]', '{\n"keys": []}'],
    "ApiKeyHashes": [
        "*",
        "secret",
        "app=secret",
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
        "alice,*",
        "*,alice",
        "alice,",
        ",alice",
        "alice,,bob",
        "alice, bob",
        " ",
        " alice",
    ],
    "RolesClaim": ["*", "scope", "scp", "roles,groups", "my roles", "x" * 129],
    "CorsOrigins": [
        "*",
        "https://*",
        "https://*.example.com",
        "http://app.example.com",
        "http://127.0.0.1:3000",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://app.example.com,",
        "https://app.example.com, https://b.example.com",
        "https://app.example.com,*",
        "HTTPS://APP.EXAMPLE.COM",
        "null",
        "http://localhost.example.com",
    ],
    "AlarmsTopic": [
        "*",
        "alarms",
        "arn:aws:sqs:eu-central-1:123456789012:alarms",
        "arn:aws:sns:eu-central-1:*:alarms",
    ],
}
TAKEN = {
    "Issuer": [
        "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_aBcDeF123",
        "https://example.eu.auth0.com/",
        "https://dev-123456.okta.com/oauth2/default",
        "https://accounts.google.com",
        "https://localhost:8443/realms/forklore",
    ],
    "Audience": [
        "forklore",
        "https://api.example.com/",
        "api://default,1h57kf5cpq17m0eml12EXAMPLE",
        "1234567890-abc.apps.googleusercontent.com",
    ],
    "UserIdClaim": ["sub", "email", "cognito:username", "https://example.com/user_id"],
    "Algorithms": ["RS256,ES256", "EdDSA", "PS512", "ES384,RS384"],
    "IssuerKeys": [
        "",
        '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
    ],
    "ApiKeyHashes": ["", f"planner={HASH}", f"planner={HASH},my_app-2.0={HASH}"],
    "Admins": ["", "alice", "alice,ops-*", "*@example.com", "a*b*c"],
    "RolesClaim": ["", "roles", "cognito:groups", "https://example.com/roles", "scopes"],
    "CorsOrigins": [
        "",
        "https://app.example.com",
        "https://app.example.com:8443,http://localhost:3000",
        "http://localhost",
    ],
    "AlarmsTopic": [
        "",
        "arn:aws:sns:eu-central-1:123456789012:alarms",
        "arn:aws-cn:sns:cn-north-1:123456789012:a_b",
    ],
}
"""Values of parameters. CloudFormation matches a pattern against the whole value."""


def fits(name: str, value: str) -> bool:
    return re.fullmatch(PARAMETERS[name]["AllowedPattern"], value) is not None


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_an_unsafe_value_stops_the_deployment(name: str, value: str) -> None:
    assert not fits(name, value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TAKEN for value in TAKEN[name]])
def test_what_people_really_have_can_be_set(name: str, value: str) -> None:
    assert fits(name, value)


def test_roles_are_patterns_of_one_kind() -> None:
    patterns = {PARAMETERS[name]["AllowedPattern"] for name in ("Admins", "Auditors", "Indexers")}

    assert len(patterns) == 1


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_says_what_it_is_for_and_takes_no_free_text(name: str) -> None:
    parameter = PARAMETERS[name]

    assert parameter["Description"].endswith(".")
    if "AllowedPattern" in parameter:
        assert parameter["AllowedPattern"][0] + parameter["AllowedPattern"][-1] == "^$"
        assert re.search(rf"\b{name}\b|^name ", parameter["ConstraintDescription"])
        assert {name} <= REFUSED.keys() & TAKEN.keys() | {"Auditors", "Indexers"}
    else:
        assert parameter["Type"] == "Number" or parameter["AllowedValues"]


def test_without_an_issuer_and_an_audience_nothing_is_deployed_and_the_rest_is_safe_as_it_is() -> None:
    defaults = {name: parameter.get("Default") for name, parameter in PARAMETERS.items()}

    assert {name for name, default in defaults.items() if default is None} == {"Issuer", "Audience"}
    assert [defaults[name] for name in ("Admins", "Auditors", "CorsOrigins", "ApiKeyHashes")] == [""] * 4
    assert (defaults["DirectRoles"], defaults["DeletionProtection"]) == ("refused", "true")
    assert all(fits(name, str(defaults[name])) for name in TAKEN if defaults[name] is not None)


def test_no_account_region_or_secret_stands_in_the_template() -> None:
    text = (PROJECT / "template.yaml").read_text(encoding="utf-8")

    assert not re.search(r"\b\d{12}\b|\b(eu|us|ap)-[a-z]+-\d\b|AKIA", text)
