import pytest

from forklore_service.aws.wiring import ServiceSettings


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

    expected = ServiceSettings(
        "t",
        None,
        "https://sqs/jobs",
        2,
        retention_days=365,
        ignore_retention_tag=True,
        direct_users=(("planner", "ann lee"), ("ops", "*")),
        logs_users=True,
    )
    assert ServiceSettings.from_environment() == expected


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("days", ["-1", "1.5", "36501", "a year", "²"])
def test_an_invalid_retention_is_refused(environment: pytest.MonkeyPatch, days: str) -> None:
    environment.setenv("FORKLORE_RETENTION_DAYS", days)

    with pytest.raises(RuntimeError, match="FORKLORE_RETENTION_DAYS"):
        ServiceSettings.from_environment()


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("wait", ["-1", "1.5", "900", "soon", "²"])
def test_an_invalid_wait_is_refused(environment: pytest.MonkeyPatch, wait: str) -> None:
    environment.setenv("FORKLORE_DELETE_WAIT_SECONDS", wait)

    with pytest.raises(RuntimeError, match="FORKLORE_DELETE_WAIT_SECONDS"):
        ServiceSettings.from_environment()
