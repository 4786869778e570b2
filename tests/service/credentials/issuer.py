"""An issuer of tokens: its keys, its key set, and tokens that it or somebody else signs."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER = "https://login.example.com/tenant"
AUDIENCE = "https://api.example.com"
ALGORITHMS = "RS256,ES256,EdDSA"
USER = "alice"
RSA, EC, ED = "rsa-1", "ec-1", "ed-1"
"""The ids of the keys that tokens may be signed with."""

Json = dict[str, Any]
Sign = Callable[[bytes], bytes]


def encoded(raw: bytes) -> str:
    """Return unpadded base64url."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def joined(header: Any, payload: Any, sign: Sign) -> str:
    """Return a signed token. header, payload: JSON values, or bytes as they are."""
    texts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, payload)]
    signed = ".".join(map(encoded, texts))
    return f"{signed}.{encoded(sign(signed.encode()))}"


def rs(key: rsa.RSAPrivateKey, bits: int = 256) -> Sign:
    """Return a function that signs with RS256, RS384 or RS512 and a key."""
    digest = {256: SHA256(), 384: SHA384(), 512: SHA512()}[bits]
    return lambda text: key.sign(text, padding.PKCS1v15(), digest)


def ps(key: rsa.RSAPrivateKey) -> Sign:
    """Return a function that signs with PS256 and a key."""
    return lambda text: key.sign(text, padding.PSS(padding.MGF1(SHA256()), 32), SHA256())


def es(key: ec.EllipticCurvePrivateKey, bits: int = 256) -> Sign:
    """Return a function that signs with ES256 or ES384 and a key."""
    digest = {256: SHA256(), 384: SHA384()}[bits]
    size = (key.key_size + 7) // 8

    def sign(text: bytes) -> bytes:
        return b"".join(
            part.to_bytes(size) for part in decode_dss_signature(key.sign(text, ec.ECDSA(digest)))
        )

    return sign


def hs(secret: bytes) -> Sign:
    """Return a function that signs with HS256 and a secret."""
    return lambda text: hmac.new(secret, text, hashlib.sha256).digest()


def public_rsa(key: rsa.RSAPrivateKey, kid: str, **more: Any) -> Json:
    """Return the public key as a member of a key set."""
    numbers = key.public_key().public_numbers()
    n = encoded(numbers.n.to_bytes((key.key_size + 7) // 8))
    return {"kty": "RSA", "kid": kid, "n": n, "e": encoded(numbers.e.to_bytes(3)), **more}


def public_ec(key: ec.EllipticCurvePrivateKey, kid: str, curve: str = "P-256", **more: Any) -> Json:
    """Return the public key as a member of a key set."""
    numbers, size = key.public_key().public_numbers(), (key.key_size + 7) // 8
    x, y = (encoded(number.to_bytes(size)) for number in (numbers.x, numbers.y))
    return {"kty": "EC", "kid": kid, "crv": curve, "x": x, "y": y, **more}


class Issuer:
    """The issuer. Its key set has good keys, and every kind of key that must not be used."""

    def __init__(self) -> None:
        self.rsa, self.small = (rsa.generate_private_key(65537, bits) for bits in (2048, 1024))
        self.ec, self.other_ec = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.p384 = ec.generate_private_key(ec.SECP384R1())
        self.ed = ed25519.Ed25519PrivateKey.generate()
        self.secret = b"a secret that the issuer shares with an app, 32 bytes or more"

    @cached_property
    def attacker(self) -> rsa.RSAPrivateKey:
        """A key that is not the issuer's."""
        return rsa.generate_private_key(65537, 2048)

    @property
    def pem(self) -> bytes:
        """The public part of the RSA key, as PEM."""
        return self.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    @cached_property
    def good_keys(self) -> list[Json]:
        raw = self.ed.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return [
            public_rsa(self.rsa, RSA, use="sig", alg="RS256"),
            public_ec(self.ec, EC, use="sig"),
            {"kty": "OKP", "crv": "Ed25519", "kid": ED, "x": encoded(raw), "key_ops": ["verify"]},
        ]

    @cached_property
    def key_set(self) -> str:
        """The published key set: the good keys, and others that a token may name."""
        private = encoded(self.other_ec.private_numbers().private_value.to_bytes(32))
        others: list[Any] = [
            {"kty": "oct", "kid": "shared", "k": encoded(self.secret), "alg": "HS256"},
            {"kty": "oct", "kid": "shared-rs256", "k": encoded(self.secret), "alg": "RS256"},
            public_rsa(self.small, "small"),
            public_rsa(self.rsa, "for-encryption", use="enc"),
            public_rsa(self.rsa, "for-wrapping", key_ops=["wrapKey"]),
            public_rsa(self.rsa, "for-ps256", alg="PS256"),
            public_ec(self.p384, "p384", "P-384"),
            public_ec(self.p384, "mislabelled", "P-256"),
            public_ec(self.other_ec, "private", d=private),
            public_ec(self.other_ec, "of-no-use", use=None),
            {"kty": "RSA", "kid": "half", "e": "AQAB"},
            {"kty": "RSA", "kid": "odd", "n": 5, "e": ["AQAB"]},
            {"kty": ["RSA"], "kid": "odder"},
            {"kty": "none", "kid": "none"},
            {name: held for name, held in public_rsa(self.rsa, "").items() if name != "kid"},
            public_rsa(self.rsa, "k" * 257),
            "no key at all",
            None,
        ]
        return json.dumps({"keys": [*others, *self.good_keys]})

    @staticmethod
    def claims(**changes: Any) -> Json:
        """Return the claims of a good token, with changes. The value `...` leaves a claim out."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": USER, "iat": now, "exp": now + 600, **changes}
        return {name: held for name, held in claims.items() if held is not ...}

    def token(
        self,
        *,
        header: Mapping[str, Any] | bytes | None = None,
        payload: Any = None,
        sign: Sign | None = None,
        **claims: Any,
    ) -> str:
        """Return a token signed with RS256, with changes.

        header: changes of the header, where `...` leaves a field out; or bytes that replace it.
        """
        if not isinstance(header, bytes):
            members = {"alg": "RS256", "kid": RSA, "typ": "JWT", **(header or {})}
            header = json.dumps({name: held for name, held in members.items() if held is not ...}).encode()
        return joined(header, self.claims(**claims) if payload is None else payload, sign or rs(self.rsa))

    def by_ec(self, **claims: Any) -> str:
        """Return a good token signed with ES256."""
        return self.token(header={"alg": "ES256", "kid": EC}, sign=es(self.ec), **claims)

    def by_ed(self, **claims: Any) -> str:
        """Return a good token signed with EdDSA."""
        return self.token(header={"alg": "EdDSA", "kid": ED}, sign=self.ed.sign, **claims)


@cache
def issuer() -> Issuer:
    """Return the issuer of this process. It is shared, because making keys takes time."""
    return Issuer()
