"""Write an answer piece by piece, and read it meanwhile."""

from forklore_service.api import answer_log_requests, answers
from forklore_service.api.operation import CheckedRequest, Operation
from forklore_service.domain import ids
from forklore_service.domain.content import check_elements
from forklore_service.domain.ids import EntryId
from forklore_service.usecases.answers import reading, writing


def begin_answer(request: CheckedRequest) -> answers.AnswerStatus:
    """Begin an answer that is written piece by piece, after an entry that the conversation shows.

    For writers. A conversation has one such answer at a time. One into which nothing was written
    for 30 seconds is ended for the new one, and so is one of the same user and client: with
    `takeOver` `true` any other one, too, with `false` none of these. An append with its `answerId`
    finishes it, in this conversation or in a fork. `If-Match` as for appendEntry. Everything of it
    is gone 24 hours after it was begun.
    """
    body: answer_log_requests.BeginAnswer = request.body
    after = body.after_entry_id
    begun = writing.begin_answer(
        request.table,
        caller=request.caller,
        request=writing.Beginning(
            conversation_id=request.conversation_id,
            answer_id=body.id,
            after=None if after is None else EntryId(after) if ids.is_entry_id(after) else ids.LAST,
            after_key=body.after_key,
            agent_id=body.agent_id,
            if_match=None if request.if_match is None else EntryId(request.if_match),
            take_over=body.take_over,
        ),
        idempotency_key=request.idempotency_key(answers.answer),
    )
    return answers.answer(begun)


def append_to_answer(request: CheckedRequest) -> answers.AppendedPart:
    """Write the next piece of an answer.

    For the user who has begun it. `after` is the position of the piece before it; the beginning
    has 0. The same request again has the same answer, so it needs no `Idempotency-Key`. A piece
    without content says that somebody is still at it: send one at least every 30 seconds.
    """
    body: answer_log_requests.AppendToAnswer = request.body
    check_elements(body.content.value)
    position = writing.append_part(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        answer_id=request.answer_id,
        after=body.after,
        content=body.content.text,
    )
    return {"position": position}


def get_answer(request: CheckedRequest) -> answers.AnswerLog:
    """Show an answer that is written piece by piece, with the pieces after a position.

    For every member. `position` in the answer is the `after` of the next request.
    """
    query: answer_log_requests.GetAnswer = request.query
    log = reading.get_answer(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        answer_id=request.answer_id,
        after=query.after,
    )
    return answers.answer_log(log)


def stop_answer(request: CheckedRequest) -> answers.AnswerStatus:
    """Stop an answer: nothing more is written to it.

    For writers. Who writes it learns it from the answer to the next piece, and finishes or deletes
    it; so may any other writer.
    """
    stopped = writing.stop_answer(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        answer_id=request.answer_id,
    )
    return answers.answer(stopped)


def delete_answer(request: CheckedRequest) -> None:
    """End an answer without an entry.

    For writers. A finished one cannot be deleted.
    """
    writing.drop_answer(
        request.table,
        caller=request.caller,
        conversation_id=request.conversation_id,
        answer_id=request.answer_id,
    )


_ALL = "/v1/conversations/{conversationId}/answers"
_ONE = f"{_ALL}/{{answerId}}"

OPERATIONS = (
    Operation(
        "beginAnswer",
        "POST",
        _ALL,
        begin_answer,
        status=201,
        body=answer_log_requests.BeginAnswer,
        errors=(403, 404, 409),
        takes_if_match=True,
    ),
    Operation(
        "appendToAnswer",
        "POST",
        f"{_ONE}/parts",
        append_to_answer,
        status=201,
        body=answer_log_requests.AppendToAnswer,
        errors=(403, 404, 409, 413),
        repeats=True,
    ),
    Operation(
        "getAnswer",
        "GET",
        _ONE,
        get_answer,
        query=answer_log_requests.GetAnswer,
        errors=(403, 404),
    ),
    Operation("stopAnswer", "POST", f"{_ONE}/stop", stop_answer, errors=(403, 404, 409), repeats=True),
    Operation("deleteAnswer", "DELETE", _ONE, delete_answer, status=204, errors=(403, 404, 409)),
)
