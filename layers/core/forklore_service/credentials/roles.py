"""The roles of a user, by patterns of user ids or by a claim of the token."""

import re
from collections.abc import Mapping, Sequence

from forklore_service.domain.users import ADMIN, AUDITOR, INDEXER, ROLES, read_list, read_pattern

SETTINGS: Mapping[str, str] = {
    ADMIN: "FORKLORE_ADMINS",
    AUDITOR: "FORKLORE_AUDITORS",
    INDEXER: "FORKLORE_INDEXERS",
}
"""The setting that holds the patterns of each role."""
Patterns = Mapping[str, Sequence[re.Pattern[str]]]
"""Patterns of user ids, by role."""


def read_patterns(environ: Mapping[str, str]) -> Patterns:
    return {
        role: [read_pattern(text) for text in read_list(environ.get(name, ""))]
        for role, name in SETTINGS.items()
    }


def roles_of_user(user_id: str, patterns: Patterns) -> frozenset[str]:
    return frozenset(role for role in ROLES if any(one.fullmatch(user_id) for one in patterns.get(role, ())))


def roles_of_claim(claim: object) -> frozenset[str]:
    """Return the roles in a claim, which is a text or a list of texts. Other texts are ignored.

    >>> sorted(roles_of_claim(["admin", "chef", 5])), sorted(roles_of_claim("auditor"))
    (['admin'], ['auditor'])
    >>> roles_of_claim(7)
    frozenset()
    """
    names = claim if isinstance(claim, list) else [claim]
    return frozenset(name for name in names if isinstance(name, str) and name in ROLES)


def with_implied(roles: frozenset[str]) -> frozenset[str]:
    """Return the roles with the ones that they imply: an admin is also an auditor."""
    return roles | {AUDITOR} if ADMIN in roles else roles
