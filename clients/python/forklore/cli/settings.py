"""Which service to call, and as whom: from options, the environment and the profile file. Pure.

The service is an address, a Lambda function or a folder of this machine. The first of these that
names one decides:

1. the options of the command line;
2. the profile that `--profile` names;
3. the environment;
4. the profile that FORKLORE_PROFILE names, else the one that the file calls its `profile`;
5. without any, the local server, where the login name is the token.

Who calls is looked for in the same places. But what a profile says of the caller stays with the
service of this profile, so that its token is never sent to another address. The login name is the
token only for the local server at its usual address.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forklore.cli.exits import SettingsError

LOCAL_SERVER = "http://127.0.0.1:8080"
_LOCAL = re.compile(r"http://(?:127\.0\.0\.1|localhost)(?::(?P<port>[0-9]+))?/?")
MEMORY = ":memory:"
CREDENTIALS: Mapping[str, tuple[str, ...]] = {
    "url": ("token", "client_key"),
    "function": ("user", "client"),
    "data": ("user", "client"),
}
"""What says who calls, for each kind of service."""
FIELDS = ("url", "token", "client_key", "function", "data", "user", "client")
PROFILE = "profile"
PROFILES = "profiles"

Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OverHttp:
    """A service at an address."""

    url: str
    token: str | None = None
    client_key: str | None = None

    def __repr__(self) -> str:
        return f"OverHttp({self.url!r})"


@dataclass(frozen=True, slots=True)
class OnLambda:
    """A function that is invoked."""

    function: str
    user: str
    client: str | None = None


@dataclass(frozen=True, slots=True)
class InProcess:
    """A service in this process. data: its folder; None: everything is forgotten at the end."""

    data: str | None
    user: str
    client: str | None = None


Target = OverHttp | OnLambda | InProcess


@dataclass(frozen=True, slots=True)
class _Place:
    """A place where settings stand. spelled: how it writes a field, such as `--{}`."""

    values: Values
    spelled: str
    is_profile: bool = False

    def name(self, field: str) -> str:
        if self.spelled.startswith("--"):
            return self.spelled.format(field.replace("_", "-"))
        return self.spelled.format(field if self.is_profile else field.upper())


def target_of(options: Values, environment: Values, file: Mapping[str, object], *, login: str) -> Target:
    """Return the service to call.

    options: what is given on the command line, by field. environment: the process's variables.
    file: the content of the profile file. login: the name of the user on this machine.
    Raises SettingsError for settings that exclude each other, and for an unknown profile.
    """
    named, variables = options.get(PROFILE), _variables(environment)
    chosen = named or variables.get(PROFILE) or _text(file, PROFILE, f"{PROFILE} in the profile file")
    profile = [] if chosen is None else [_profile(file, chosen)]
    above = [_Place(options, "--{}")]
    below = [_Place(variables, "FORKLORE_{}")]
    return _decided([*above, *profile, *below] if named else [*above, *below, *profile], login)


def _decided(places: list[_Place], login: str) -> Target:
    for place in places:
        kinds = [kind for kind in CREDENTIALS if kind in place.values]
        if len(kinds) > 1:
            raise SettingsError(" and ".join(map(place.name, kinds)) + " name two services: give one")
        if kinds:
            heard = [one for one in places if one is place or not one.is_profile]
            return _target(kinds[0], place.values[kinds[0]], heard, login)
    return _target("url", LOCAL_SERVER, [one for one in places if not one.is_profile], login)


def _target(kind: str, value: str, heard: list[_Place], login: str) -> Target:
    """Return the service. heard: the places that may say who calls, the strongest first."""
    for field in ("token", "client_key", "user", "client"):
        at = heard[0]
        if field in at.values and field not in CREDENTIALS[kind] and at.spelled.startswith("--"):
            fitting = " or ".join(f"--{one}" for one in CREDENTIALS if field in CREDENTIALS[one])
            raise SettingsError(f"{at.name(field)} goes with {fitting}, not with --{kind}")
    said = {
        field: next((one.values[field] for one in heard if field in one.values), None)
        for field in CREDENTIALS[kind]
    }
    if kind == "url":
        token = said["token"]
        if token is None and said["client_key"] is None and value == LOCAL_SERVER:
            token = login
        return OverHttp(value, token, said["client_key"])
    user, client = said["user"] or login, said["client"]
    if kind == "function":
        return OnLambda(value, user, client)
    return InProcess(None if value == MEMORY else value, user, client)


def started_by(url: str) -> str | None:
    """Return the command that starts a server at an address; None if it is not of this machine.

    >>> started_by("http://127.0.0.1:8080"), started_by("http://localhost:9000/"), started_by("https://a.b")
    ('forklore serve', 'forklore serve --port 9000', None)
    """
    found = _LOCAL.fullmatch(url)
    if found is None:
        return None
    port = found["port"] or "80"
    return "forklore serve" + ("" if LOCAL_SERVER.endswith(f":{port}") else f" --port {port}")


def file_path(environment: Values, home: Path) -> Path:
    """Return where the profile file is, as the XDG base directories say."""
    given = environment.get("XDG_CONFIG_HOME", "")
    return (Path(given) if Path(given).is_absolute() else home / ".config") / "forklore" / "config.toml"


def profiles_of(text: str) -> Mapping[str, object]:
    """Return the content of the profile file. Raises SettingsError for what is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the profile file is no TOML: {error}") from error


def _variables(environment: Values) -> dict[str, str]:
    """Return what the environment says, by field. An empty variable says nothing."""
    names = {field: f"FORKLORE_{field.upper()}" for field in (*FIELDS, PROFILE)}
    return {field: environment[name] for field, name in names.items() if environment.get(name)}


def _profile(file: Mapping[str, object], name: str) -> _Place:
    profiles = file.get(PROFILES)
    held = profiles.get(name) if isinstance(profiles, Mapping) else None
    if not isinstance(held, Mapping):
        raise SettingsError(f"the profile file has no profile {name!r}")
    where = f"profile {name!r}"
    unknown = sorted(set(held) - set(FIELDS))
    if unknown:
        raise SettingsError(f"{where} has an unknown field {unknown[0]!r}")
    values = {field: _text(held, field, f"{field} in {where}") for field in held}
    given = {field: value for field, value in values.items() if value is not None}
    return _Place(given, f"{{}} in {where}", is_profile=True)


def _text(held: Mapping[str, object], field: str, where: str) -> str | None:
    value = held.get(field)
    if value is not None and not (isinstance(value, str) and value):
        raise SettingsError(f"{where} must be text")
    return value
