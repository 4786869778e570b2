"""Whose AWS account a deployment goes to, and whether its stack can be deployed.

All that is asked here only reads. It runs before the first question, because an answer is no use
without an account that takes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from tools.deployment.asking_aws import Aws
from tools.deployment.forms import FORM, form_of

POLICY = "docs/deployer-policy.json"
CREDENTIALS = "Sign in with `aws sso login` or `aws configure`, or set AWS_PROFILE; see docs/deploy.md."
REGIONS = "Set AWS_REGION, or `region` of your profile."
_KEYS = {
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_PROFILE"),
    *("AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"),
}
"""What counts for more than AWS_PROFILE in the environment."""
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3})
_FAILED_AT_ONCE = {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED"}
"""The states of a stack that was never complete. CloudFormation can only delete it."""
_STUCK = {
    "DELETE_FAILED": "its deletion failed. Delete it again; docs/deploy.md, Removing",
    "UPDATE_ROLLBACK_FAILED": "an update failed, and its way back, too. Mend what the stack's events name, "
    "then run `aws cloudformation continue-update-rollback`",
    "IMPORT_ROLLBACK_FAILED": "an import failed, and its way back, too. Ask AWS Support, or mend what the "
    "stack's events name",
}
"""The states of a stack that CloudFormation does not update, and what to do."""
_WHOLE = {
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
}
"""The states of a stack that has all of its resources."""


class AccountError(Exception):
    """There is no account, or it cannot be deployed to. The message says what to do."""


@dataclass(frozen=True)
class Account:
    """An account, as one of its users or roles. who: the ARN of that.

    profile: the one of AWS's settings that a stage names; None if it names none.
    """

    id: str
    who: str
    region: str
    session: Any
    profile: str | None = None

    def client(self, service: str) -> Any:
        """Return a client of a service in the region."""
        return self.session.client(service, config=_CONFIG)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment in which another program acts as the same user or role."""
        if self.profile is None:
            return dict(environ)
        kept = {name: value for name, value in environ.items() if name not in _KEYS}
        return kept | {"AWS_PROFILE": self.profile}


def find_account(region: str | None, environ: Mapping[str, str], *, profile: str | None = None) -> Account:
    """Return the account that the usual settings of AWS's tools lead to.

    region: the stage's, if one is kept; else AWS_REGION, AWS_DEFAULT_REGION or the profile's.
    profile: the stage's, if one is kept. As for SAM, it counts for more than the environment.
    Raises AccountError without a region, without credentials, or if AWS refuses them.
    """
    try:
        session = boto3.Session(
            region_name=region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
            profile_name=profile,
        )
        found = session.region_name
        if not found:
            raise AccountError(f"There is no region. {REGIONS}")
        answer = session.client("sts", config=_CONFIG).get_caller_identity()
    except NoCredentialsError as error:
        raise AccountError(f"There are no credentials of AWS. {CREDENTIALS}") from error
    except ClientError as error:
        raise AccountError(f"AWS refuses the credentials: {_reason(error)}. {CREDENTIALS}") from error
    except (BotoCoreError, ValueError) as error:
        raise AccountError(
            f"AWS could not be asked whose credentials these are: {error}. {CREDENTIALS} {REGIONS}"
        ) from error
    return Account(answer["Account"], answer["Arn"], found, session, profile)


def stack_state(account: Account, stack: str) -> str | None:
    """Return the state of a stack, such as UPDATE_COMPLETE; None if there is no such stack.

    Raises AccountError if that may not be asked, or if the stack cannot be deployed as it is.
    """
    try:
        [found] = account.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise AccountError(
            f"{stack} cannot be looked at: {_reason(error)}. {POLICY} is what is needed."
        ) from error
    except BotoCoreError as error:
        raise AccountError(f"CloudFormation could not be asked: {error}. {REGIONS}") from error
    state: str = found["StackStatus"]
    if state in _FAILED_AT_ONCE:
        raise AccountError(
            f"The first deployment of {stack} failed ({state}), and such a stack can only be deleted. "
            f"Do so with `.sam/bin/sam delete --stack-name {stack} --region {account.region}`; "
            "docs/deploy.md, Removing, says what stays."
        )
    if state in _STUCK:
        raise AccountError(f"{stack} is {state}: {_STUCK[state]}.")
    if state in _WHOLE:
        table = _table_of(account, stack)
        if table is None:
            raise AccountError(
                f"{stack} has no table of its own: a restore or an upgrade of it is not finished. "
                "Repeat the command that began it; docs/operate.md, Backup and restore."
            )
        try:
            form = form_of(Aws(account.client), table)
        except ClientError as error:
            raise AccountError(
                f"{table} cannot be looked at: {_reason(error)}. {POLICY} is what is needed."
            ) from error
        if form != FORM:
            raise AccountError(
                f"{table} has form {form}, and this version reads and writes {FORM}. "
                "`make upgrade` moves the data into a table of a later form; docs/upgrade.md."
            )
    if state.endswith("_IN_PROGRESS") and state != "REVIEW_IN_PROGRESS":
        raise AccountError(f"{stack} is being changed ({state}). Wait for its end, then try again.")
    return state


def _table_of(account: Account, stack: str) -> str | None:
    """Return the stack's table. Without one, a deployment would make a new, empty one."""
    try:
        found = account.client("cloudformation").describe_stack_resources(
            StackName=stack, LogicalResourceId="Table"
        )
    except ClientError as error:
        if error.response["Error"].get("Code") != "ValidationError":
            raise AccountError(
                f"{stack} cannot be looked at: {_reason(error)}. {POLICY} is what is needed."
            ) from error
        return None
    return next((one["PhysicalResourceId"] for one in found["StackResources"] if is_there(one)), None)


def is_there(resource: Mapping[str, Any]) -> bool:
    """Tell whether a resource of a stack, as CloudFormation describes it, is still the stack's.

    What a stack has let go of is described for some time, as DELETE_SKIPPED for one.
    """
    return not resource["ResourceStatus"].startswith("DELETE_") and bool(resource.get("PhysicalResourceId"))


def _reason(error: ClientError) -> str:
    said = error.response["Error"]
    return f"{said.get('Code', 'unknown')}, {said.get('Message', '').rstrip('.')}"
