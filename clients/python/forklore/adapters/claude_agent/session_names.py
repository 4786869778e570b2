"""The names under which sessions are kept."""

from hashlib import sha256
from urllib.parse import quote

from claude_agent_sdk import SessionKey

SESSIONS, SUBPATHS = "claude/", "claude-sub/"


def sessions_of(project_key: str) -> str:
    """Return how the names of a project's sessions begin."""
    return f"{SESSIONS}{part(project_key, 120)}/"


def session_name(project_key: str, session_id: str) -> str:
    """Return the name of a session.

    >>> session_name("-home-ann-trip", "550e8400")
    'claude/-home-ann-trip/550e8400'
    """
    return sessions_of(project_key) + part(session_id, 100)


def subpaths_of(project_key: str, session_id: str) -> str:
    """Return how the names of a session's subpaths begin."""
    return f"{SUBPATHS}{part(project_key, 80)}/{part(session_id, 70)}/"


def name_of(key: SessionKey) -> str:
    """Return the name of a transcript: of a session, or of one of its subpaths."""
    project, session, subpath = key["project_key"], key["session_id"], subpath_of(key)
    if subpath is None:
        return session_name(project, session)
    return subpaths_of(project, session) + part(subpath, 80)


def subpath_of(key: SessionKey) -> str | None:
    """Return the subpath of a transcript; None: it is that of a session. An empty one is none.

    >>> subpath_of({"project_key": "p", "session_id": "s", "subpath": ""}) is None
    True
    """
    return key.get("subpath") or None


def part(text: str, bytes_max: int) -> str:
    """Return a text as a part of a name, at most `bytes_max` long. Different texts stay different.

    A name has at most 255 bytes. So the end of a longer text is replaced by a hash of the text.

    >>> part("a/b", 80), len(part("x" * 81, 80))
    ('a%2Fb', 80)
    """
    quoted = quote(text, safe="", errors="surrogatepass")
    if len(quoted) <= bytes_max:
        return quoted
    # "!" is quoted in every text, so no short text looks like a long one.
    return f"{quoted[: bytes_max - 33]}!{sha256(quoted.encode()).hexdigest()[:32]}"
