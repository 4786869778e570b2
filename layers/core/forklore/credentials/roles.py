"""Which roles a user has: by patterns of user ids, or by a claim of the token."""

import fnmatch
import re
from collections.abc import Mapping, Sequence

from forklore.credentials.lists import read_list
from forklore.domain.users import ADMIN, AUDITOR, INDEXER, ROLES

SETTINGS: Mapping[str, str] = {
    ADMIN: "FORKLORE_ADMINS",
    AUDITOR: "FORKLORE_AUDITORS",
    INDEXER: "FORKLORE_INDEXERS",
}
"""Where the patterns of each role are set."""
Patterns = Mapping[str, Sequence[re.Pattern[str]]]
"""By role, what the ids of its users look like."""


def read_patterns(environ: Mapping[str, str]) -> Patterns:
    """Return the patterns that the settings list."""
    return {
        role: [read_pattern(text) for text in read_list(environ.get(name, ""))]
        for role, name in SETTINGS.items()
    }


def read_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern in which `*` is any text, also none, and everything else is itself.

    It takes no longer for a user id that almost fits: fnmatch's patterns never go back behind a `*`.

    >>> bool(read_pattern("ops-*").fullmatch("ops-7")), bool(read_pattern("a.b").fullmatch("axb"))
    (True, False)
    """
    return re.compile(fnmatch.translate(re.sub(r"([?[])", r"[\1]", text)))


def roles_of_user(user_id: str, patterns: Patterns) -> frozenset[str]:
    """Return the roles whose patterns the user id fits."""
    return frozenset(role for role in ROLES if any(one.fullmatch(user_id) for one in patterns.get(role, ())))


def roles_of_claim(claim: object) -> frozenset[str]:
    """Return the roles that a claim names: it is one text or a list of texts. What is no role means nothing.

    >>> sorted(roles_of_claim(["admin", "chef", 5])), sorted(roles_of_claim("auditor")), roles_of_claim(7)
    (['admin'], ['auditor'], frozenset())
    """
    names = claim if isinstance(claim, list) else [claim]
    return frozenset(name for name in names if isinstance(name, str) and name in ROLES)


def with_implied(roles: frozenset[str]) -> frozenset[str]:
    """Return the roles and those that they imply: an admin is an auditor, too."""
    return roles | {AUDITOR} if ADMIN in roles else roles
