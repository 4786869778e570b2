import pytest

from forklore_service.aws.wiring import Given, ServiceSettings, give, open_objects
from forklore_service.storage.objects_s3 import S3Objects


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (
        "FORKLORE_DYNAMODB_ENDPOINT",
        "FORKLORE_QUEUE",
        "FORKLORE_DELETE_WAIT_SECONDS",
        "FORKLORE_RETENTION_DAYS",
        "FORKLORE_RETENTION_TAG",
        "FORKLORE_DIRECT_USERS",
        "FORKLORE_LOG_USERS",
        "FORKLORE_ATTACHMENTS",
        "FORKLORE_ATTACHMENT_MEGABYTES",
        "FORKLORE_ATTACHMENTS_PER_USER",
        "FORKLORE_ENTRIES_PER_CONVERSATION",
        "FORKLORE_RECALL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORKLORE_TABLE", "t")
    return monkeypatch


def test_only_the_table_must_be_set(environment: pytest.MonkeyPatch) -> None:
    assert ServiceSettings.from_environment() == ServiceSettings("t", None, None, 60)

    environment.delenv("FORKLORE_TABLE")
    with pytest.raises(RuntimeError, match="FORKLORE_TABLE"):
        ServiceSettings.from_environment()


def test_every_setting_is_read(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FORKLORE_QUEUE", "https://sqs/jobs")
    environment.setenv("FORKLORE_DELETE_WAIT_SECONDS", "2")
    environment.setenv("FORKLORE_RETENTION_DAYS", "365")
    environment.setenv("FORKLORE_RETENTION_TAG", "ignored")
    environment.setenv("FORKLORE_DIRECT_USERS", "planner=ann lee, ops=*")
    environment.setenv("FORKLORE_LOG_USERS", "plain")
    environment.setenv("FORKLORE_ATTACHMENTS", "a-bucket")
    environment.setenv("FORKLORE_ATTACHMENT_MEGABYTES", "7")
    environment.setenv("FORKLORE_ENTRIES_PER_CONVERSATION", "9000")
    environment.setenv("FORKLORE_RECALL", "titan")

    expected = ServiceSettings(
        "t",
        None,
        "https://sqs/jobs",
        2,
        retention_days=365,
        ignore_retention_tag=True,
        direct_users=(("planner", "ann lee"), ("ops", "*")),
        logs_users=True,
        attachments="a-bucket",
        attachment_bytes_max=7_000_000,
        entries_per_conversation=9_000,
        recall="titan",
    )
    assert ServiceSettings.from_environment() == expected


def test_the_bytes_of_attachments_lie_in_the_bucket_if_one_is_set(environment: pytest.MonkeyPatch) -> None:
    give(Given())
    assert open_objects() is None

    environment.setenv("FORKLORE_ATTACHMENTS", "a-bucket")
    give(Given())
    assert isinstance(open_objects(), S3Objects)
    give(Given())


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("days", ["-1", "1.5", "36501", "a year", "²"])
def test_an_invalid_retention_is_refused(environment: pytest.MonkeyPatch, days: str) -> None:
    environment.setenv("FORKLORE_RETENTION_DAYS", days)

    with pytest.raises(RuntimeError, match="FORKLORE_RETENTION_DAYS"):
        ServiceSettings.from_environment()


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("megabytes", ["-1", "1.5", "101", "many"])
def test_an_invalid_size_of_attachments_is_refused(environment: pytest.MonkeyPatch, megabytes: str) -> None:
    environment.setenv("FORKLORE_ATTACHMENT_MEGABYTES", megabytes)

    with pytest.raises(RuntimeError, match="FORKLORE_ATTACHMENT_MEGABYTES"):
        ServiceSettings.from_environment()


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("name", ["FORKLORE_ATTACHMENTS_PER_USER", "FORKLORE_ENTRIES_PER_CONVERSATION"])
@pytest.mark.parametrize("bound", ["-1", "1.5", "many"])
def test_an_invalid_bound_is_refused(environment: pytest.MonkeyPatch, name: str, bound: str) -> None:
    environment.setenv(name, bound)

    with pytest.raises(RuntimeError, match=name):
        ServiceSettings.from_environment()


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("wait", ["-1", "1.5", "900", "soon", "²"])
def test_an_invalid_wait_is_refused(environment: pytest.MonkeyPatch, wait: str) -> None:
    environment.setenv("FORKLORE_DELETE_WAIT_SECONDS", wait)

    with pytest.raises(RuntimeError, match="FORKLORE_DELETE_WAIT_SECONDS"):
        ServiceSettings.from_environment()
