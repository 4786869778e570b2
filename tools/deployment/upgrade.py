"""Move a stage's data into a new table of the form that this version knows, and back.

python -m tools.deployment.upgrade STAGE          move what must be moved
python -m tools.deployment.upgrade STAGE start    start the functions, after the deployment

`make upgrade` runs both, and `make deploy` in between. These variables may be set:

* COPY=yes: also copy a table that has the form already.
* BACK=TABLE: go back to that table, which an upgrade has replaced. Run it in the earlier checkout.
* CONFIRM=no: ask nothing.
* FSCK_PYTHON: the Python that has forklore, for the copy and fsck.

The steps: end all writes to the table, which serves reads from then on; make a new table of the
same keys, indexes and settings; copy all items; check the copy with fsck; stop the functions; let
them use the new table; make it the stack's table. What is done is read from AWS each time. So after
any failure the same command goes on where it stopped. The old table is never deleted, and none of
its items is ever changed.

Exit codes: 0; 1 if a step failed; 2 for bad input, before anything is changed; 130 after Ctrl+C.
"""

import json
import os
import re
import subprocess  # nosec B404 # it starts forklore with a fixed command
import sys
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tools.deployment.account import Account, AccountError, find_account
from tools.deployment.adopting import Adoption
from tools.deployment.asking_aws import Aws, WaitError, code_of
from tools.deployment.forms import FORM, TAG, form_of
from tools.deployment.restore import InputError, asks, kept_of
from tools.deployment.restore import intact as checked
from tools.deployment.restored_table import NewTable, RestoreError

WRITES_END_SECONDS = 60
"""So long a policy may take until it counts everywhere, and a request may go on."""
SUFFIX = re.compile(r"-upgrade([0-9]{1,4})$")
WRITES = ["dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
SID = "ForkloreUpgrade"
_OF_INDEXES = {
    "LocalSecondaryIndexes": ("IndexName", "KeySchema", "Projection"),
    "GlobalSecondaryIndexes": ("IndexName", "KeySchema", "Projection"),
    "VectorIndexes": (
        *("IndexName", "VectorAttribute", "SearchSchema", "Projection"),
        *("Dimensions", "DistanceFunction"),
    ),
}


def target_name(table: str) -> str:
    """Return the name of the table that an upgrade makes of one.

    >>> target_name("forklore-Table-1A")
    'forklore-Table-1A-upgrade1'
    >>> target_name("forklore-Table-1A-upgrade1")
    'forklore-Table-1A-upgrade2'
    """
    found = SUFFIX.search(table)
    return f"{SUFFIX.sub('', table)}-upgrade{int(found[1]) + 1 if found else 1}"


class Upgrade(NewTable):
    """A copy of the table `source` into the new table `target`. Every step may be done again."""

    def freeze(self) -> None:
        """End all writes to the old table. Reads go on. Raises InputError if it has a policy."""
        arn = self._table(self.source)["TableArn"]
        policy = self._policy(arn)
        if policy is not None and SID not in policy:
            raise InputError(f"{self.source} has a resource policy, and an upgrade would replace it")
        if policy is None:
            self._aws.tell(f"Ending the writes to {self.source}. It serves reads.")
            denied = {"Sid": SID, "Effect": "Deny", "Principal": "*", "Action": WRITES, "Resource": arn}
            document = json.dumps({"Version": "2012-10-17", "Statement": [denied]})
            self._aws.call("dynamodb", "put_resource_policy", ResourceArn=arn, Policy=document)
        self._aws.pause(WRITES_END_SECONDS)

    def is_frozen(self, table: str) -> bool:
        """Tell whether an upgrade has ended the writes to a table."""
        return SID in (self._policy(self._table(table)["TableArn"]) or "")

    def thaw(self, table: str) -> None:
        """Let a table take writes again, if an upgrade has ended them."""
        if self.is_frozen(table):
            self._aws.tell(f"{table} takes writes again.")
            arn = self._table(table)["TableArn"]
            self._aws.call("dynamodb", "delete_resource_policy", ResourceArn=arn)

    def _policy(self, arn: str) -> str | None:
        try:
            return str(self._aws.call("dynamodb", "get_resource_policy", ResourceArn=arn)["Policy"])
        except ClientError as error:
            if code_of(error) == "PolicyNotFoundException":
                return None
            raise

    def make(self) -> None:
        """Make the new table, empty, with the keys, the indexes and the key of the old one."""
        if self._describe(self.target) is None:
            self._aws.tell(f"Making {self.target}.")
            self._aws.call("dynamodb", "create_table", **definition(self._table(self.source), self.target))
        self._wait_until_active()

    def mark(self, form: int) -> None:
        """Say which form the new table has."""
        arn, tags = self._table(self.target)["TableArn"], [{"Key": TAG, "Value": str(form)}]
        self._aws.call("dynamodb", "tag_resource", ResourceArn=arn, Tags=tags)

    def exists(self, table: str) -> bool:
        return self._describe(table) is not None


def definition(described: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what makes a table like the one that is described."""
    made: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": described["AttributeDefinitions"],
        "KeySchema": described["KeySchema"],
    }
    for kind, members in _OF_INDEXES.items():
        indexes = [
            {member: one[member] for member in members if member in one} for one in described.get(kind, [])
        ]
        if indexes:
            made[kind] = indexes
    encrypted = described.get("SSEDescription", {})
    if encrypted.get("SSEType") == "KMS":
        made["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
        if encrypted.get("KMSMasterKeyArn"):
            made["SSESpecification"]["KMSMasterKeyId"] = encrypted["KMSMasterKeyArn"]
    return made


def upgrade(
    aws: Aws,
    stack: str,
    *,
    confirm: Callable[[str], bool],
    copy: Callable[[str, str], bool],
    check: Callable[[str], bool],
    always: bool = False,
) -> str:
    """Do all steps that are not done yet. Return the name of the table that is used then.

    The functions are stopped then, if there was anything to do: `start` starts them. confirm: tells
    whether to go on. copy: copies a table into another, and tells whether it is done. check: tells
    whether a table is intact. always: copy a table that has the form already. Raises InputError
    before anything is changed, RestoreError if a step fails.
    """
    adoption = Adoption(aws, stack)
    adoption.settle()
    source, is_adopted = adoption.table()
    moving = Upgrade(aws, stack, source=source, target=target_name(source))
    form, is_begun = form_of(aws, source), moving.is_frozen(source)
    if not is_adopted or (form == FORM and moving.stopped() and not is_begun):
        adoption.adopt(source)  # all but the start is done
        return source
    if form > FORM:
        raise InputError(f"{source} has form {form}, and this version knows {FORM}. Use a newer one.")
    if form == FORM and not always and not is_begun:
        aws.tell(f"{source} has form {form}. Nothing is to be moved.")
        return source
    reserved = moving.foreign_reservations()
    if reserved:
        raise InputError(
            f"{', '.join(reserved)}: reserved concurrency is set, and an upgrade would lose it. "
            "Remove it first."
        )
    target = moving.target
    if moving.exists(target) and not is_begun:  # what was written since is not in it
        raise InputError(f"{target} is left from an upgrade that was given up. Delete it first.")
    if not confirm(f"{stack} gets the table {target}. Until that is done, nothing can be written."):
        raise InputError("Nothing is changed.")
    moving.freeze()
    moving.make()
    aws.tell(f"Copying {source} into {target}.")
    if not copy(source, target):
        raise RestoreError(
            f"The copy is not done. Delete {target} first if that is in use. {_way_back(source)}"
        )
    aws.tell(f"Checking {target}.")
    if not check(target):
        raise RestoreError(f"{target} is not intact, or could not be checked. {_way_back(source)}")
    moving.configure()
    moving.mark(FORM)
    _use(adoption, moving, source, target)
    return target


def go_back(aws: Aws, stack: str, to: str, *, confirm: Callable[[str], bool]) -> str:
    """Let the stack use the table that an upgrade has replaced, or wanted to replace.

    The functions are stopped then: `start` starts them. Raises InputError before anything is
    changed, RestoreError if a step fails.
    """
    adoption = Adoption(aws, stack)
    adoption.settle()
    named, is_adopted = adoption.table()
    moving = Upgrade(aws, stack, source=named, target=to)
    if SUFFIX.sub("", to) != SUFFIX.sub("", named) or not moving.exists(to):
        raise InputError(f"BACK={to} is no table of {stack}, which has {named}")
    if form_of(aws, to) != FORM:
        raise InputError(f"{to} has form {form_of(aws, to)}, and this version knows {FORM}: use its own")
    if not is_adopted and named != to:
        raise InputError(f"The move to {named} is not finished. Repeat its command first.")
    if not confirm(f"{stack} gets the table {to}. What was written to {named} since is not in it."):
        raise InputError("Nothing is changed.")
    _use(adoption, moving, named, to)
    moving.thaw(to)
    return to


def _use(adoption: Adoption, moving: Upgrade, source: str, target: str) -> None:
    moving.stop()
    if source != target:
        adoption.switch(source, target)
    adoption.adopt(target)


def start(aws: Aws, stack: str) -> None:
    """Start the functions, if they are stopped."""
    table, is_adopted = Adoption(aws, stack).table()
    moving = Upgrade(aws, stack, source=table, target=table)
    if is_adopted and moving.stopped():
        moving.start()
        aws.tell(f"{stack} uses {table}. The other table is kept, and costs, until you delete it.")


def _way_back(table: str) -> str:
    return f"The stack still has {table}, which takes no writes: BACK={table} lets it take them again."


def bucket_of(aws: Aws, stack: str) -> str | None:
    """Return the bucket of a stack's attachments; None if it keeps none."""
    [found] = aws.call("cloudformation", "describe_stacks", StackName=stack)["Stacks"]
    outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
    return outputs.get("AttachmentsBucketName")


def copied(
    source: str, target: str, bucket: str | None, account: Account, environ: Mapping[str, str]
) -> bool:
    """Copy a table into another. Tell whether it is done. Attachments keep their place."""
    command = [environ.get("FSCK_PYTHON") or sys.executable, "-m", "forklore.cli", "copy-table"]
    command += [f"table:{source}", f"table:{target}", "--region", account.region]
    command += ["--bucket", bucket] if bucket else []
    return subprocess.run(command, check=False, env=account.environment(environ)).returncode == 0  # nosec B603 # no shell


def main(stage: str, step: str = "move", *, environ: Mapping[str, str] = os.environ) -> int:
    """Upgrade. Return the exit code."""
    try:
        kept = kept_of(stage)
        account = find_account(kept.region, environ, profile=kept.profile)
        aws, back = Aws(account.client), environ.get("BACK")
        if step == "start":
            start(aws, kept.stack)
            return 0
        print(f"The stack {kept.stack} in account {account.id}, {account.region}, as {account.who}.")
        if back:
            go_back(aws, kept.stack, back, confirm=asks(environ))
        else:
            upgrade(
                aws,
                kept.stack,
                confirm=asks(environ),
                copy=lambda source, target: copied(
                    source, target, bucket_of(aws, kept.stack), account, environ
                ),
                check=lambda table: checked(table, account, environ),
                always=environ.get("COPY") == "yes",
            )
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except (AccountError, RestoreError, WaitError, ClientError, BotoCoreError) as error:
        print(f"{error}\nThe same command goes on where it stopped.", file=sys.stderr)
        return 1
    except (EOFError, KeyboardInterrupt):
        print("\nStopped. The same command goes on where it stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
