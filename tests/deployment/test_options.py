"""The options of a deployment that are off unless a parameter turns them on."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.deployment.document import (
    FUNCTION,
    Properties,
    of_type,
    read_document,
    resource_of,
    with_options,
    without_options,
)
from tests.deployment.test_template import SERVED
from tools.deployment.release import stamp

DOCUMENT = read_document()
RESOURCES: Mapping[str, Any] = DOCUMENT["Resources"]
VERSIONS = of_type(DOCUMENT, "AWS::Lambda::Version")
FUNCTIONS = of_type(DOCUMENT, FUNCTION)
OPTIONAL = {name: one["Condition"] for name, one in RESOURCES.items() if "Condition" in one}
KEY = {"Fn::If": ["HasKmsKey", {"Ref": "KmsKeyArn"}, {"Ref": "AWS::NoValue"}]}


def names_in(value: Any) -> Iterator[str]:
    """Yield what `!Ref`, `!GetAtt`, `!Sub` and the conditions of `!If` name in a value."""
    match value:
        case {"Ref": str(name)}:
            yield name
        case {"Fn::GetAtt": str(name)}:
            yield name.partition(".")[0]
        case {"Fn::Sub": str(text)}:
            yield from re.findall(r"\$\{(\w+)(?:\.\w+)?\}", text)
        case {"Fn::If": [condition, *values]}:
            yield condition
            for one in values:
                yield from names_in(one)
        case Mapping():
            for one in value.values():
                yield from names_in(one)
        case list():
            for one in value:
                yield from names_in(one)


def parameters_of(function: Properties) -> set[str]:
    """Return the parameters that the settings of a function depend on, also by conditions."""
    named = set(names_in([DOCUMENT["Globals"]["Function"], function]))
    conditions = DOCUMENT["Conditions"]
    named |= {name for one in named & conditions.keys() for name in names_in(conditions[one])}
    return {name for name in named if name in DOCUMENT["Parameters"]}


def test_what_exists_only_with_an_option_is_used_only_with_it() -> None:
    used = [
        (name, used)
        for name, resource in RESOURCES.items()
        if "Condition" not in resource
        for used in names_in(_off(resource))
        if used in OPTIONAL
    ]

    assert used == []
    assert set(OPTIONAL.values()) >= {"HasDomain", "HasSnapStart"}
    for name, output in DOCUMENT["Outputs"].items():
        options = {OPTIONAL[used] for used in names_in(_off(output)) if used in OPTIONAL}
        assert options <= {output.get("Condition")}, name


def _off(value: Any) -> Any:
    """Return a value as it is without any option."""
    match value:
        case {"Fn::If": [_, _, off]}:
            return _off(off)
        case Mapping():
            return {name: _off(one) for name, one in value.items()}
        case list():
            return [_off(one) for one in value]
    return value


# SnapStart


def test_each_http_function_has_a_version_and_an_alias_of_it_with_snapstart() -> None:
    aliases = of_type(DOCUMENT, "AWS::Lambda::Alias")

    assert {resource_of(version["FunctionName"]) for version in VERSIONS.values()} == SERVED.keys()
    for name, alias in aliases.items():
        version = VERSIONS[resource_of(alias["FunctionVersion"])]
        assert alias["FunctionName"] == version["FunctionName"]
        assert name == resource_of(alias["FunctionName"]).replace("Function", "Alias")
    assert len(aliases) == len(VERSIONS)
    starting = {name: one["SnapStart"] for name, one in FUNCTIONS.items() if "SnapStart" in one}
    assert starting == {
        name: {"ApplyOn": {"Fn::If": ["HasSnapStart", "PublishedVersions", "None"]}} for name in SERVED
    }


@pytest.mark.parametrize("function", SERVED)
def test_the_gateway_calls_the_alias_and_may_do_so_before_it_does(function: str) -> None:
    """Without SnapStart it calls the function."""
    room = function.removesuffix("Function")
    integration = RESOURCES[f"{room}Integration"]
    uri = integration["Properties"]["IntegrationUri"]
    permitted = RESOURCES[f"{room}Permission"]["Properties"]["FunctionName"]

    assert with_options(uri)["Fn::Sub"].endswith(f":path/2015-03-31/functions/${{{room}Alias}}/invocations")
    assert without_options(uri)["Fn::Sub"].endswith(f"functions/${{{function}.Arn}}/invocations")
    assert (uri["Fn::If"][0], permitted["Fn::If"][0]) == ("HasSnapStart", "HasSnapStart")
    assert (with_options(permitted), without_options(permitted)) == (
        {"Ref": f"{room}Alias"},
        {"Fn::GetAtt": f"{function}.Arn"},
    )
    assert integration["DependsOn"] == f"{room}Permission"


@pytest.mark.failure("stale-settings")
@pytest.mark.parametrize("name", VERSIONS)
def test_whatever_changes_a_function_makes_a_new_version(name: str) -> None:
    """Otherwise its alias would go on with the old settings.

    What a version names beside that would be an error: Lambda publishes no version if the function
    has not changed.
    """
    function = FUNCTIONS[resource_of(VERSIONS[name]["FunctionName"])]
    described = set(names_in(VERSIONS[name]["Description"]))
    fixed_by_the_build = {"Architecture", "SnapStart"}

    assert described == (parameters_of(function) - fixed_by_the_build) | {"Table"}


def test_a_build_writes_its_digest_into_versions_and_their_functions() -> None:
    document = dict(read_document())
    before = {name: one["Description"] for name, one in of_type(document, FUNCTION).items()}

    stamp(document, "0123456789ab")

    for version in of_type(document, "AWS::Lambda::Version").values():
        assert version["Description"]["Fn::Sub"].startswith("0123456789ab ${Table} ")
    after = {name: one["Description"] for name, one in of_type(document, FUNCTION).items()}
    assert {name for name in after if after[name] != before[name]} == SERVED.keys()
    assert all(after[name] == f"{before[name]} Build 0123456789ab." for name in SERVED)
    with pytest.raises(ValueError, match="does not begin with 'unbuilt'"):
        stamp(document, "0123456789ab")


def test_a_description_fits_into_what_lambda_takes() -> None:
    """256 characters. The name of a stack that `make deploy` makes has 41 at most."""
    longest = {
        name: max(map(str, one["AllowedValues"]), key=len)
        for name, one in DOCUMENT["Parameters"].items()
        if "AllowedValues" in one
    } | {
        **dict.fromkeys(["UserRequestsPerMinute", "AttachmentsPerUser", "EntriesPerConversation"], "9" * 9),
        "AttachmentMegabytes": "100",
        "DeletedDays": "365",
        "RetentionDays": "36500",
        "Table": "s" * 41 + "-Table-123456789012-20261123T171500Z",
        "KmsKeyArn": "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/" + "k" * 40,
    }
    for version in VERSIONS.values():
        text = version["Description"]["Fn::Sub"].replace("unbuilt", "0123456789ab")
        filled = re.sub(r"\$\{(\w+)\}", lambda found: longest[found[1]], text)
        assert len(filled) <= 256, filled
    assert max(len(one["Description"]) for one in FUNCTIONS.values()) + len(" Build 0123456789ab.") <= 256


# A key of one's own


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("AWS::Logs::LogGroup", ["KmsKeyId"]),
        ("AWS::SQS::Queue", ["KmsMasterKeyId"]),
        ("AWS::DynamoDB::Table", ["SSESpecification", "KMSMasterKeyId"]),
    ],
)
def test_everything_that_is_stored_is_encrypted_with_the_key(kind: str, names: list[str]) -> None:
    for resource, properties in of_type(DOCUMENT, kind).items():
        value: Any = properties
        for name in names:
            value = value[name]
        assert value == KEY, resource


def test_the_settings_of_all_functions_are_encrypted_with_the_key() -> None:
    assert DOCUMENT["Globals"]["Function"]["KmsKeyArn"] == KEY
    assert [name for name, one in FUNCTIONS.items() if "KmsKeyArn" in one] == []


def test_sqs_encrypts_with_its_own_key_or_with_the_given_one_and_never_with_both() -> None:
    for queue in of_type(DOCUMENT, "AWS::SQS::Queue").values():
        assert queue["SqsManagedSseEnabled"] == {"Fn::If": ["HasKmsKey", False, True]}


# A domain name, and answers 429


def test_the_domain_name_leads_to_the_stage_and_needs_a_certificate() -> None:
    [domain] = of_type(DOCUMENT, "AWS::ApiGatewayV2::DomainName").values()
    [mapping] = of_type(DOCUMENT, "AWS::ApiGatewayV2::ApiMapping").values()

    assert domain["DomainNameConfigurations"] == [
        {
            "CertificateArn": {"Ref": "CertificateArn"},
            "EndpointType": "REGIONAL",
            "SecurityPolicy": "TLS_1_2",
        }
    ]
    assert mapping == {"ApiId": {"Ref": "Api"}, "DomainName": {"Ref": "Domain"}, "Stage": {"Ref": "Stage"}}
    [rule] = DOCUMENT["Rules"].values()
    assert list(names_in(rule)) == ["DomainName", "CertificateArn"]
    assert RESOURCES["Api"]["Properties"]["DisableExecuteApiEndpoint"] == {"Ref": "DisableDefaultEndpoint"}


def test_every_answer_429_is_counted_once_and_the_alarm_reads_the_count() -> None:
    """The access log has all answers of the API, the agent's log those of direct invocations."""
    filters = of_type(DOCUMENT, "AWS::Logs::MetricFilter")
    counted = {resource_of(one["LogGroupName"]): one["FilterPattern"] for one in filters.values()}
    [stage] = of_type(DOCUMENT, "AWS::ApiGatewayV2::Stage").values()

    assert counted == {
        "AccessLogs": '{ $.status = "429" }',
        "AgentLogs": '{ $.message = "request" && $.status = "429" }',
    }
    assert '"status":"$context.status"' in stage["AccessLogSettings"]["Format"]
    alarm = of_type(DOCUMENT, "AWS::CloudWatch::Alarm")["RefusedAlarm"]
    for one in filters.values():
        [written] = one["MetricTransformations"]
        assert (written["MetricNamespace"], written["MetricName"]) == (
            alarm["Namespace"],
            alarm["MetricName"],
        )
