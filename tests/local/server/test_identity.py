import json
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from forklore_local.server.asgi import Response
from forklore_local.server.identity import DEFAULT_API_KEYS, hinted, read_authorizer, read_issuer
from forklore_local.server.token import AUDIENCE, ISSUER, development_key, key_set, make_token
from forklore_local.server.user_tokens import UserTokens, add_user

CONFIGURED = {
    "FORKLORE_API_KEYS": "app=secret, other=padded=",
    "FORKLORE_ADMINS": "root,ops-*",
    "FORKLORE_AUDITORS": "*@audit.example,a.b",
    "FORKLORE_INDEXERS": "ops-index",
}
NOBODY: dict[str, Any] = {"userId": None, "clientId": None, "roles": []}


def identify(*headers: tuple[str, bytes], environ: dict[str, str] | None = None) -> Any:
    authorize = read_authorizer(CONFIGURED if environ is None else environ)
    return authorize([(name.lower().encode(), value) for name, value in headers])


@pytest.mark.parametrize(
    ("authorization", "user_id"),
    [
        (b"Bearer alice", "alice"),
        (b"bearer alice", "alice"),
        (b"Bearer  alice ", "alice"),
        (b"Bearer Alice Smith", "Alice Smith"),
        (b"Bearer a%2Fb#c/d", "a%2Fb#c/d"),
        ("Bearer zoë🦊".encode(), "zoë🦊"),
        (b"Bearer zo\xeb", "zoë"),
        (b"Bearer " + "🦊".encode() * 63 + b"abc", "🦊" * 63 + "abc"),
        (b"Bearer " + "🦊".encode() * 64, None),
        (b"Bearer " + b"a" * 256, None),
        (b"Bearer", None),
        (b"Bearer ", None),
        ("Bearer \u00a0\u2003".encode(), None),
        (b"Bearer a\tb", None),
        (b"Bearer a\x7fb", None),
        ("Bearer a\u0085b".encode(), None),
        (b"Basic YWxpY2U6eA==", None),
        (b"alice", None),
        (b"", None),
    ],
)
def test_the_bearer_token_is_the_user_id(authorization: bytes, user_id: str | None) -> None:
    assert identify(("Authorization", authorization)) == NOBODY | {"userId": user_id}


def test_without_or_with_two_authorization_headers_there_is_no_user() -> None:
    assert identify() == NOBODY
    assert identify(("Authorization", b"Bearer alice"), ("Authorization", b"Bearer alice")) == NOBODY


@pytest.mark.parametrize(
    ("keys", "client_id"),
    [
        ([], None),
        ([b"secret"], "app"),
        ([b"padded="], "other"),
    ],
)
def test_a_key_names_a_client(keys: list[bytes], client_id: str | None) -> None:
    headers = [("X-API-Key", key) for key in keys]

    expected: dict[str, Any] = {"userId": "alice", "clientId": client_id, "roles": []}
    assert identify(("Authorization", b"Bearer alice"), *headers) == expected


@pytest.mark.parametrize(
    "keys", [[b""], [b"wrong"], [b"secre"], [b"SECRET"], [b"secret", b"secret"], [b"\xff"], [b"app=secret"]]
)
def test_an_unknown_key_makes_the_user_invalid(keys: list[bytes]) -> None:
    headers = [("X-API-Key", key) for key in keys]

    assert identify(("Authorization", b"Bearer root"), *headers) == NOBODY


def test_a_key_without_a_user_is_not_enough() -> None:
    assert identify(("X-API-Key", b"secret")) == NOBODY


@pytest.mark.parametrize(
    ("user_id", "roles"),
    [
        ("root", ["admin", "auditor"]),
        ("ops-", ["admin", "auditor"]),
        ("ops-index", ["admin", "auditor", "indexer"]),
        ("eve@audit.example", ["auditor"]),
        ("a.b", ["auditor"]),
        ("axb", []),
        ("ROOT", []),
        ("rooted", []),
        ("xops-1", []),
        ("eve@audit.example.org", []),
    ],
)
def test_roles_come_from_patterns_of_user_ids(user_id: str, roles: list[str]) -> None:
    assert identify(("Authorization", f"Bearer {user_id}".encode()))["roles"] == roles


def test_without_settings_there_is_one_key_and_no_role() -> None:
    headers = [("Authorization", b"Bearer root"), ("X-API-Key", b"local-key")]

    assert identify(*headers, environ={}) == {"userId": "root", "clientId": "local", "roles": []}
    assert identify(*headers, environ={"FORKLORE_API_KEYS": ""}) == NOBODY


@pytest.mark.parametrize("keys", ["hunter2", "hunter2=", "=hunter2", "a=b,hunter2", "a=hunter2,b=hunter2"])
def test_a_malformed_list_of_keys_is_refused_without_showing_it(keys: str) -> None:
    with pytest.raises(ValueError, match=r"FORKLORE_API_KEYS: pair [12]") as caught:
        read_authorizer({"FORKLORE_API_KEYS": keys})

    assert "hunter2" not in str(caught.value)


def test_a_user_of_a_file_has_roles_and_no_key_by_default(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    token = add_user(file, "root").encode()
    authorize = read_authorizer({"FORKLORE_ADMINS": "root"}, ["app=secret"], UserTokens(file).user_of)

    def identify(*keys: bytes, bearer: bytes = token) -> Any:
        return authorize([(b"authorization", b"Bearer " + bearer), *((b"x-api-key", key) for key in keys)])

    assert identify() == {"userId": "root", "clientId": None, "roles": ["admin", "auditor"]}
    assert identify(b"secret")["clientId"] == "app"
    assert identify(b"local-key") == identify(bearer=b"root") == identify(bearer=token[:-1]) == NOBODY
    file.unlink()
    assert identify() == {"unavailable": True}


def test_an_issuer_signs_tokens_as_for_the_deployed_authorizer(tmp_path: Path) -> None:
    """What it refuses beside these is tested with the deployed one: they are the same code."""
    signing, another = development_key(tmp_path / "one.pem"), development_key(tmp_path / "other.pem")
    environ = {
        "FORKLORE_ISSUER": ISSUER,
        "FORKLORE_AUDIENCE": AUDIENCE,
        "FORKLORE_ISSUER_KEYS": json.dumps(key_set(signing)),
        "FORKLORE_ADMINS": "root",
        "FORKLORE_API_KEYS": "app=secret",
    }
    authorize, given = read_issuer(environ, ["other=key"]), {"issuer": ISSUER, "audience": AUDIENCE}

    def token(key: ec.EllipticCurvePrivateKey, hours: float = 1) -> bytes:
        return make_token("root", key, **given, hours=hours, now=time.time()).encode()

    good = token(signing)

    def identify(bearer: bytes, *keys: bytes) -> Any:
        return authorize([(b"Authorization", b"Bearer " + bearer), *((b"X-API-Key", key) for key in keys)])

    assert identify(good) == {"userId": "root", "roles": ["admin", "auditor"]}
    assert [identify(good, key).get("clientId") for key in (b"secret", b"key")] == ["app", "other"]
    assert identify(good, b"local-key") == identify(good, b"key", b"key") == {}
    assert (
        identify(b"root")
        == identify(make_token("root", another, **given, hours=1, now=time.time()).encode())
        == {}
    )
    assert identify(make_token("root", signing, **given, hours=1, now=time.time() - 7200).encode()) == {}


def test_without_the_keys_of_the_issuer_nobody_is_refused_for_good(tmp_path: Path) -> None:
    def fetch(_url: str) -> bytes:
        raise OSError

    authorize = read_issuer({"FORKLORE_ISSUER": ISSUER, "FORKLORE_AUDIENCE": AUDIENCE}, fetch=fetch)
    key = development_key(tmp_path / "key.pem")
    token = make_token("ann", key, issuer=ISSUER, audience=AUDIENCE, hours=1, now=time.time())

    assert authorize([(b"authorization", f"Bearer {token}".encode())]) == {"unavailable": True}


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"FORKLORE_ISSUER": "http://login.example"}, "FORKLORE_ISSUER"),
        ({"FORKLORE_AUDIENCE": " , "}, "FORKLORE_AUDIENCE"),
        ({"FORKLORE_ADMINS": "*"}, "FORKLORE_ADMINS"),
        ({"FORKLORE_API_KEYS": "x"}, "FORKLORE_API_KEYS"),
    ],
)
def test_a_wrong_setting_of_an_issuer_is_named(environ: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_issuer({"FORKLORE_ISSUER": ISSUER, "FORKLORE_AUDIENCE": AUDIENCE, **environ})


def test_a_401_says_what_a_token_is_on_the_local_server() -> None:
    """Only the local server says so. The functions' own 401 has one body for every reason."""
    error = {"code": "unauthorized", "details": {"message": "valid credentials are required"}}
    told = hinted(Response(401, [("x", "y")], json.dumps(error).encode()))

    message = json.loads(told.body)["details"]["message"]
    assert (told.status, told.headers) == (401, [("x", "y")])
    assert message.startswith("valid credentials are required; ")
    assert "Authorization: Bearer alice" in message
    assert DEFAULT_API_KEYS.partition("=")[0] in message


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b'{"details":{"message":"x"}}'), (401, b""), (401, b"[]"), (401, b'"x"'), (401, b"{}")],
)
def test_any_other_answer_stays_as_it_is(status: int, body: bytes) -> None:
    response = Response(status, [], body)

    assert hinted(response) == response
