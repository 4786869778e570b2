"""The parts of a restore that need no AWS. All of it runs in test_emulated_restore.py."""

import json
import re

import pytest

from tests.deployment.document import read_document
from tools.deployment import restore as tool
from tools.deployment.adopting import without_table
from tools.deployment.restore import InputError, moment
from tools.deployment.restored_table import RestoreError

OLD = {"Ref": "x-1", "Arn": "arn:x-1", "StreamArn": "arn:x-1/stream/1"}
NAMES = {"Ref": "new", "Arn": "arn:new", "StreamArn": "arn:new/stream"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-23",
        "2026-11-23T17:15:00",
        "17:15:00Z",
        "2026-11-23T17:15Z",
        "2026-13-01T00:00:00Z",
    ],
)
def test_a_moment_needs_a_date_a_time_and_an_offset(text: str) -> None:
    with pytest.raises(InputError, match="is no moment such as 2026-11-23T17:15:00Z"):
        moment(text)


def test_a_wrong_time_is_told_before_anything_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main("default", "yesterday", {}) == 2
    assert "TIME=yesterday is no moment" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "after"),
    [
        ({"Ref": "Table"}, "new"),
        ({"Ref": "Tables"}, {"Ref": "Tables"}),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "arn:new"),
        ({"Fn::GetAtt": "Table.StreamArn"}, "arn:new/stream"),
        ({"Fn::GetAtt": ["Other", "Arn"]}, {"Fn::GetAtt": ["Other", "Arn"]}),
        ({"Fn::Sub": "${Table.Arn}/index/a of ${Table}"}, {"Fn::Sub": "arn:new/index/a of new"}),
        (
            {"Fn::Sub": ["${Table}/${X}", {"X": {"Ref": "Table"}}]},
            {"Fn::Sub": ["new/${X}", {"X": "new"}]},
        ),
        ({"Fn::Sub": "${Tables} ${TableName}"}, {"Fn::Sub": "${Tables} ${TableName}"}),
        ([{"Ref": "Table"}, "Table"], ["new", "Table"]),
        (
            {"A": "x-1", "B": ["arn:x-1/index/a", "arn:x-1/stream/1"]},
            {"A": "new", "B": ["arn:new/index/a", "arn:new/stream"]},
        ),
        ({"A": "x-1-2", "B": "x-12"}, {"A": "x-1-2", "B": "x-12"}),
        ({"DependsOn": "Table"}, {}),
        ({"DependsOn": ["Other", "Table"]}, {"DependsOn": ["Other"]}),
        ({"DependsOn": "Other"}, {"DependsOn": "Other"}),
    ],
)
def test_every_reference_to_the_table_becomes_the_new_name(value: object, after: object) -> None:
    template = {"Resources": {"Table": {"Type": "T"}, "Other": {"Properties": value}}}

    assert without_table(template, NAMES, before=OLD) == {"Resources": {"Other": {"Properties": after}}}
    assert template["Resources"]["Table"] == {"Type": "T"}


def test_an_attribute_that_the_restored_table_lacks_stops_the_restore() -> None:
    template = {"Resources": {"Table": {}, "Other": {"Fn::GetAtt": ["Table", "StreamArn"]}}}

    with pytest.raises(RestoreError, match=r"the template uses Table\.StreamArn"):
        without_table(template, {"Ref": "new", "Arn": "arn:new"}, before=OLD)


def test_nothing_in_the_template_names_the_table_any_more() -> None:
    changed = json.dumps(without_table(read_document(), NAMES, before=OLD))

    assert re.findall(r'\$\{Table[.}]|"Table["."]', changed) == []


def test_the_old_table_is_kept_by_the_template() -> None:
    """The restore relies on it: CloudFormation lets go of the old table."""
    table = read_document()["Resources"]["Table"]

    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert "TableName" not in table["Properties"]
