"""Leaves out of what is imported the values that look like keys.

It knows keys by how their makers write them, and values by the names before them. That is a net
with holes: what has no form of its own is not found, and files that are attached stay as they are.
The one kept library for it, detect-secrets, has had no release since May 2024.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forklore.importing.foreign_trees import ForeignTree, ImportReport, Reason

_NAMED = r"(?:api[_-]?key|secret|token|passw(?:or)?d|access[_-]?key|credential)s?"
_FORMS = (
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b",  # GitHub
    r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b",
    r"\bglpat-[A-Za-z0-9_-]{20,255}",  # GitLab
    r"\bsk-[A-Za-z0-9_-]{20,255}",  # Anthropic, OpenAI
    r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}",  # Stripe
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}",  # Slack
    r"\bAIza[A-Za-z0-9_-]{35}",  # Google
    r"\b(?:npm|hf)_[A-Za-z0-9]{30,255}\b",
    r"\bpypi-[A-Za-z0-9_-]{50,255}",
    r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,2000}",  # JSON Web Token
    r"(?<=://)[^\s/:@]{1,255}:[^\s/@]{1,255}(?=@)",  # a user and a password in a URL
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,4000}",
    r"(?<=[Bb]asic )[A-Za-z0-9+/=]{16,4000}",
)
_LOOKS = re.compile("|".join(_FORMS), re.DOTALL)
_AFTER_NAME = re.compile(
    rf"""({_NAMED}\w{{0,20}}\\{{0,7}}["']?\s{{0,5}}[:=]\s{{0,5}}\\{{0,7}}["']?)"""  # JSON within JSON
    r"""((?=[^\s"',;]{0,200}[A-Za-z])(?=[^\s"',;]{0,200}\d)(?:[^\s"',;\\]|\\(?!["'])){8,4000})""",
    re.IGNORECASE,
)
_NAME = re.compile(rf"(?:\w*(?:[_-]|(?-i:[a-z](?=[A-Z]))))?{_NAMED}", re.IGNORECASE)
_NAMED_MIN = 8


def redacted(tree: ForeignTree, report: ImportReport) -> ForeignTree:
    """Return a tree with asterisks in place of what looks like a key. The report counts them.

    What is left keeps its place: parts of a text are named by where they stand in it.
    """
    found = Counter[str]()
    messages = []
    for message in tree.messages:
        before = found.total()
        content = _value(message.content, found)
        if found.total() > before:
            report.add(Reason.KEY, message.message_id)
            message = replace(message, content=content, written="")  # noqa: PLW2901
        messages.append(message)
    title = tree.title and without_keys(tree.title, found)
    metadata = _value(tree.metadata, found)
    return replace(tree, messages=tuple(messages), title=title, metadata=metadata)


def without_keys(text: str, found: Counter[str] | None = None) -> str:
    """Return a text with as many asterisks in place of each part that looks like a key.

    >>> without_keys("export GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 now")
    'export GITHUB_TOKEN=**************************************** now'
    >>> without_keys("max_tokens: 12000000")
    'max_tokens: 12000000'
    """
    counts = Counter[str]() if found is None else found

    def stars(key: str) -> str:
        counts["keys"] += 1
        return "*" * (len(key.encode("utf-16-le", "surrogatepass")) // 2)

    def after_name(match: re.Match[str]) -> str:
        return match[0] if set(match[2]) == {"*"} else f"{match[1]}{stars(match[2])}"

    return _AFTER_NAME.sub(after_name, _LOOKS.sub(lambda match: stars(match[0]), text))


def _value(value: Any, found: Counter[str]) -> Any:
    if isinstance(value, str):
        return without_keys(value, found)
    if isinstance(value, list):
        return [_value(one, found) for one in value]
    if isinstance(value, Mapping):
        is_media = any(name in value for name in ("media_type", "mimeType", "mime_type"))
        held: dict[str, Any] = {}
        for name, one in value.items():
            told = without_keys(name, found)
            while told in held:  # of two keys of one length
                told += "*"
            held[told] = one if is_media and name == "data" else _member(name, one, found)
        return held
    return value


def _member(name: str, value: Any, found: Counter[str]) -> Any:
    is_key = isinstance(value, str) and len(value) >= _NAMED_MIN and _NAME.fullmatch(name)
    if is_key and any(letter.isdigit() for letter in value):
        found["keys"] += 1
        return "*" * len(value)
    return _value(value, found)
