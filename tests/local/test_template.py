from pathlib import Path

import boto3
import moto
import pytest

from forklore.local.template import Function, Route, read_template
from tests.local.project import TEMPLATE, write_project

FORKLORE = Path(__file__).parents[2] / "template.yaml"


def test_a_function_has_its_own_properties_then_the_globals_then_lambdas_defaults(tmp_path: Path) -> None:
    echo, odd = read_template(write_project(tmp_path)).functions

    assert echo == Function(
        name="Echo",
        module="sample_functions.echo.app",
        attribute="handler",
        timeout_seconds=1,
        memory_mb=256,
        routes=(Route("POST", "/v1/conversations"), Route("ANY", "/echo/{name}")),
        every_seconds=(300,),
    )
    assert (odd.timeout_seconds, odd.memory_mb) == (29, 128)


def test_the_default_route_has_its_own_key(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE.replace('"ANY /echo/{name}"', "$default"))

    routes = read_template(template).functions[0].routes
    assert routes == (Route("POST", "/v1/conversations"), Route("ANY", ""))
    assert [route.key for route in routes] == ["POST /v1/conversations", "$default"]


@pytest.mark.parametrize("key", ["ANY", "/echo/{name}", "any /echo", "ANY echo", "*"])
def test_an_incomplete_route_is_refused(tmp_path: Path, key: str) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE.replace("ANY /echo/{name}", key))

    with pytest.raises(ValueError, match="a route key must be"):
        read_template(template)


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ('!Sub "integrations/${OddIntegration}"', '!Sub "integrations/${Odd}"'),
        ('!Sub "integrations/${OddIntegration}"', "integrations/OddIntegration"),
        ("${Odd.Arn}", "${Table.Arn}"),
    ],
)
def test_a_route_that_leads_to_no_function_is_refused(tmp_path: Path, said: str, other: str) -> None:
    template = tmp_path / "template.yaml"
    assert said in TEMPLATE
    template.write_text(TEMPLATE.replace(said, other))

    with pytest.raises(ValueError, match="OddRoute leads to no function"):
        read_template(template)


def test_the_table_has_the_parameters_of_create_table(tmp_path: Path) -> None:
    assert read_template(write_project(tmp_path)).table == {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    }


def test_a_template_without_a_table_is_refused(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE.replace("AWS::DynamoDB::Table", "AWS::SNS::Topic"))

    with pytest.raises(ValueError, match="0 tables"):
        read_template(template)


@pytest.mark.parametrize(
    "tag", ["!Join ['-', [!Ref A, b]]", "!Sub x", "!GetAtt A.Arn", "!If [A, [b], !Ref C]"]
)
def test_cloudformations_short_tags_are_read(tmp_path: Path, tag: str) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(f"{TEMPLATE}Outputs: {{ Some: {{ Value: {tag} }} }}\n")

    assert len(read_template(template).functions) == 2


def test_forklores_own_template_is_read_and_its_table_can_be_created() -> None:
    template = read_template(FORKLORE)

    assert "POST /v1/conversations" in {route.key for one in template.functions for route in one.routes}
    for function in template.functions:
        assert (FORKLORE.parent / function.module.replace(".", "/")).parent.is_dir(), function.module
    with moto.mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        made = client.create_table(TableName="forklore", **template.table)["TableDescription"]
        assert made["KeySchema"] == template.table["KeySchema"]
