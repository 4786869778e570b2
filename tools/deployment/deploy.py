"""Prepare a deployment: check the account, ask for what is missing, keep the answers.

python -m tools.deployment.deploy STAGE

`make deploy` runs it before it builds. It reads these variables, which may be empty:

* ISSUER, AUDIENCE, ARCHITECTURE: values of these parameters of the template.
* PARAMETERS: values of any parameters, as `Admins=ann,ben RequestsPerSecond=500`. A value with
  spaces is quoted as for a shell.
* TAGS: the tags of the stack, as `team=search costCenter=4711`.
* ASK=yes: ask for every parameter, with its last value in brackets.
* CONFIRM=no: ask nothing, for CI. What is missing or wrong is an error.

Exit codes: 0; 1 if the account cannot be deployed to; 2 for a missing or wrong value; 130 after
Ctrl+C.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tools.deployment.account import Account, AccountError, find_account, stack_state
from tools.deployment.loading import load
from tools.deployment.parameters import Parameter, read_parameters
from tools.deployment.samconfig import FILE, Kept, read_file, read_stage, write_stage

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
NAMED = {"ISSUER": "Issuer", "AUDIENCE": "Audience", "ARCHITECTURE": "Architecture"}
"""The variables that have a name of their own, each with its parameter."""
STAGE_PATTERN = r"[a-z][a-z0-9-]{0,31}"
TAG_PATTERN = r"[A-Za-z0-9_.:/+@-]{1,128}=[A-Za-z0-9_.:/+@-]{0,256}"


class InputError(Exception):
    """A value is missing or wrong. The message says what to set."""


def given(parameters: Mapping[str, Parameter], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values of parameters that the variables name.

    Raises InputError for a name that the template does not have and for a value that does not fit.
    All problems are in the message, one on each line.
    """
    found = {name: environ[variable] for variable, name in NAMED.items() if environ.get(variable)}
    try:
        pairs = [pair.partition("=") for pair in shlex.split(environ.get("PARAMETERS", ""))]
    except ValueError as error:
        raise InputError(f"PARAMETERS cannot be read: {error}") from error
    found |= {name: value for name, _, value in pairs}
    problems = [f"PARAMETERS: there is no parameter {name}" for name in found if name not in parameters]
    problems += [f"PARAMETERS: {name} has no `=`" for name, equals, _ in pairs if not equals]
    problems += _problems(parameters, {name: found[name] for name in found if name in parameters})
    if problems:
        raise InputError("\n".join(problems))
    return found


def tags(environ: Mapping[str, str], kept: Kept, stage: str) -> str | None:
    """Return the tags of the stack: those of TAGS, or the kept ones, or those of a new stage."""
    wanted = environ.get("TAGS", "").split()
    wrong = [tag for tag in wanted if re.fullmatch(TAG_PATTERN, tag) is None or tag.startswith("aws:")]
    if wrong:
        raise InputError(f"TAGS: {wrong[0]} is no name=value of letters, digits and _.:/+@-")
    if wanted:
        return " ".join(wanted)
    if kept.tags is None and not kept.parameters:
        return f"application=forklore stage={stage}"
    return kept.tags


def _problems(parameters: Mapping[str, Parameter], values: Mapping[str, str]) -> list[str]:
    found = ((name, parameters[name].problem(value)) for name, value in values.items())
    return [f"{name}: {problem}" for name, problem in found if problem is not None]


def ask(parameter: Parameter, last: str | None, read: Callable[[str], str]) -> str:
    """Return a good answer. A bad one is told at once, and the question is asked again.

    last: what Enter takes; None if there is nothing. Raises EOFError at the end of the input.
    """
    print(f"\n{parameter.name}: {parameter.description}")
    if parameter.allowed:
        print(f"  one of {', '.join(parameter.allowed)}")
    brackets = "" if last is None else f" [{last}]"
    while True:
        answer = read(f"{parameter.name}{brackets}: ").strip() or (last or "")
        problem = parameter.problem(answer)
        if problem is None:
            return answer
        print(f"  {problem}")


def prepare(
    stage: str,
    file: Path,
    environ: Mapping[str, str],
    *,
    parameters: Mapping[str, Parameter],
    read: Callable[[str], str] | None,
) -> Kept:
    """Check the account and the values, and keep them in `file`. Return what is kept.

    parameters: the template's. read: asks a question; None if nobody answers. An answer is kept as
    soon as it is given. Raises AccountError and InputError. Nothing is asked before the account is
    found to be good.
    """
    if re.fullmatch(STAGE_PATTERN, stage) is None:
        raise InputError(f"STAGE: {stage} is no name of lower-case letters, digits and -, 32 at most")
    try:
        kept = read_stage(read_file(file), stage)
    except ValueError as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error
    values = {name: value for name, value in kept.parameters.items() if name in parameters}
    wanted, tagged = given(parameters, environ), tags(environ, kept, stage)
    account = find_account(kept.region, environ, profile=kept.profile)
    state = stack_state(account, kept.stack)
    verb = "Changing" if state else "Making"
    print(f"{verb} the stack {kept.stack} in account {account.id}, {account.region}, as {account.who}.")
    elsewhere = environ.get("AWS_REGION")
    if elsewhere and elsewhere != account.region:
        print(
            f"{file.name} keeps the region {account.region} for this stage; "
            f"AWS_REGION={elsewhere} is not used."
        )
    gone = sorted(kept.parameters.keys() - values.keys())
    if gone:
        print(f"No parameter of this version: {', '.join(gone)}. It is dropped from {file.name}.")
    kept = replace(kept, region=account.region, tags=tagged, parameters=values | wanted)
    _keep(file, stage, kept)
    asked = [one for one in parameters.values() if _is_asked(one, kept, environ)]
    if asked and read is None:
        raise InputError(
            "\n".join(f"{one.name} is missing: {one.told or one.description}" for one in asked)
            + f"\nGive it as {' '.join(_variable(one) for one in asked)}."
        )
    for one in asked:
        assert read is not None
        answer = ask(one, kept.parameters.get(one.name, one.default), read)
        kept = replace(kept, parameters={**kept.parameters, one.name: answer})
        _keep(file, stage, kept)
    problems = _problems(parameters, kept.parameters)
    if problems:
        raise InputError(f"{file.name} holds what the template refuses:\n" + "\n".join(problems))
    problems = misfits(kept.parameters, account)
    if problems:
        raise InputError("\n".join(problems))
    if kept.parameters.get("DisableDefaultEndpoint") == "true" and not kept.parameters.get("DomainName"):
        print(
            "DisableDefaultEndpoint is true, and there is no DomainName: the API has no address of its own. "
            "Only domain names that you map to it yourself lead to it."
        )
    return kept


def misfits(values: Mapping[str, str], account: Account) -> list[str]:
    """Return the good values that do not fit together, or not to the account and its region."""
    problems = []
    if values.get("DomainName") and not values.get("CertificateArn"):
        problems.append("CertificateArn is missing: a DomainName needs a certificate")
    for name in ("CertificateArn", "KmsKeyArn"):
        if not values.get(name):
            continue
        _, _, _, region, owner, _ = values[name].split(":", 5)
        if region != account.region:
            problems.append(f"{name} is of {region}; the stack is in {account.region}")
        if name == "CertificateArn" and owner != account.id:
            problems.append(f"{name} is of account {owner}; the stack is in account {account.id}")
    return problems


def _is_asked(parameter: Parameter, kept: Kept, environ: Mapping[str, str]) -> bool:
    if environ.get("ASK") == "yes":
        return True
    value = kept.parameters.get(parameter.name, parameter.default)
    return value is None or (parameter.default is None and parameter.problem(value) is not None)


def _variable(parameter: Parameter) -> str:
    variables = {name: variable for variable, name in NAMED.items()}
    return f"{variables.get(parameter.name, parameter.name)}=…"


def _keep(file: Path, stage: str, kept: Kept) -> None:
    """Write the file, all of it or nothing. It stays as it is if nothing changes."""
    before = read_file(file)
    after = write_stage(before, stage, kept)
    if after != before:
        new = file.with_suffix(".new")
        try:
            new.write_text(after, encoding="utf-8")
            new.replace(file)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from error


def _check_who_answers(environ: Mapping[str, str]) -> None:
    asks = environ.get("CONFIRM") != "no"
    if asks and not sys.stdin.isatty():
        raise InputError(
            "Nobody can answer here: this is no terminal. CONFIRM=no deploys without a question."
        )
    if not asks and environ.get("ASK") == "yes":
        raise InputError("ASK=yes asks, CONFIRM=no does not: give one of them.")


def main(stage: str, file: Path = FILE, environ: Mapping[str, str] = os.environ) -> int:
    """Prepare a deployment. Return the exit code."""
    asks = environ.get("CONFIRM") != "no"
    try:
        _check_who_answers(environ)
        parameters = read_parameters(load(TEMPLATE))
        prepare(stage, file, environ, parameters=parameters, read=input if asks else None)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except AccountError as error:
        print(error, file=sys.stderr)
        return 1
    except (EOFError, KeyboardInterrupt):
        print(f"\nNothing is deployed. The answers until here are kept in {file.name}.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
