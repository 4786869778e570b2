"""Where the oracle lets the service find an entry of a removed branch."""

from tests.model.asking import Caller, Json, Request
from tests.model.oracle import Oracle

ANN = Caller("ann")


def grown() -> Oracle:
    """Return a root R that was removed, its fork F that shows its entry e, a fork G of F, and B.

    B is a blank fork.
    """
    oracle = Oracle()
    message = {"conversationId": "R", "content": [{"role": "USER", "text": "tea"}]}
    oracle.answer(Request("appendEntry", ANN, message), {"id": "e", "createdAt": "1"})
    for name, source, at in (("F", "R", "after"), ("G", "F", "after"), ("B", "R", "before")):
        given = {"conversationId": source, "id": name, "atEntryId": "e", "position": at}
        fork = Request("forkConversation", ANN, given)
        status, _ = oracle.answer(fork, {"createdAt": f"2{name}", "updatedAt": "3"})
        assert status == 201
    oracle.answer(Request("deleteConversation", ANN, {"conversationId": "R", "scope": "branch"}), {})
    return oracle


def found_at(told: str) -> Json:
    """Return where the oracle finds the entry, if the service finds it at `told`."""
    search = Request("searchConversations", ANN, {"query": "tea"})
    status, rows = grown().answer(search, [{"conversationId": told, "entryId": "e"}])
    assert status == 200
    return [row["conversationId"] for row in rows]


def test_an_entry_of_a_removed_branch_may_be_found_at_any_live_one_that_shows_it() -> None:
    assert [found_at(told) for told in "FG"] == [["F"], ["G"]]


def test_it_may_not_be_found_at_one_that_does_not_show_it() -> None:
    assert [found_at(told) for told in "RB"] == [["F"], ["F"]]
