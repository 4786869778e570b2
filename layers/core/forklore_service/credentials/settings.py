"""The authorizer's settings, from the environment."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from forklore_service.credentials.api_keys import read_clients
from forklore_service.credentials.fetching import is_https_url
from forklore_service.credentials.issuer_keys import ALGORITHMS, KeySet, read_key_set
from forklore_service.credentials.roles import SETTINGS, Patterns, read_patterns
from forklore_service.credentials.tokens import Expected
from forklore_service.domain.users import read_list

USER_ID_CLAIM = "sub"
DEFAULT_ALGORITHMS = "RS256,ES256"
SCOPES = frozenset({"scope", "scp"})
"""Claims about what an app may do for a user. They are never roles."""
_ONLY_STARS = re.compile(r"\*+")
_Read = TypeVar("_Read")


class AuthorizerSettings(NamedTuple):
    """Which tokens are good, and how to find the user, the client and the roles.

    user_id_claim: the claim that holds the user id. issuer_keys: None to fetch the keys that the
    issuer publishes. clients: client ids by the hash of their API key. patterns: of user ids, by
    role. roles_claim: None if no claim names roles.
    """

    expected: Expected
    user_id_claim: str
    issuer_keys: KeySet | None
    clients: Mapping[str, str]
    patterns: Patterns
    roles_claim: str | None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "AuthorizerSettings":
        """Return the settings.

        Raises RuntimeError for a missing or unsafe one. The message says what to set, but no value.
        """
        algorithms = _algorithms(environ.get("FORKLORE_ALGORITHMS", DEFAULT_ALGORITHMS))
        audiences = tuple(read_list(environ.get("FORKLORE_AUDIENCE", "")))
        if not audiences:
            raise RuntimeError(
                "set FORKLORE_AUDIENCE to the audience of your tokens, or to several with commas"
            )
        user_id_claim = _user_id_claim(environ.get("FORKLORE_USER_ID_CLAIM", USER_ID_CLAIM))
        return cls(
            Expected(_issuer(environ.get("FORKLORE_ISSUER", "")), audiences, algorithms),
            user_id_claim,
            _read(environ, "FORKLORE_ISSUER_KEYS", lambda text: read_key_set(text, algorithms)),
            _read(environ, "FORKLORE_API_KEY_HASHES", read_clients) or {},
            _patterns(environ),
            _roles_claim(environ.get("FORKLORE_ROLES_CLAIM", "").strip(), user_id_claim),
        )


def _issuer(issuer: str) -> str:
    if not is_https_url(issuer) or "?" in issuer:
        raise RuntimeError(
            "set FORKLORE_ISSUER to the issuer of your tokens, exactly as their claim iss has it: "
            "an https URL without user, query and fragment"
        )
    return issuer


def _algorithms(text: str) -> tuple[str, ...]:
    algorithms = tuple(read_list(text))
    if not algorithms or not ALGORITHMS.issuperset(algorithms):
        raise RuntimeError(f"set FORKLORE_ALGORITHMS to one or several of {', '.join(sorted(ALGORITHMS))}")
    return algorithms


def _user_id_claim(name: str) -> str:
    if not name.strip() or name in SCOPES:
        raise RuntimeError("set FORKLORE_USER_ID_CLAIM to the claim of your tokens that holds the user's id")
    return name


def _roles_claim(name: str, user_id_claim: str) -> str | None:
    if name in SCOPES or name == user_id_claim:
        raise RuntimeError(
            "set FORKLORE_ROLES_CLAIM to a claim of roles; scopes are an app's, and no user id is a role"
        )
    return name or None


def _patterns(environ: Mapping[str, str]) -> Patterns:
    for name in SETTINGS.values():
        if any(_ONLY_STARS.fullmatch(text) for text in read_list(environ.get(name, ""))):
            raise RuntimeError(f"set {name} to patterns of user ids; one that fits everybody is none")
    return read_patterns(environ)


def _read(environ: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read | None:
    """Return a setting as `read` reads it, None if it is empty.

    read: raises ValueError with a message that says what is wrong.
    """
    text = environ.get(name, "")
    if not text.strip():
        return None
    try:
        return read(text)
    except ValueError as error:
        raise RuntimeError(f"set {name} anew: {error}") from None
