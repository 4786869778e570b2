"""Where an issuer publishes its keys (OpenID Connect Discovery 1.0, section 4)."""

import json
from collections.abc import Callable, Collection

from forklore.credentials.fetching import is_https_url
from forklore.credentials.issuer_keys import KeySet, read_key_set

DOCUMENT = "/.well-known/openid-configuration"


def published_keys(issuer: str, algorithms: Collection[str], fetch: Callable[[str], bytes]) -> KeySet:
    """Return the issuer's usable keys, fetched now.

    fetch: from an https URL to the body found there.
    Raises what `fetch` does, and ValueError for what is no answer of this issuer, or no key set.
    """
    try:
        document = json.loads(fetch(issuer.rstrip("/") + DOCUMENT))
    except RecursionError:
        raise ValueError("the issuer's document nests too deep") from None
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("the issuer's document is another issuer's")
    where = document.get("jwks_uri")
    if not isinstance(where, str) or not is_https_url(where):
        raise ValueError("the issuer's document names no https address of keys")
    return read_key_set(fetch(where), algorithms)
