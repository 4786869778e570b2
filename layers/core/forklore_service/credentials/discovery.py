"""Where an issuer publishes its keys (OpenID Connect Discovery 1.0, section 4)."""

import json
from collections.abc import Callable, Collection

from forklore_service.credentials.fetching import is_https_url
from forklore_service.credentials.issuer_keys import KeySet, read_key_set

DOCUMENT = "/.well-known/openid-configuration"


def published_keys(issuer: str, algorithms: Collection[str], fetch: Callable[[str], bytes]) -> KeySet:
    """Fetch and return the issuer's usable keys.

    fetch: returns the body at an https URL.
    Raises the exceptions of `fetch`, and ValueError for a document of another issuer or no key set.
    """
    try:
        document = json.loads(fetch(issuer.rstrip("/") + DOCUMENT))
    except RecursionError:
        raise ValueError("the issuer's document nests too deep") from None
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("the issuer's document is another issuer's")
    keys_url = document.get("jwks_uri")
    if not isinstance(keys_url, str) or not is_https_url(keys_url):
        raise ValueError("the issuer's document names no https address of keys")
    return read_key_set(fetch(keys_url), algorithms)
