"""Score branches of a tree: the member `score` of each one's metadata."""

from collections.abc import Mapping

from forklore_service.domain import ids, jsontext, keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.jsontext import JsonText
from forklore_service.domain.model import Caller
from forklore_service.errors import UnavailableError, ValidationError, brief
from forklore_service.limits import METADATA_BYTES_MAX
from forklore_service.storage import actions
from forklore_service.storage.actions import Action
from forklore_service.storage.found import Found
from forklore_service.storage.table import Table
from forklore_service.usecases.shared.idempotency import IdempotencyKey, Once
from forklore_service.usecases.shared.loading import LoadedConversation, look_up, require_group
from forklore_service.usecases.shared.optimistic import CHANGE, attempts

SCORE = "score"

Scores = Mapping[str, int | float | None]
"""What each conversation is worth. None: its score is taken away."""


def set_scores(
    table: Table,
    *,
    caller: Caller,
    conversation_id: str,
    scores: Scores,
    idempotency_key: IdempotencyKey | None = None,
) -> None:
    """Score conversations of the tree of this one, all or none. The rest of the metadata stays.

    Raises NotFoundError, ForbiddenError below writer, ValidationError for a conversation of another
    tree and for metadata that gets too large, IdempotentReplay for a replay.
    """
    once = Once(table, caller, idempotency_key)
    for _ in attempts(table, CHANGE):
        looked_up = look_up(table, conversation_id, caller=caller, extra_keys=once.keys)
        once.raise_if_answered(looked_up.found)
        loaded = looked_up.require(conversation_id, AccessLevel.WRITER)
        group = loaded.group
        found = table.get(
            key(group.group_id, one) for one in scores for key in (keys.conversation, keys.head)
        )
        heads = [found.head(group.group_id, one) for one in scores]  # a transfer rewrites one after the other
        is_owner = all(head is not None and head.owner == caller.user_id for head in heads)
        member = actions.member.check(group.group_id, caller.user_id, AccessLevel.WRITER)
        writes = [
            *once.record(group.group_id, conversation_id, None),
            *([] if is_owner else [member]),
            *_scored(table, loaded, found, scores, owner=caller.user_id if is_owner else None),
        ]
        refused = table.try_commit(writes)
        if refused is None:
            return
        once.raise_if_recorded(refused)
    raise UnavailableError("the conversations are busy; try again")


def _scored(
    table: Table, loaded: LoadedConversation, found: Found, scores: Scores, *, owner: str | None
) -> list[Action]:
    """Return the actions that score the conversations, which belong together as they were found."""
    group_id, writes = loaded.group.group_id, []
    for at, (conversation_id, score) in enumerate(scores.items()):
        conversation = found.conversation(group_id, conversation_id)
        head = found.head(group_id, conversation_id)
        if conversation is None or head is None:
            require_group(table, group_id)  # it may have gone with the tree
            raise ValidationError(
                f"this fork tree has no conversation {brief(conversation_id)}",
                field=f"scores[{at}].conversationId",
            )
        metadata = _with_score(conversation.described.metadata, score)
        if len(metadata.encode()) > METADATA_BYTES_MAX:
            raise ValidationError(
                f"the metadata would be more than {METADATA_BYTES_MAX} bytes", field=f"scores[{at}].score"
            )
        described = conversation.described._replace(metadata=metadata)
        later = ids.timestamp(ids.milliseconds(head.updated_at) + 1)
        writes += [
            actions.conversation.touch_head(
                group_id,
                conversation_id,
                changed_at=max(table.now(), later),
                was=head.changed_at,
                last=None,
                owner=owner,
                titled=False,
                changed=True,
            ),
            actions.conversation.describe(conversation._replace(described=described), ["metadata"]),
        ]
    return writes


def _with_score(metadata: str, score: float | None) -> str:
    """Return the metadata with this score. All else in it is spelled as it was.

    >>> _with_score('{"score": 1, "n": 1.50}', 0.5)
    '{"score":0.5,"n":1.50}'
    """
    members = jsontext.members_of(metadata)
    if score is None:
        members.pop(SCORE, None)
    else:
        members[SCORE] = JsonText(jsontext.to_json(score), score)
    return jsontext.to_json(members)
