"""What tells a watcher whether an answer is another one, and when to ask again. Pure.

Nothing here waits: a function that waits costs as much as one that works.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from forklore_service.api.responses import Response
from forklore_service.domain.answer_logs import AnswerState
from forklore_service.domain.jsontext import JsonText, to_json

FLOWS_MS, QUIET_MS, IDLE_MS = 400, 1_000, 3_000
"""While parts of an answer in progress come; while none comes; while nobody writes an answer."""
IS_OVER = frozenset({AnswerState.FINISHED, AnswerState.DROPPED})
NOBODY_WRITES = IS_OVER | {AnswerState.SILENT}
_TAG_DIGITS = 32
_TAG = re.compile(r'"([^"]*)"')


def watched(response: Response, fields: Mapping[str, Any], if_none_match: str | None) -> Response:
    """Return the response with its body, tag and pace; without the body if the caller has it.

    The tag is a digest of the body, so it says nothing that the body does not say. What stands in
    `afterCursor` does not count: in a list by last use it holds a time, and an earlier one goes on
    just as well. The tag of a redirect is the digest of the bytes that it leads to.
    """
    members = {name: JsonText(to_json(held), held) for name, held in fields.items()}
    text = counts = to_json(members)
    if fields.get("afterCursor") is not None:
        counts = to_json({**members, "afterCursor": True})
    tag = hashlib.sha256(counts.encode()).hexdigest()[:_TAG_DIGITS]
    if response.status == HTTPStatus.FOUND:
        tag = fields["sha256"]
    told = response._replace(text=text, tag=tag, ask_again_ms=_ask_again_ms(fields))
    if if_none_match is not None and _names(if_none_match, tag):
        return told._replace(status=HTTPStatus.NOT_MODIFIED, text="", location="")
    return told


def _names(if_none_match: str, tag: str) -> bool:
    """Tell whether an If-None-Match names a tag: alone, in a list, marked as weak, or by `*`.

    >>> _names('"a", W/"b"', "b"), _names("*", "b"), _names('"a"', "b"), _names("b", "b")
    (True, True, False, False)
    """
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)


def _ask_again_ms(fields: Mapping[str, Any]) -> int:
    written = fields if "parts" in fields else fields.get("answering")
    if not written or written.get("state") in NOBODY_WRITES:
        return IDLE_MS
    return FLOWS_MS if fields.get("parts") else QUIET_MS


def is_news(status: int, text: str, after: str | None) -> bool:
    """Tell whether an answer has something new for who waits for it.

    after: of a request about an answer in progress: the position up to which the caller has it.
    """
    if status != HTTPStatus.OK or after is None:
        return status != HTTPStatus.NOT_MODIFIED
    log = json.loads(text)
    return log["position"] > int(after) or log["state"] in IS_OVER
