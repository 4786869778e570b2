"""Which service is called, and as whom."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forklore.cli.exits import SettingsError
from forklore.cli.settings import (
    LOCAL_SERVER,
    InProcess,
    OnLambda,
    OverHttp,
    Target,
    file_path,
    profiles_of,
    target_of,
)

FILE = """
profile = "home"

[profiles.home]
data = "/data"
user = "ann"

[profiles.stage]
url = "https://stage"
token = "of-the-stage"

[profiles.fn]
function = "Agent"
"""


def chosen(options: Mapping[str, str], variables: Mapping[str, str], file: str = "") -> Target:
    named = {f"FORKLORE_{field.upper()}": value for field, value in variables.items()}
    return target_of(options, named, profiles_of(file), login="me")


@pytest.mark.parametrize(
    ("options", "variables", "file", "target"),
    [
        ({}, {}, "", OverHttp(LOCAL_SERVER, "me")),
        ({"token": "ann"}, {}, "", OverHttp(LOCAL_SERVER, "ann")),
        ({}, {"token": "ann"}, "", OverHttp(LOCAL_SERVER, "ann")),
        ({"url": "http://a"}, {}, "", OverHttp("http://a")),
        ({"url": "http://a", "token": "t"}, {"url": "http://b", "token": "u"}, "", OverHttp("http://a", "t")),
        ({"url": "http://a"}, {"url": "http://b", "token": "u"}, "", OverHttp("http://a", "u")),
        ({}, {"url": "http://b", "client_key": "k"}, "", OverHttp("http://b", None, "k")),
        ({"url": "http://a"}, {"data": "/d", "user": "bob"}, "", OverHttp("http://a")),
        ({"data": "/d"}, {"url": "http://b", "token": "u"}, "", InProcess("/d", "me")),
        ({"data": "/d", "user": "ann"}, {"user": "bob", "client": "c"}, "", InProcess("/d", "ann", "c")),
        ({"data": ":memory:"}, {}, "", InProcess(None, "me")),
        ({"function": "F", "client": "c"}, {}, "", OnLambda("F", "me", "c")),
        ({}, {}, FILE, InProcess("/data", "ann")),
        ({}, {"profile": "stage"}, FILE, OverHttp("https://stage", "of-the-stage")),
        ({}, {"profile": "stage", "token": "t"}, FILE, OverHttp("https://stage", "t")),
        ({}, {"profile": "stage", "url": "http://b"}, FILE, OverHttp("http://b")),
        ({"profile": "stage"}, {"url": "http://b"}, FILE, OverHttp("https://stage", "of-the-stage")),
        ({"profile": "stage", "token": "t"}, {}, FILE, OverHttp("https://stage", "t")),
        ({"profile": "stage", "url": "http://b"}, {}, FILE, OverHttp("http://b")),
        ({"profile": "fn"}, {"user": "bob"}, FILE, OnLambda("Agent", "bob")),
        ({"url": "http://a"}, {"url": ""}, "", OverHttp("http://a")),
    ],
)
def test_the_strongest_place_decides(
    options: Mapping[str, str], variables: Mapping[str, str], file: str, target: Target
) -> None:
    assert chosen(options, variables, file) == target


@pytest.mark.parametrize("field", ["url", "function", "data"])
def test_what_a_profile_says_of_the_caller_goes_to_its_own_service_alone(field: str) -> None:
    file = '[profiles.p]\nurl = "http://p"\ntoken = "t"\nclient_key = "k"\n'

    made = chosen({field: "http://other", "profile": "p"}, {}, file)

    assert "t" not in (getattr(made, "token", None), getattr(made, "user", None))
    assert getattr(made, "client_key", None) is None


@pytest.mark.parametrize(
    ("options", "variables", "file", "said"),
    [
        ({"url": "a", "data": "b"}, {}, "", "--url and --data name two services: give one"),
        ({}, {"url": "a", "function": "b"}, "", "FORKLORE_URL and FORKLORE_FUNCTION name two services"),
        (
            {},
            {},
            'profile="p"\n[profiles.p]\nurl="a"\ndata="b"',
            "url in profile 'p' and data in profile 'p'",
        ),
        ({"data": "a", "token": "t"}, {}, "", "--token goes with --url, not with --data"),
        ({"url": "a", "user": "t"}, {}, "", "--user goes with --function or --data, not with --url"),
        ({"client": "t"}, {}, "", "--client goes with --function or --data, not with --url"),
        ({"data": "a", "client_key": "t"}, {}, "", "--client-key goes with --url"),
        ({"profile": "x"}, {}, FILE, "the profile file has no profile 'x'"),
        ({"profile": "x"}, {}, "", "the profile file has no profile 'x'"),
        ({}, {}, "profile = 1", "profile in the profile file must be text"),
        ({"profile": "p"}, {}, "[profiles.p]\nurl = 1", "url in profile 'p' must be text"),
        ({"profile": "p"}, {}, "[profiles.p]\nlink = 'x'", "profile 'p' has an unknown field 'link'"),
        ({"profile": "p"}, {}, "profiles = 1", "the profile file has no profile 'p'"),
        ({}, {}, "[profiles", "the profile file is no TOML"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    options: Mapping[str, str], variables: Mapping[str, str], file: str, said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        chosen(options, variables, file)

    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_no_text_of_a_target_shows_a_token() -> None:
    assert "secret" not in repr(OverHttp("http://a", "secret", "secret"))


def test_the_profile_file_is_where_xdg_says() -> None:
    home = Path("/home/ann")

    assert file_path({}, home) == Path("/home/ann/.config/forklore/config.toml")
    assert file_path({"XDG_CONFIG_HOME": "/etc/x"}, home) == Path("/etc/x/forklore/config.toml")
    assert file_path({"XDG_CONFIG_HOME": "relative"}, home) == Path("/home/ann/.config/forklore/config.toml")
