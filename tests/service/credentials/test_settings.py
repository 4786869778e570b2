"""Which settings a deployment may have, and which are refused."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from forklore_service.credentials.api_keys import hash_of
from forklore_service.credentials.authorizer import open_authorizer
from forklore_service.credentials.settings import AuthorizerSettings
from functions.authorizer.app import handler
from tests.service.credentials.issuer import Issuer, public_rsa
from tests.support.growth import takes_at_most

LEAST = {"FORKLORE_ISSUER": "https://login.example.com", "FORKLORE_AUDIENCE": "forklore"}
SECRET = "hunter2"
HASH = hash_of(SECRET)


def read(**changes: str) -> AuthorizerSettings:
    return AuthorizerSettings.from_environment(
        {**LEAST, **{f"FORKLORE_{name}": text for name, text in changes.items()}}
    )


def test_only_an_issuer_and_an_audience_must_be_set() -> None:
    settings = read()

    assert settings.expected.issuer == "https://login.example.com"
    assert settings.expected.audiences == ("forklore",)
    assert settings.expected.algorithms == ("RS256", "ES256")
    assert (settings.user_id_claim, settings.roles_claim, settings.issuer_keys) == ("sub", None, None)
    assert settings.clients == {}
    assert settings.patterns == {"admin": [], "auditor": [], "indexer": []}


def test_an_empty_setting_counts_as_not_set() -> None:
    assert read(ISSUER_KEYS="", API_KEY_HASHES=" ", ADMINS="", ROLES_CLAIM="") == read()


def test_the_claim_of_the_user_id_cannot_also_hold_the_roles() -> None:
    with pytest.raises(RuntimeError, match="set FORKLORE_ROLES_CLAIM"):
        read(USER_ID_CLAIM="email", ROLES_CLAIM="email")

    assert read(USER_ID_CLAIM="email", ROLES_CLAIM="sub").roles_claim == "sub"


def test_patterns_are_fast_for_text_that_almost_matches() -> None:
    """A pattern that goes back at each star takes 10,000 times longer for a text twice as long."""
    [pattern] = read(ADMINS="*a*a*a*a*a*a*a*a*a*a*b").patterns["admin"]
    long, short = "a" * 24, "a" * 12

    assert takes_at_most(100, lambda: pattern.fullmatch(long), than=lambda: pattern.fullmatch(short))
    assert pattern.fullmatch("a" * 255) is None
    assert pattern.fullmatch("a" * 254 + "b")


@pytest.mark.parametrize("literal", ["a[b]c", "a?c", "[!a]", "a.c", "a\\c", "a]c"])
def test_only_a_star_is_special_in_a_pattern(literal: str) -> None:
    [pattern] = read(ADMINS=literal).patterns["admin"]

    assert pattern.fullmatch(literal)
    assert not any(pattern.fullmatch(other) for other in ("abc", "abbc", "axc", "b", "a"))


def test_a_client_may_have_several_keys_while_they_are_rotated() -> None:
    clients = read(API_KEY_HASHES=f"app={HASH}, app={hash_of('new')},other=x={hash_of('y')}").clients

    assert clients == {HASH: "app", hash_of("new"): "app", hash_of("y"): "other=x"}


def test_an_issuer_may_have_a_port_and_a_path() -> None:
    assert read(ISSUER="https://127.0.0.1:8443/a/b/").expected.issuer == "https://127.0.0.1:8443/a/b/"


UNSAFE: list[tuple[str, str]] = [
    ("ISSUER", ""),
    ("ISSUER", SECRET),
    ("ISSUER", "login.example.com"),
    ("ISSUER", "http://login.example.com"),
    ("ISSUER", "HTTPS:/login.example.com"),
    ("ISSUER", f"https://user:{SECRET}@login.example.com"),
    ("ISSUER", f"https://login.example.com?{SECRET}"),
    ("ISSUER", "https://login.example.com?"),
    ("ISSUER", f"https://login.example.com#{SECRET}"),
    ("ISSUER", "https://login.example.com:port"),
    ("ISSUER", "https://login.example.com\n"),
    ("ISSUER", "https://[login.example.com"),
    ("ISSUER", "https://"),
    ("AUDIENCE", ""),
    ("AUDIENCE", " , "),
    ("USER_ID_CLAIM", ""),
    ("USER_ID_CLAIM", " "),
    ("USER_ID_CLAIM", "scope"),
    ("ALGORITHMS", ""),
    ("ALGORITHMS", ","),
    ("ALGORITHMS", "none"),
    ("ALGORITHMS", "HS256"),
    ("ALGORITHMS", "RS256,HS256"),
    ("ALGORITHMS", "rs256"),
    ("ALGORITHMS", SECRET),
    ("ISSUER_KEYS", SECRET),
    ("ISSUER_KEYS", f'["{SECRET}"]'),
    ("ISSUER_KEYS", "{}"),
    ("ISSUER_KEYS", '{"keys": []}'),
    ("ISSUER_KEYS", '{"keys": {}}'),
    ("ISSUER_KEYS", "[" * 100_000),
    ("ISSUER_KEYS", json.dumps({"keys": [{"kty": "oct", "kid": "a", "alg": "HS256", "k": SECRET}]})),
    ("API_KEY_HASHES", SECRET),
    ("API_KEY_HASHES", f"app={SECRET}"),
    ("API_KEY_HASHES", f"app={HASH[:-1]}"),
    ("API_KEY_HASHES", f"app={HASH}0"),
    ("API_KEY_HASHES", f"={HASH}"),
    ("API_KEY_HASHES", HASH),
    ("API_KEY_HASHES", f"a\nb={HASH}"),
    ("API_KEY_HASHES", f"{'a' * 256}={HASH}"),
    ("API_KEY_HASHES", f"app={HASH},app={HASH}"),
    ("API_KEY_HASHES", f"app={HASH},other={HASH.upper()}"),
    ("ROLES_CLAIM", "sub"),
    ("ADMINS", "*"),
    ("ADMINS", "alice, **"),
    ("AUDITORS", "*,*"),
    ("INDEXERS", "*"),
    ("ROLES_CLAIM", "scope"),
    ("ROLES_CLAIM", " scp "),
]


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize(("name", "text"), UNSAFE, ids=lambda part: ascii(part)[:40])
def test_an_unsafe_setting_is_refused_by_its_name_and_without_its_value(name: str, text: str) -> None:
    """For example no issuer, no audience, an issuer without https, or a shared-secret algorithm."""
    with pytest.raises(RuntimeError, match=f"set FORKLORE_{name}") as refused:
        read(**{name: text})

    assert SECRET not in str(refused.value)
    assert HASH not in str(refused.value)
    assert refused.value.__cause__ is None


def test_keys_that_are_too_short_or_for_no_configured_algorithm_are_not_usable(issuer: Issuer) -> None:
    for key, algorithms in ((public_rsa(issuer.small, "a"), "RS256"), (public_rsa(issuer.rsa, "a"), "ES256")):
        with pytest.raises(RuntimeError, match="set FORKLORE_ISSUER_KEYS anew: the key set holds no usable"):
            read(ISSUER_KEYS=json.dumps({"keys": [key]}), ALGORITHMS=algorithms)


@pytest.mark.failure("unsafe-settings")
@pytest.mark.parametrize("missing", LEAST)
def test_a_function_without_its_settings_fails_and_says_what_to_set(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in LEAST.items():
        monkeypatch.setenv(name, text)
    monkeypatch.delenv(missing)
    open_authorizer.cache_clear()

    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"set {missing}"):
            handler({"headers": {}}, None)


BROKEN_KEYS: list[Mapping[str, Any]] = [
    {"e": ...},
    {"n": ...},
    {"n": ""},
    {"n": 5},
    {"n": None},
    {"n": "!"},
    {"n": "é"},
    {"n": ["AQAB"]},
    {"e": ""},
    {"e": "AA"},
    {"e": "AQ"},
    {"e": {}},
    {"kty": ...},
    {"kty": "rsa"},
    {"kty": None},
    {"kty": {}},
    {"kid": ...},
    {"kid": 5},
    {"kid": "a\n"},
    {"crv": "P-256"},
    {"crv": []},
    {"alg": "RS512"},
    {"alg": None},
    {"alg": []},
    {"use": "enc"},
    {"use": []},
    {"key_ops": "verify"},
    {"key_ops": []},
    {"key_ops": None},
    {"d": "AQAB"},
    {"d": None},
]


@pytest.mark.parametrize("change", BROKEN_KEYS, ids=ascii)
def test_a_broken_key_is_left_out_and_the_others_are_used(issuer: Issuer, change: Mapping[str, Any]) -> None:
    changed = {**public_rsa(issuer.rsa, "broken"), **change}
    broken = {name: held for name, held in changed.items() if held is not ...}
    settings = read(ISSUER_KEYS=json.dumps({"keys": [broken, public_rsa(issuer.rsa, "good")]}))

    assert settings.issuer_keys is not None
    assert settings.issuer_keys.keys() == {("good", "RS256")}
