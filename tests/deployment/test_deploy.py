"""What `make deploy` asks and keeps, and what it refuses before it asks.

A server on this machine answers for STS and CloudFormation, with answers as AWS writes them. On an
emulator of CloudFormation all of `make deploy` runs in `make deploy-emulated`.
"""

import json
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.deployment.document import PROJECT, read_document
from tools.deployment import deploy
from tools.deployment.account import Account, AccountError
from tools.deployment.deploy import InputError, ask, prepare
from tools.deployment.parameters import Parameter, read_parameters
from tools.deployment.samconfig import Kept, read_stage, write_stage

PARAMETERS = read_parameters(read_document())
ISSUER, AUDIENCE = "https://login.example.com/", "https://api.example.com/"
BOTH = {"ISSUER": ISSUER, "AUDIENCE": AUDIENCE}
REGION = "eu-central-1"
SAMCONFIG = (PROJECT / "samconfig.toml").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The checkout's samconfig.toml, where a test may write it."""
    path = tmp_path / "samconfig.toml"
    path.write_text(SAMCONFIG, encoding="utf-8")
    return path


IDENTITY = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<GetCallerIdentityResult><Arn>arn:aws:sts::123456789012:assumed-role/deployer/ann</Arn><UserId>x</UserId>
<Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"""
STACK = """<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
<DescribeStacksResult><Stacks><member><StackName>forklore</StackName><CreationTime>2026-01-01T00:00:00Z
</CreationTime><StackStatus>{state}</StackStatus></member></Stacks></DescribeStacksResult>
</DescribeStacksResponse>"""
REFUSED = """<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error>
<Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"""


RESOURCES = """<DescribeStackResourcesResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
<DescribeStackResourcesResult><StackResources><member><LogicalResourceId>Table</LogicalResourceId>
<PhysicalResourceId>forklore-Table-1A</PhysicalResourceId><ResourceStatus>{table}</ResourceStatus>
</member></StackResources></DescribeStackResourcesResult></DescribeStackResourcesResponse>"""


def refused(code: str, message: str) -> str:
    return REFUSED.format(code=code, message=message)


class Aws:
    """What AWS answers. state: of the stack; None if there is none. refused: errors, by action.

    table: the state of the stack's table; None if there is none. form: the number of its form;
    None: it has no tag. keys: the ids of the access keys that requests were signed with.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.table: str | None = "CREATE_COMPLETE"
        self.form: int | None = None
        self.refused: dict[str, tuple[str, str]] = {}
        self.keys: set[str] = set()

    def answer_of_dynamodb(self, operation: str) -> object:
        if operation == "DescribeTable":
            return {"Table": {"TableArn": "arn:aws:dynamodb:x:1:table/forklore-Table-1A"}}
        assert operation == "ListTagsOfResource"
        tags = [{"Key": "team", "Value": "x"}, {"Key": "forklore-form", "Value": f"{self.form}"}]
        return {"Tags": tags[: 1 if self.form is None else 2]}

    def answer(self, action: str, stack: str) -> tuple[int, str]:
        if action in self.refused:
            code, message = self.refused[action]
            return 403, refused(code, message)
        if action == "GetCallerIdentity":
            return 200, IDENTITY
        if action == "DescribeStackResources":
            message = f"Resource Table does not exist for stack {stack}"
            if self.table is None:
                return 400, refused("ValidationError", message)
            return 200, RESOURCES.format(table=self.table)
        assert action == "DescribeStacks"
        if self.state is None:
            message = f"Stack with id {stack} does not exist"
            return 400, refused("ValidationError", message)
        return 200, STACK.format(state=self.state)


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Aws]:
    """An account without stacks, and no settings of AWS's tools but those of the tests."""
    account = Aws()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if target := self.headers["X-Amz-Target"]:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(account.answer_of_dynamodb(target.partition(".")[2])).encode())
                return
            sent = {name: values[0] for name, values in parse_qs(body).items()}
            account.keys.add(self.headers["Authorization"].partition("Credential=")[2].partition("/")[0])
            status, text = account.answer(sent["Action"], sent.get("StackName", ""))
            self.send_response(status)
            self.send_header("Content-Type", "text/xml")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    for name in ("AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield account
        finally:
            server.shutdown()


class Person:
    """Answers questions in this order. `asked` are the questions until now."""

    def __init__(self, *answers: str) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    def __call__(self, question: str) -> str:
        self.asked.append(question)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)


def never(question: str) -> str:
    raise AssertionError(f"asked too early: {question}")


prepared = partial(prepare, parameters=PARAMETERS)


def test_only_the_issuer_and_the_audience_are_asked_for(file: Path) -> None:
    person = Person(ISSUER, AUDIENCE)

    kept = prepared("try", file, {}, read=person)

    assert person.asked == ["Issuer: ", "Audience: "]
    assert kept == Kept(
        "forklore-try", REGION, {"Issuer": ISSUER, "Audience": AUDIENCE}, "application=forklore stage=try"
    )
    assert read_stage(file.read_text(encoding="utf-8"), "try") == kept


def test_a_stage_that_is_kept_is_not_asked_about_again(file: Path) -> None:
    first = prepared("try", file, BOTH, read=None)
    text = file.read_text(encoding="utf-8")

    assert prepared("try", file, {}, read=never) == first
    assert file.read_text(encoding="utf-8") == text


def test_a_bad_answer_is_refused_at_once_with_what_to_set(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Person("http://login.example.com", "", ISSUER, "*", AUDIENCE)

    kept = prepared("default", file, {}, read=person)

    assert person.asked == ["Issuer: "] * 3 + ["Audience: "] * 2
    assert kept.parameters == {"Issuer": ISSUER, "Audience": AUDIENCE}
    assert capsys.readouterr().out.count("  set Issuer to the https address") == 2


def test_an_answer_is_kept_although_the_next_one_never_comes(file: Path) -> None:
    with pytest.raises(EOFError):
        prepared("default", file, {}, read=Person(ISSUER))

    person = Person(AUDIENCE)
    kept = prepared("default", file, {}, read=person)

    assert person.asked == ["Audience: "]
    assert kept.parameters == {"Issuer": ISSUER, "Audience": AUDIENCE}


def test_asking_for_everything_takes_the_last_answers_and_the_defaults(file: Path) -> None:
    prepared("default", file, BOTH | {"PARAMETERS": "Admins='ann lee,ops-*'"}, read=None)
    person = Person(*[""] * len(PARAMETERS))

    kept = prepared("default", file, {"ASK": "yes"}, read=person)

    assert [question.partition(" ")[0].rstrip(":") for question in person.asked] == list(PARAMETERS)
    assert f"Issuer [{ISSUER}]: " in person.asked
    assert "Admins [ann lee,ops-*]: " in person.asked
    assert kept.parameters == {name: one.default for name, one in PARAMETERS.items()} | {
        "Issuer": ISSUER,
        "Audience": AUDIENCE,
        "Admins": "ann lee,ops-*",
    }


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "Issuer is missing: set Issuer to .*\nAudience is missing: .*\nGive it as ISSUER=… AUDIENCE=…"),
        (BOTH | {"ISSUER": "http://x"}, "Issuer: set Issuer to the https address"),
        (BOTH | {"PARAMETERS": "Admin=ann"}, "there is no parameter Admin"),
        (BOTH | {"PARAMETERS": "Admins"}, "Admins has no `=`"),
        (BOTH | {"PARAMETERS": "Admins='ann"}, "PARAMETERS cannot be read: No closing quotation"),
        (BOTH | {"PARAMETERS": "Admins=*"}, "Admins: name user ids or patterns"),
        (BOTH | {"PARAMETERS": "SnapStart=yes"}, "SnapStart is one of off, on"),
        (BOTH | {"PARAMETERS": "RequestsPerSecond=0"}, "RequestsPerSecond is at least 1"),
        (BOTH | {"PARAMETERS": "RequestsPerSecond=many"}, "RequestsPerSecond is a number"),
        (BOTH | {"PARAMETERS": "UserRequestsPerMinute=10.5"}, "set UserRequestsPerMinute to a whole number"),
        (BOTH | {"PARAMETERS": "RetentionDays=1.5"}, "set RetentionDays to a whole number"),
        (BOTH | {"PARAMETERS": "LatencyAlarmMs=30001"}, "LatencyAlarmMs is at most 30000"),
        (BOTH | {"ARCHITECTURE": "mips"}, "Architecture is one of arm64, x86_64"),
        (BOTH | {"TAGS": "team"}, "TAGS: team is no name=value"),
        (BOTH | {"TAGS": "aws:team=a"}, "TAGS: aws:team=a is no name=value"),
    ],
)
def test_without_a_person_what_is_missing_or_wrong_is_an_error(
    file: Path, environ: dict[str, str], told: str
) -> None:
    with pytest.raises(InputError, match=f"(?s){told}"):
        prepared("default", file, environ, read=None)


def test_all_problems_are_told_together(file: Path) -> None:
    with pytest.raises(InputError) as told:
        prepared("default", file, {"ISSUER": "x", "AUDIENCE": "*", "PARAMETERS": "Nothing=1"}, read=None)

    assert len(str(told.value).splitlines()) == 3


@pytest.mark.parametrize("stage", ["", "Try", "try me", "../try", "1", "x" * 33])
def test_a_stage_has_a_name_that_a_stack_can_have(file: Path, stage: str) -> None:
    with pytest.raises(InputError, match="STAGE"):
        prepared(stage, file, BOTH, read=None)


def test_there_is_no_question_without_a_region(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")

    with pytest.raises(AccountError, match=r"There is no region\. Set AWS_REGION"):
        prepared("default", file, {}, read=never)
    assert file.read_text(encoding="utf-8") == SAMCONFIG


def test_there_is_no_question_without_credentials(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(AccountError, match=r"There are no credentials of AWS\. Sign in"):
        prepared("default", file, {}, read=never)


def test_there_is_no_question_if_nobody_answers_for_the_region(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(AccountError, match="could not be asked whose credentials"):
        prepared("default", file, {}, read=never)


def test_there_is_no_question_if_the_first_deployment_failed(file: Path, aws: Aws) -> None:
    aws.state = "ROLLBACK_COMPLETE"

    with pytest.raises(AccountError, match=r"can only be deleted\. Do so with `.sam/bin/sam delete"):
        prepared("default", file, {}, read=never)


def test_there_is_no_question_while_the_stack_is_being_changed(file: Path, aws: Aws) -> None:
    aws.state = "UPDATE_IN_PROGRESS"

    with pytest.raises(AccountError, match="is being changed"):
        prepared("default", file, {}, read=never)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("DELETE_FAILED", "its deletion failed"),
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback"),
        ("IMPORT_ROLLBACK_FAILED", "an import failed"),
    ],
)
def test_there_is_no_question_if_the_stack_is_stuck(file: Path, aws: Aws, state: str, told: str) -> None:
    aws.state = state

    with pytest.raises(AccountError, match=f"forklore is {state}: .*{told}"):
        prepared("default", file, {}, read=never)


@pytest.mark.failure("stopped-restore")
@pytest.mark.parametrize("table", [None, "DELETE_SKIPPED", "DELETE_COMPLETE"])
def test_there_is_no_question_while_a_restore_is_not_finished(
    file: Path, aws: Aws, table: str | None
) -> None:
    """A deployment would make a new, empty table."""
    aws.state, aws.table = "UPDATE_COMPLETE", table

    with pytest.raises(AccountError, match="a restore or an upgrade of it is not finished"):
        prepared("default", file, {}, read=never)


@pytest.mark.failure("another-form")
@pytest.mark.parametrize("form", [0, 2])
def test_a_table_of_another_form_is_not_deployed_to(file: Path, aws: Aws, form: int) -> None:
    aws.state, aws.form = "UPDATE_COMPLETE", form

    with pytest.raises(AccountError, match=f"has form {form}, and this version reads and writes 1"):
        prepared("default", file, {}, read=never)


def test_a_stack_that_is_there_is_changed(file: Path, aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    aws.state, aws.form = "UPDATE_COMPLETE", 1

    prepared("default", file, BOTH, read=never)

    assert f"Changing the stack forklore in account 123456789012, {REGION}, as arn:aws:sts::" in (
        capsys.readouterr().out
    )


def test_what_the_credentials_may_not_do_is_told_with_the_policy(file: Path, aws: Aws) -> None:
    aws.refused["DescribeStacks"] = (
        "AccessDenied",
        "not authorized to perform cloudformation:DescribeStacks",
    )

    with pytest.raises(AccountError, match=r"cannot be looked at: AccessDenied, .*docs/deployer-policy.json"):
        prepared("default", file, {}, read=never)


def test_there_is_no_question_with_credentials_that_are_out_of_date(file: Path, aws: Aws) -> None:
    aws.refused["GetCallerIdentity"] = ("ExpiredToken", "The security token has expired.")

    with pytest.raises(AccountError, match="AWS refuses the credentials: ExpiredToken, The security token"):
        prepared("default", file, {}, read=never)


def with_profile(file: Path, name: str) -> None:
    """Let the default stage name a profile, as a person would write it."""
    file.write_text(f'version = 0.1\n[default.deploy.parameters]\nprofile = "{name}"\n')


def test_the_profile_of_a_stage_counts_for_more_than_the_environment(
    file: Path, aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    credentials = tmp_path / "credentials"
    credentials.write_text("[work]\naws_access_key_id = of-work\naws_secret_access_key = x\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    with_profile(file, "work")

    prepared("default", file, BOTH, read=None)

    assert aws.keys == {"of-work"}
    assert 'profile = "work"' in file.read_text()


def test_there_is_no_question_without_the_profile_of_the_stage(file: Path) -> None:
    with_profile(file, "work")

    with pytest.raises(AccountError, match=r"The config profile \(work\) could not be found"):
        prepared("default", file, {}, read=never)


def test_another_program_acts_as_the_profile_of_the_stage() -> None:
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    others = ("AWS_DEFAULT_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
    given = {"PATH": "/bin", **dict.fromkeys([*keys, *others], "x")}
    usual = Account("1", "arn", REGION, session=None)

    assert usual.environment(given) == given
    assert replace(usual, profile="work").environment(given) == {"PATH": "/bin", "AWS_PROFILE": "work"}


def test_a_stage_stays_in_its_region(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared("default", file, BOTH, read=None)
    monkeypatch.setenv("AWS_REGION", "us-east-1")

    kept = prepared("default", file, {"AWS_REGION": "us-east-1"}, read=None)

    assert kept.region == REGION
    assert "AWS_REGION=us-east-1 is not used" in capsys.readouterr().out


def test_a_parameter_of_an_earlier_version_is_dropped(file: Path) -> None:
    file.write_text(
        write_stage(SAMCONFIG, "default", Kept("forklore", None, {"Gone": "1"})), encoding="utf-8"
    )

    kept = prepared("default", file, BOTH, read=None)

    assert kept.parameters.keys() == {"Issuer", "Audience"}


def test_a_file_that_is_not_there_is_made_as_sam_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "ci.toml"

    prepared("try", file, BOTH, read=None)

    made = tomllib.loads(file.read_text(encoding="utf-8"))
    assert list(made) == ["version", "try"]
    assert made["try"]["deploy"]["parameters"]["parameter_overrides"] == {
        "Issuer": ISSUER,
        "Audience": AUDIENCE,
    }


def test_a_file_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        prepared("try", tmp_path, BOTH, read=None)
    with pytest.raises(InputError, match=r"ci\.toml cannot be written: No such file"):
        prepared("try", tmp_path / "none" / "ci.toml", BOTH, read=None)


@pytest.mark.parametrize(
    ("stage", "text"),
    [("version", ""), ("mine", "mine = 1"), ("a", "[a]\ndeploy = 1"), ("a", "[a.global]\nparameters = ''")],
)
def test_a_stage_that_is_no_table_is_told(file: Path, stage: str, text: str) -> None:
    file.write_text(text or SAMCONFIG, encoding="utf-8")

    with pytest.raises(InputError, match=r"samconfig\.toml cannot be read: .* is no table"):
        prepared(stage, file, BOTH, read=None)


CERTIFICATE = "arn:aws:acm:{}:certificate/12345678-1234-1234-1234-123456789012"
KEY = "arn:aws:kms:{}:key/12345678-1234-1234-1234-123456789012"
HERE, ELSEWHERE, ANOTHER = f"{REGION}:123456789012", "us-east-1:123456789012", f"{REGION}:210987654321"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ("DomainName=a.example.com", "CertificateArn is missing"),
        (
            f"CertificateArn={CERTIFICATE.format(ELSEWHERE)}",
            "CertificateArn is of us-east-1; the stack is in",
        ),
        (f"CertificateArn={CERTIFICATE.format(ANOTHER)}", "CertificateArn is of account 210987654321"),
        (f"KmsKeyArn={KEY.format(ELSEWHERE)}", "KmsKeyArn is of us-east-1"),
    ],
)
def test_values_that_do_not_fit_together_are_told_before_the_build(
    file: Path, parameters: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        prepared("default", file, BOTH | {"PARAMETERS": parameters}, read=None)


def test_values_that_fit_are_taken_and_an_api_without_an_address_is_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = f"KmsKeyArn={KEY.format(HERE)} CertificateArn={CERTIFICATE.format(HERE)} DomainName=a.example.com"
    prepared("default", file, BOTH | {"PARAMETERS": f"DisableDefaultEndpoint=true {fits}"}, read=None)
    assert "has no address" not in capsys.readouterr().out

    prepared("default", file, BOTH | {"PARAMETERS": "DomainName="}, read=None)
    assert "the API has no address of its own" in capsys.readouterr().out


def test_tags_are_kept_until_others_are_given(file: Path) -> None:
    prepared("default", file, BOTH | {"TAGS": "team=search cost-center=4711"}, read=None)

    assert prepared("default", file, {}, read=None).tags == "team=search cost-center=4711"
    assert prepared("default", file, {"TAGS": "team=chat"}, read=None).tags == "team=chat"


@pytest.mark.parametrize(
    ("environ", "code", "told"),
    [
        ({}, 2, "this is no terminal"),
        ({"CONFIRM": "no", "ASK": "yes"}, 2, "give one of them"),
        ({"CONFIRM": "no"}, 2, "Issuer is missing"),
        ({"CONFIRM": "no", **BOTH}, 0, ""),
    ],
)
def test_the_command_ends_with_an_exit_code(
    file: Path, capsys: pytest.CaptureFixture[str], environ: dict[str, str], code: int, told: str
) -> None:
    assert deploy.main("default", file, environ) == code
    assert told in capsys.readouterr().err


def test_what_enter_takes_is_checked_as_well() -> None:
    old = Parameter("Size", "How much.", pattern="[a-z]+", told="set Size to letters")

    assert ask(old, "1", Person("", "abc")) == "abc"


# samconfig.toml


def test_what_is_not_of_the_stage_stays_with_its_comments() -> None:
    kept = Kept("forklore-try", REGION, {"Issuer": ISSUER})

    text = write_stage(SAMCONFIG + "\n# mine\n", "try", kept)

    assert text.startswith(SAMCONFIG + "\n# mine\n")
    assert tomllib.loads(text)["try"]["deploy"]["parameters"] == {
        "capabilities": "CAPABILITY_IAM",
        "confirm_changeset": True,
        "fail_on_empty_changeset": False,
        "resolve_s3": True,
        "stack_name": "forklore-try",
        "region": REGION,
        "parameter_overrides": {"Issuer": ISSUER},
    }


def test_older_forms_of_the_parameters_become_a_table() -> None:
    older = '[try.deploy.parameters]\nstack_name = "mine"\nparameter_overrides = "Issuer=\\"https://1.example/\\""\n'
    kept = read_stage(older, "try")

    text = write_stage(older, "try", kept)

    assert kept == Kept("mine", None, {"Issuer": "https://1.example/"})
    assert read_stage(text, "try") == kept
    assert tomllib.loads(text)["try"]["deploy"]["parameters"]["parameter_overrides"] == kept.parameters
