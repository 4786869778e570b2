"""Good credentials, and bad ones, each named by what is wrong with it.

Each row is a function that returns the headers of a request, as an event holds them.
"""

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from forklore_service.credentials.api_keys import KEY_CHARACTERS_MAX, hash_of
from forklore_service.credentials.tokens import TOKEN_CHARACTERS_MAX
from tests.service.credentials.issuer import (
    AUDIENCE,
    EC,
    ISSUER,
    Issuer,
    encoded,
    es,
    hs,
    joined,
    ps,
    public_rsa,
    rs,
)

Headers = dict[str, Any]
Vector = Callable[[Issuer], Headers]

KEY, OLD_KEY, OTHER_KEY, REVOKED_KEY = (
    "key-of-planner",
    "old-key-of-planner",
    "schlüssel-🔑",
    "key-of-nobody-now",
)
LONG_KEY = "k" * (KEY_CHARACTERS_MAX + 1)
HASHES = ",".join(
    [
        f"planner={hash_of(KEY)}",
        f"planner={hash_of(OLD_KEY)}",
        f"coder={hash_of(OTHER_KEY).upper()}",
        *(f"nobody={hash_of(no_key)}" for no_key in ("", LONG_KEY, f"{KEY},{KEY}")),
    ]
)
"""The configured hashes. Some are of texts that cannot be keys."""


def bearer(token: str, **more: Any) -> Headers:
    """Return the headers of a request with a token."""
    return {"authorization": f"Bearer {token}", **more}


def with_key(key: Any, **more: Any) -> Vector:
    """Return a row with a good token and an API key."""
    return lambda i: bearer(i.token(), **{"x-api-key": key}, **more)


def claiming(**claims: Any) -> Vector:
    """Return a row with a correctly signed token with these claims."""
    return lambda i: bearer(i.token(**claims))


def headed(header: Mapping[str, Any] | bytes) -> Vector:
    """Return a row with a correctly signed token with another header."""
    return lambda i: bearer(i.token(header=header))


def spelled(change: Callable[[str], str]) -> Vector:
    """Return a row with a good token whose text is changed."""
    return lambda i: bearer(change(i.token()))


def authorization(value: Any) -> Vector:
    """Return a row with this Authorization header. `{}` in it stands for a good token."""
    return lambda i: {"authorization": value.replace("{}", i.token()) if isinstance(value, str) else value}


def ago(seconds: int) -> int:
    return int(time.time()) - seconds


def flipped(token: str) -> str:
    """Return the token with a bit of its signature changed."""
    head, _, tail = token.rpartition(".")
    return f"{head}.{'B' if tail[0] == 'A' else 'A'}{tail[1:]}"


def with_spare_bits(token: str) -> str:
    """Return the token with other unused bits in the last character. The signature is the same."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) | 1]


def with_other_payload(token: str) -> str:
    """Return the token with another payload and the old signature."""
    head, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return f"{head}.{encoded(json.dumps({**claims, 'sub': 'root'}).encode())}.{signature}"


def written(issuer: Issuer) -> bytes:
    """Return a good token's payload as JSON."""
    return json.dumps(issuer.claims()).encode()


GOOD: Mapping[str, tuple[Vector, Mapping[str, Any]]] = {
    "a token with RS256": (claiming(), {}),
    "a payload that is given as bytes": (lambda i: bearer(i.token(payload=written(i))), {}),
    "a token's number": (claiming(jti=5), {}),
    "a token with ES256": (lambda i: bearer(i.by_ec()), {}),
    "a token with EdDSA": (lambda i: bearer(i.by_ed()), {}),
    "a scheme in lower case": (authorization("bearer {}"), {}),
    "a header name that kept its case": (lambda i: {"Authorization": f"Bearer {i.token()}"}, {}),
    "no token type": (headed({"typ": ...}), {}),
    "an access token's type": (headed({"typ": "at+jwt"}), {}),
    "a type with application in front": (headed({"typ": "application/AT+JWT"}), {}),
    "several audiences": (claiming(aud=["x", AUDIENCE]), {}),
    "the other audience": (claiming(aud="forklore"), {}),
    "a token that ended a moment ago": (lambda i: bearer(i.token(exp=ago(10))), {}),
    "a token that begins in a moment": (lambda i: bearer(i.token(nbf=ago(-10), iat=ago(-10))), {}),
    "a time with a fraction": (lambda i: bearer(i.token(exp=ago(-600) + 0.5)), {}),
    "a user id of any letters": (claiming(sub="zoë/🦊 #1"), {"userId": "zoë/🦊 #1"}),
    "an API key": (with_key(KEY), {"clientId": "planner"}),
    "the client's other API key": (with_key(OLD_KEY), {"clientId": "planner"}),
    "an API key of any letters": (with_key(OTHER_KEY), {"clientId": "coder"}),
    "an admin by pattern": (claiming(sub="ops-7"), {"userId": "ops-7", "roles": ["admin", "auditor"]}),
    "an auditor by claim": (claiming(roles=["auditor", "cook"]), {"roles": ["auditor"]}),
    "an admin by claim": (claiming(roles="admin"), {"roles": ["admin", "auditor"]}),
    "a claim of roles that is not text": (claiming(roles={"admin": True}), {"roles": []}),
    "several roles in one text": (claiming(roles="admin auditor"), {"roles": []}),
    "a claim and a pattern": (
        claiming(sub="ops-7", roles=["indexer"]),
        {"userId": "ops-7", "roles": ["admin", "auditor", "indexer"]},
    ),
    "scopes that look like roles": (claiming(scope="admin", scp=["admin"]), {"roles": []}),
}
"""For each name, a row, and how the caller differs from alice without client and roles."""

NO_TOKEN: Mapping[str, Vector] = {
    "nothing": lambda i: {},
    "an empty header": authorization(""),
    "a header that is not text": authorization(None),
    "a header that is a list": authorization(["Bearer x"]),
    "a scheme without a token": authorization("Bearer"),
    "a scheme and a space": authorization("Bearer "),
    "a token without a scheme": authorization("{}"),
    "another scheme": authorization("Basic YWxpY2U6YWxpY2U="),
    "another scheme with the token": authorization("Token {}"),
    "two spaces": authorization("Bearer  {}"),
    "a tab": authorization("Bearer\t{}"),
    "a leading space": authorization(" Bearer {}"),
    "a trailing space": authorization("Bearer {} "),
    "a trailing newline": authorization("Bearer {}\n"),
    "two tokens": authorization("Bearer {},Bearer {}"),
    "two tokens of one scheme": authorization("Bearer {}, {}"),
    "two spellings of one header": lambda i: bearer(i.token(), Authorization=f"Bearer {i.token()}"),
    "the local server's token": authorization("Bearer alice"),
    "a token in another header": lambda i: {"x-authorization": f"Bearer {i.token()}"},
    "identity in headers": lambda i: {"x-user-id": "alice", "x-amzn-oidc-identity": "alice"},
    "a token in a cookie": lambda i: {"cookie": f"authorization=Bearer {i.token()}"},
}

BAD_FORM: Mapping[str, Vector] = {
    "no dots": authorization("Bearer x"),
    "two parts": spelled(lambda token: token.rpartition(".")[0]),
    "four parts": spelled(lambda token: f"{token}.x"),
    "five parts, as if it were encrypted": spelled(lambda token: f"{token}.x.y"),
    "no signature": spelled(lambda token: token.rpartition(".")[0] + "."),
    "no header": spelled(lambda token: "." + token.partition(".")[2]),
    "padding": spelled(lambda token: token + "=="),
    "base64 with its other alphabet": spelled(lambda token: token[:-4] + "+/+/"),
    "a space inside": spelled(lambda token: token[:20] + " " + token[20:]),
    "a letter that is not ASCII": spelled(lambda token: token[:-2] + "éé"),
    "a trailing NUL": spelled(lambda token: token + "\0"),
    "another spelling of the signature": spelled(with_spare_bits),
    "a length that no base64 has": spelled(lambda token: "AAAAA." + token.partition(".")[2]),
    "a header that is not JSON": headed(b"{"),
    "a header that is not an object": headed(b'["RS256"]'),
    "a header that is not UTF-8": headed(b'{"alg":"RS256","kid":"\xff"}'),
    "a header with a member twice": headed(b'{"alg":"none","alg":"RS256","kid":"rsa-1"}'),
    "a header of 2,000 brackets": headed(b"[" * 2000),
    "a payload that is not JSON": lambda i: bearer(i.token(payload=b"alice")),
    "a payload that is not an object": lambda i: bearer(i.token(payload=["alice"])),
    "a payload with a member twice": lambda i: bearer(i.token(payload=written(i)[:-1] + b', "sub": "root"}')),
    "a payload with its end twice": lambda i: bearer(i.token(payload=b'{"exp": 0, ' + written(i)[1:])),
    "a payload in UTF-16": lambda i: bearer(i.token(payload=written(i).decode().encode("utf-16"))),
    "a payload with a byte order mark": lambda i: bearer(i.token(payload=b"\xef\xbb\xbf" + written(i))),
    "a payload of 2,000 brackets": lambda i: bearer(i.token(payload=b"[" * 2000)),
    "a token that is too long": claiming(more="x" * TOKEN_CHARACTERS_MAX),
    "JSON instead of a token": lambda i: bearer(json.dumps({"sub": "alice"})),
}

BAD_KEY: Mapping[str, Vector] = {
    "no algorithm": headed({"alg": ...}),
    "algorithm none, unsigned": lambda i: bearer(
        i.token(header={"alg": "none"}, sign=lambda _: b"").rstrip(".") + "."
    ),
    "algorithm none, signed": headed({"alg": "none"}),
    "algorithm None": headed({"alg": "NONE"}),
    "an algorithm that is not text": headed({"alg": ["RS256"]}),
    "an algorithm in lower case": headed({"alg": "rs256"}),
    "an unknown algorithm": headed({"alg": "RS257"}),
    "HS256 with the public key as the secret": lambda i: bearer(
        i.token(header={"alg": "HS256"}, sign=hs(i.pem))
    ),
    "HS256 with a secret of the key set": lambda i: bearer(
        i.token(header={"alg": "HS256", "kid": "shared"}, sign=hs(i.secret))
    ),
    "RS256 named, signed with a secret": lambda i: bearer(
        i.token(header={"kid": "shared-rs256"}, sign=hs(i.secret))
    ),
    "RS512, which is not configured": lambda i: bearer(i.token(header={"alg": "RS512"}, sign=rs(i.rsa, 512))),
    "PS256, which is not configured": lambda i: bearer(
        i.token(header={"alg": "PS256", "kid": "for-ps256"}, sign=ps(i.rsa))
    ),
    "ES384, which is not configured": lambda i: bearer(
        i.token(header={"alg": "ES384", "kid": "p384"}, sign=es(i.p384, 384))
    ),
    "RS256 with a key of an elliptic curve": headed({"kid": EC}),
    "ES256 with an RSA key": headed({"alg": "ES256"}),
    "ES256 with a key of another curve": lambda i: bearer(
        i.token(header={"alg": "ES256", "kid": "p384"}, sign=es(i.p384))
    ),
    "a key that the key set describes wrongly": lambda i: bearer(
        i.token(header={"alg": "ES256", "kid": "mislabelled"}, sign=es(i.p384))
    ),
    "a key for another algorithm": headed({"kid": "for-ps256"}),
    "a key for encryption": headed({"kid": "for-encryption"}),
    "a key for wrapping keys": headed({"kid": "for-wrapping"}),
    "a key of 1,024 bits": lambda i: bearer(i.token(header={"kid": "small"}, sign=rs(i.small))),
    "a key that is published with its private part": lambda i: bearer(
        i.token(header={"alg": "ES256", "kid": "private"}, sign=es(i.other_ec))
    ),
    "an incomplete key": headed({"kid": "half"}),
    "no key id": headed({"kid": ...}),
    "an empty key id": headed({"kid": ""}),
    "a key id that is a number": headed({"kid": 1}),
    "a key id that is null": headed({"kid": None}),
    "an unknown key id": headed({"kid": "rsa-2"}),
    "a key id that is a path": headed({"kid": "../../../../dev/null"}),
    "a key id that is an address": headed({"kid": "https://evil.example/keys.json"}),
    "a key id that is a query": headed({"kid": "x' UNION SELECT 'secret"}),
    "a key id with a newline": headed({"kid": "rsa-1\n"}),
    "a key id that is too long": headed({"kid": "k" * 257}),
    "somebody else's key under the issuer's key id": lambda i: bearer(i.token(sign=rs(i.attacker))),
    "a key in its header": lambda i: bearer(
        i.token(header={"jwk": public_rsa(i.attacker, "rsa-1")}, sign=rs(i.attacker))
    ),
    "the issuer's own key in its header": lambda i: bearer(i.token(header={"jwk": i.good_keys[0]})),
    "an address of keys": headed({"jku": "https://evil.example/keys.json"}),
    "an address of certificates": headed({"x5u": "https://evil.example/certificate.pem"}),
    "a certificate in its header": headed({"x5c": ["MIIB"]}),
    "an extension that must be understood": headed({"crit": ["exp"], "exp": 1}),
    "an empty list of extensions": headed({"crit": []}),
    "a payload that is not encoded": headed({"b64": False, "crit": ["b64"]}),
    "another type": headed({"typ": "dpop+jwt"}),
    "a logout token's type": headed({"typ": "logout+jwt"}),
    "a type that is null": headed({"typ": None}),
    "an unencoded payload that the header does not declare": headed({"b64": True}),
    "a type that is not text": headed({"typ": ["JWT"]}),
    "a changed signature": spelled(flipped),
    "a changed payload": spelled(with_other_payload),
    "the signature of another token": lambda i: bearer(
        i.token(sub="root").rpartition(".")[0] + "." + i.token().rpartition(".")[2]
    ),
    "a signature of zeros by ES256": lambda i: bearer(
        i.token(header={"alg": "ES256", "kid": EC}, sign=lambda _: bytes(64))
    ),
    "an empty token under a good header": lambda i: bearer(
        joined({"alg": "RS256", "kid": "rsa-1"}, b"", rs(i.rsa))
    ),
}

BAD_CLAIMS: Mapping[str, Vector] = {
    "no issuer": claiming(iss=...),
    "another issuer": claiming(iss="https://login.example.org/tenant"),
    "an issuer with a trailing slash": claiming(iss=f"{ISSUER}/"),
    "an issuer in another case": claiming(iss=ISSUER.upper()),
    "the issuer of another tenant": claiming(iss=f"{ISSUER}2"),
    "several issuers": claiming(iss=[ISSUER]),
    "no audience": claiming(aud=...),
    "another audience": claiming(aud="https://other.example.com"),
    "an empty audience": claiming(aud=""),
    "an empty list of audiences": claiming(aud=[]),
    "an audience with the same beginning": claiming(aud=f"{AUDIENCE}/more"),
    "an audience that is an object": claiming(aud={AUDIENCE: 1}),
    "a list of audiences with a number": claiming(aud=[AUDIENCE, 5]),
    "no expiry": claiming(exp=...),
    "an expiry that is null": claiming(exp=None),
    "an expiry that is text": lambda i: bearer(i.token(exp=str(ago(-600)))),
    "an expiry that is true": claiming(exp=True),
    "an expiry that is NaN": claiming(exp=float("nan")),
    "an infinite expiry": claiming(exp=float("inf")),
    "an expiry of 5,000 digits": lambda i: bearer(
        i.token(payload=json.dumps(i.claims()).replace('"exp": ', '"exp": ' + "9" * 5000).encode())
    ),
    "an expiry a minute ago": lambda i: bearer(i.token(exp=ago(60))),
    "an expiry in 1970": claiming(exp=0),
    "a token that is valid from a minute on": lambda i: bearer(i.token(nbf=ago(-60))),
    "a start that is text": claiming(nbf="0"),
    "a start that is null": claiming(nbf=None),
    "issued in a minute": lambda i: bearer(i.token(iat=ago(-60))),
    "issued at a text": claiming(iat="0"),
    "no user": claiming(sub=...),
    "a user who is null": claiming(sub=None),
    "a user who is a number": claiming(sub=5),
    "a user who is a list": claiming(sub=["alice"]),
    "an empty user": claiming(sub=""),
    "a blank user": claiming(sub=" \u2003"),
    "a user of 256 bytes": claiming(sub="a" * 256),
    "a user with a newline": claiming(sub="alice\nbob"),
    "a user with a NUL": claiming(sub="alice\0"),
    "a user with a lone surrogate": claiming(sub="alice\ud800"),
    "a user in another claim": claiming(sub=..., user_id="alice", email="alice@example.com"),
}

BAD_API_KEYS: Mapping[str, Vector] = {
    "an API key without a token": lambda i: {"x-api-key": KEY},
    "an API key instead of a token": lambda i: bearer(KEY, **{"x-api-key": KEY}),
    "an unknown API key": with_key("key-of-somebody"),
    "an API key that was revoked": with_key(REVOKED_KEY),
    "an empty API key": with_key(""),
    "a blank API key": with_key(" "),
    "the beginning of an API key": with_key(KEY[:-1]),
    "an API key with a suffix": with_key(f"{KEY}x"),
    "an API key with a trailing space": with_key(f"{KEY} "),
    "an API key in upper case": with_key(KEY.upper()),
    "an API key's hash": with_key(hash_of(KEY)),
    "an API key of other letters": with_key("schlussel-🔑"),
    "an API key with a lone surrogate": with_key("\ud800"),
    "an API key that is too long": with_key(LONG_KEY),
    "two API keys": with_key(f"{KEY},{KEY}"),
    "two spellings of the API key's header": with_key(KEY, **{"X-Api-Key": KEY}),
    "an API key that is not text": with_key(None),
    "a client's name instead of its API key": with_key("planner"),
    "an API key with a bad token": lambda i: bearer(flipped(i.token()), **{"x-api-key": KEY}),
}

BAD: Mapping[str, Vector] = {**NO_TOKEN, **BAD_FORM, **BAD_KEY, **BAD_CLAIMS, **BAD_API_KEYS}
