"""Scores of branches: all or none, in metadata whose rest stays as it was sent."""

import pytest

from forklore_service.domain import keys
from forklore_service.domain.access import AccessLevel
from forklore_service.domain.model import Caller
from forklore_service.errors import ForbiddenError, NotFoundError, ValidationError
from forklore_service.limits import METADATA_BYTES_MAX, SCORES_AT_ONCE
from forklore_service.storage.table import Table
from forklore_service.usecases.writing.scores import Scores, set_scores
from tests.service.usecases.builders import ANN, BOB, EVE, FORK, OTHER, ROOT, create, fork, say, show
from tests.service.usecases.members import Killed, accept, dies, offer, share
from tests.support.tables import Store
from tools.harness.wire import Wire


def score(table: Table, scores: Scores, *, by: Caller = ANN, of: str = ROOT) -> None:
    set_scores(table, caller=by, conversation_id=of, scores=scores)


def metadata(table: Table, of: str = ROOT) -> str:
    return show(table, of).conversation.described.metadata


def test_a_score_is_a_member_of_the_metadata_whose_rest_is_spelled_as_it_was_sent(table: Table) -> None:
    create(table, metadata='{ "entries": [1.50, 1e400], "caf\\u00e9": null, "score": "good" }')

    score(table, {ROOT: 0.5})

    assert metadata(table) == '{"entries":[1.50, 1e400],"café":null,"score":0.5}'


def test_without_a_score_the_old_one_goes(table: Table) -> None:
    create(table, metadata='{"score":1,"n":2}')

    score(table, {ROOT: None})

    assert metadata(table) == '{"n":2}'


def test_many_branches_are_scored_in_one_transaction(table: Table) -> None:
    say(table, ROOT, "1")
    forks = [fork(table, fork_id=None).conversation.conversation_id for _ in range(SCORES_AT_ONCE - 1)]
    before = show(table, ROOT).head.updated_at
    wire = Wire.of(table)

    score(table, {ROOT: 1, **dict.fromkeys(forks, 0)})

    assert wire.operations.count("TransactWriteItems") == 1
    assert {metadata(table, one) for one in forks} == {'{"score":0}'}
    assert show(table, ROOT).head.updated_at > before


def test_none_is_scored_if_one_cannot_be(table: Table) -> None:
    create(table)
    create(table, conversation_id=OTHER)
    long = '{"n":"' + "x" * (METADATA_BYTES_MAX - 10) + '"}'
    fork(table, fork_id=FORK, metadata=long)

    with pytest.raises(ValidationError, match="no conversation") as refused:
        score(table, {ROOT: 1, OTHER: 1})
    assert refused.value.details["field"] == "scores[1].conversationId"
    with pytest.raises(ValidationError, match="more than 16384 bytes") as refused:
        score(table, {ROOT: 1, FORK: 1})
    assert refused.value.details["field"] == "scores[1].score"
    assert metadata(table) == "{}"


def test_only_writers_score(store: Store, table: Table) -> None:
    create(table)
    store.add_member(ROOT, BOB.user_id, AccessLevel.READER)

    with pytest.raises(ForbiddenError):
        score(table, {ROOT: 1}, by=BOB)
    with pytest.raises(ForbiddenError):
        score(table, {ROOT: 1}, by=EVE)
    with pytest.raises(NotFoundError):
        score(table, {ROOT: 1}, of=OTHER)


def test_who_has_just_become_the_owner_scores_before_every_head_says_so(store: Store) -> None:
    process, killed = store.process(), store.process()
    create(process)
    share(process, BOB.user_id)
    offered = offer(process, BOB.user_id)
    dies(killed, 4, before=True)
    with pytest.raises(Killed):
        accept(killed, offered)
    group = process.get([keys.group(ROOT)]).group(ROOT)
    assert group is not None
    assert group.rewriting == ANN.user_id

    score(process, {ROOT: 1}, by=BOB)
    score(process, {ROOT: 2})

    assert metadata(process) == '{"score":2}'
