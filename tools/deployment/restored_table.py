"""A new table in the place of a stage's old one, with all its settings; and a restore into it.

The functions rest meanwhile.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from tools.deployment.asking_aws import Aws, code_of

HOURS_MAX = 24
GOES_ON = {"AuthorizerFunction"}
"""The functions that are not stopped: they write nothing."""


class RestoreError(Exception):
    """A step of a restore failed."""


class NewTable:
    """The new table `target` in the place of the table `source`.

    stack: the name of the stack whose functions use the table. Every step may be done again.
    """

    def __init__(self, aws: Aws, stack: str, *, source: str, target: str) -> None:
        self._aws = aws
        self._stack = stack
        self.source = source
        self.target = target

    # The functions

    def functions(self) -> list[str]:
        """Return the functions that are stopped."""
        resources = self._aws.pages(
            "cloudformation",
            "list_stack_resources",
            "StackResourceSummaries",
            "NextToken",
            StackName=self._stack,
        )
        return [
            one["PhysicalResourceId"]
            for one in resources
            if one["ResourceType"] == "AWS::Lambda::Function" and one["LogicalResourceId"] not in GOES_ON
        ]

    def _reservations(self) -> Iterator[tuple[str, int | None]]:
        for name in self.functions():
            answer = self._aws.call("lambda", "get_function_concurrency", FunctionName=name)
            yield name, answer.get("ReservedConcurrentExecutions")

    def foreign_reservations(self) -> list[str]:
        """Return the functions for which somebody else has reserved runs."""
        return [name for name, reserved in self._reservations() if reserved]

    def stopped(self) -> list[str]:
        """Return the functions that are stopped already."""
        return [name for name, reserved in self._reservations() if reserved == 0]

    def stop(self) -> None:
        """Let no new run of a function begin. Runs under way end by themselves.

        A function that is stopped already is told, because `start` starts it as well.
        """
        self._aws.tell(f"Stopping the functions of {self._stack}.")
        for name, reserved in self._reservations():
            if reserved == 0:
                self._aws.tell(f"{name} is stopped already. It is started at the end, too.")
            else:
                self._aws.call(
                    "lambda", "put_function_concurrency", FunctionName=name, ReservedConcurrentExecutions=0
                )

    def start(self) -> None:
        """Let the functions run again."""
        self._aws.tell(f"Starting the functions of {self._stack}.")
        for name in self.stopped():
            self._aws.call("lambda", "delete_function_concurrency", FunctionName=name)

    # The table

    def _describe(self, table: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._aws.call("dynamodb", "describe_table", TableName=table)["Table"]
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return None
            raise
        return found

    def _table(self, name: str) -> dict[str, Any]:
        found = self._describe(name)
        if found is None:
            raise RestoreError(f"there is no table {name}")
        return found

    def _wait_until_active(self) -> None:
        self._aws.wait(
            f"Waiting for {self.target}",
            lambda: self._table(self.target)["TableStatus"] == "ACTIVE",
            seconds=HOURS_MAX * 3600,
        )

    def configure(self) -> None:
        """Give the new table what a restore leaves out.

        That is: expiry of items, recovery, protection, tags and the stream.
        """
        self._aws.tell(f"Giving {self.target} the settings of {self.source}.")
        old, new = self._table(self.source), self._table(self.target)
        if old.get("DeletionProtectionEnabled") and not new.get("DeletionProtectionEnabled"):
            self._update(DeletionProtectionEnabled=True)
        stream = old.get("StreamSpecification", {})
        if stream.get("StreamEnabled") and not new.get("StreamSpecification", {}).get("StreamEnabled"):
            self._update(StreamSpecification=stream)
        self._let_items_expire()
        self._recover()
        tags = [
            tag
            for tag in self._aws.pages(
                "dynamodb", "list_tags_of_resource", "Tags", "NextToken", ResourceArn=old["TableArn"]
            )
            if not tag["Key"].startswith("aws:")
        ]
        if tags:
            self._aws.call("dynamodb", "tag_resource", ResourceArn=new["TableArn"], Tags=tags)

    def _update(self, **changes: Any) -> None:
        self._aws.call("dynamodb", "update_table", TableName=self.target, **changes)
        self._wait_until_active()

    def _let_items_expire(self) -> None:
        old, new = (
            self._aws.call("dynamodb", "describe_time_to_live", TableName=name)["TimeToLiveDescription"]
            for name in (self.source, self.target)
        )
        on = {"ENABLED", "ENABLING"}
        if old.get("TimeToLiveStatus") in on and new.get("TimeToLiveStatus") not in on:
            self._aws.call(
                "dynamodb",
                "update_time_to_live",
                TableName=self.target,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": old["AttributeName"]},
            )

    def _recover(self) -> None:
        """Turn on point-in-time recovery. DynamoDB refuses it for some minutes after a restore."""

        def is_on() -> bool:
            found = self._aws.call("dynamodb", "describe_continuous_backups", TableName=self.target)
            recovery = found["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
            if recovery.get("PointInTimeRecoveryStatus") == "ENABLED":
                return True
            try:
                self._aws.call(
                    "dynamodb",
                    "update_continuous_backups",
                    TableName=self.target,
                    PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
                )
            except ClientError as error:
                if code_of(error) != "ContinuousBackupsUnavailableException":
                    raise
            return False

        self._aws.wait(f"Turning on recovery of {self.target}", is_on, seconds=3600)


class Restoration(NewTable):
    """A restore of the table `source` to the moment `at`, into the new table `target`."""

    def __init__(self, aws: Aws, stack: str, *, source: str, target: str, at: datetime) -> None:
        super().__init__(aws, stack, source=source, target=target)
        self.at = at

    def problem(self) -> str | None:
        """Return why the table cannot be restored to that moment; None if it can."""
        if len(self.target) > 255:
            return f"{self.target} is too long for the name of a table"
        try:
            found = self._aws.call("dynamodb", "describe_continuous_backups", TableName=self.source)
        except ClientError as error:
            return f"{self.source} cannot be restored: {error}"
        recovery = found["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        if recovery.get("PointInTimeRecoveryStatus") != "ENABLED":
            return f"{self.source} has no point-in-time recovery, so it cannot be restored"
        earliest, latest = (
            recovery[name].astimezone(UTC)
            for name in ("EarliestRestorableDateTime", "LatestRestorableDateTime")
        )
        existing = self._describe(self.target)
        if existing is not None:
            summary = existing.get("RestoreSummary", {})
            if summary.get("SourceTableArn", "").rpartition("/")[2] != self.source:
                return f"{self.target} is no restore of {self.source}; delete it, or choose another TIME"
            restored = summary.get("RestoreDateTime")
            if restored is not None and restored.astimezone(UTC).replace(microsecond=0) != self.at:
                return f"{self.target} was restored to {restored}; delete it, or choose another TIME"
            return None
        if not earliest.replace(microsecond=0) <= self.at <= latest:
            return f"TIME must be from {earliest:%Y-%m-%dT%H:%M:%SZ} to {latest:%Y-%m-%dT%H:%M:%SZ}"
        return None

    def restore(self) -> None:
        """Restore into the new table, with the old one's key. It takes minutes to hours."""
        source = self._table(self.source)
        if self._describe(self.target) is None:
            self._aws.tell(f"Restoring {self.source} to {self.at:%Y-%m-%d %H:%M:%S} UTC, into {self.target}.")
            self._aws.call(
                "dynamodb",
                "restore_table_to_point_in_time",
                SourceTableName=self.source,
                TargetTableName=self.target,
                RestoreDateTime=self.at,
                **_encryption(source),
            )
        self._wait_until_active()


def _encryption(table: dict[str, Any]) -> dict[str, Any]:
    """Return the override that keeps the table's key; nothing if it has DynamoDB's own."""
    described = table.get("SSEDescription", {})
    if described.get("SSEType") != "KMS":
        return {}
    override = {"Enabled": True, "SSEType": "KMS"}
    if described.get("KMSMasterKeyArn"):
        override["KMSMasterKeyId"] = described["KMSMasterKeyArn"]
    return {"SSESpecificationOverride": override}
