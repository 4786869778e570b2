"""The descriptions of services are botocore's own, whichever way they are read."""

import json
from pathlib import Path

import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import Loader

from forklore_service.storage.descriptions import Descriptions, PlainFiles

SERVICES = ("dynamodb", "sqs", "events", "lambda", "sts", "sso", "sso-oidc", "signin")
"""Those that forklore calls, and those that botocore calls to get credentials."""
TYPES = ("service-2", "endpoint-rule-set-1")
FILES = ("endpoints", "partitions", "sdk-default-configuration", "_retry")


@pytest.fixture
def descriptions() -> Descriptions:
    return Descriptions(file_loader=PlainFiles())


def test_the_same_services_are_found(descriptions: Descriptions) -> None:
    assert descriptions.list_available_services("service-2") == Loader().list_available_services("service-2")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_described_as_botocore_describes_it(descriptions: Descriptions, service: str) -> None:
    for kind in TYPES:
        own = descriptions.load_service_model(service, kind)
        assert json.dumps(own) == json.dumps(Loader().load_service_model(service, kind))  # in its order


@pytest.mark.parametrize("name", FILES)
def test_what_belongs_to_no_service_is_the_same(descriptions: Descriptions, name: str) -> None:
    assert json.dumps(descriptions.load_data(name)) == json.dumps(Loader().load_data(name))


def test_a_service_of_the_users_own_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "own" / "2040-01-01").mkdir(parents=True)
    (tmp_path / "own" / "2040-01-01" / "service-2.json").write_text('{"metadata": {}}')
    found = Descriptions([str(tmp_path), str(tmp_path / "none")], PlainFiles())
    assert found.load_service_model("own", "service-2") == {"metadata": {}}
    assert "dynamodb" in found.list_available_services("service-2")


def test_what_there_is_not_is_refused_as_by_botocore(descriptions: Descriptions) -> None:
    with pytest.raises(UnknownServiceError):
        descriptions.load_service_model("nothing", "service-2")
    with pytest.raises(DataNotFoundError):
        descriptions.load_service_model("dynamodb", "nothing-1")
    with pytest.raises(DataNotFoundError):
        descriptions.load_data("nothing")


def test_a_file_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ValueError, match="Expecting"):
        Descriptions([str(tmp_path)], PlainFiles()).load_data("broken")
