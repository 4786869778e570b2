"""Single rules of docs/api.md in the oracle, which random requests seldom meet."""

from tests.service.model.asking import Caller, Json, Request
from tests.service.model.oracle import Oracle

ANN = Caller("ann")

# Where a search finds an entry of a removed branch


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


# The title of a copy


def copied(*before: Request) -> tuple[Oracle, Json]:
    """Return the oracle, and the copy C of a conversation R with a text."""
    oracle = Oracle()
    oracle.answer(said("R", "tea", title="a title"), {"id": "e", "createdAt": "1"})
    for request in before:
        oracle.answer(request, {"updatedAt": "2"})
    copy = Request("copyConversation", ANN, {"conversationId": "R", "id": "C"})
    status, made = oracle.answer(copy, {"createdAt": "3", "updatedAt": "3"})
    assert status == 201
    return oracle, made


def said(conversation_id: str, text: str, **more: Json) -> Request:
    content = [{"role": "USER", "text": text}]
    return Request("appendEntry", ANN, {"conversationId": conversation_id, "content": content, **more})


def test_a_copy_has_the_title_of_its_source() -> None:
    assert copied()[1]["title"] == "a title"


def test_a_copy_without_a_title_gets_that_of_the_first_text_appended_to_it_and_not_of_a_copied_one() -> None:
    oracle, made = copied(Request("updateConversation", ANN, {"conversationId": "R", "title": None}))

    assert made["title"] is None
    assert oracle.answer(said("C", "mine"), {"id": "f", "createdAt": "4"})[0] == 201
    assert oracle.conversations["C"].said["title"] == "mine"


# What an Idempotency-Key belongs to


def test_a_key_of_set_name_belongs_to_a_path_without_ids() -> None:
    oracle = Oracle()
    for name in "RS":
        oracle.answer(Request("createConversation", ANN, {"id": name}), {"createdAt": "1", "updatedAt": "1"})

    statuses = []
    for to in "RRS":
        given = {"conversationId": to, "name": "trip"}
        statuses.append(oracle.answer(Request("setName", ANN, given, key="k"), {"createdAt": "2"})[0])
    assert statuses == [200, 200, 422]


def test_a_request_under_a_key_is_the_same_if_its_fields_are_and_its_content_to_the_letter() -> None:
    oracle = Oracle()
    first: Json = {"conversationId": "R", "channel": "history", "contentType": "any", "content": [1]}

    def status(**other: Json) -> int:
        append = Request("appendEntry", ANN, first | other, key="k")
        return oracle.answer(append, {"id": "e", "createdAt": "1"})[0]

    assert [status(), status(channel="HISTORY")] == [201, 201]
    assert [status(content=[1.0]), status(content=[True]), status(contentType="ANY")] == [422, 422, 422]


# Alternatives

AGENT = Caller("ann", "planner")


def branched(*forks: tuple[str, str, str], removed: str = "") -> Json:
    """Return the alternatives of the first entry e of a root R that has some forks.

    forks: of each the id, the source and the `createdAt`. One of R is before e and has an entry of
    the context; one of another fork is after all that this one shows.
    """
    oracle = Oracle()
    oracle.answer(said("R", "tea"), {"id": "e", "createdAt": "1"})
    for name, source, at in forks:
        where = {"forkedAtEntryId": "e"} if source == "R" else {"forkedAtPosition": "head"}
        given = {"conversationId": name, "forkedAtConversationId": source, **where}
        thought = {"channel": "context", "content": [name], "contentType": "state"}
        made = Request("appendEntry", AGENT, given | thought)
        assert oracle.answer(made, {"id": f"e{name}", "createdAt": at})[0] == 201
        shown = {"id": name, "title": None, "createdAt": at, "updatedAt": at}
        oracle.answer(Request("getConversation", ANN, {"conversationId": name}), shown)
    if removed:
        gone = {"conversationId": removed, "scope": "branch"}
        assert oracle.answer(Request("deleteConversation", ANN, gone), {})[0] == 204
    page = Request("listEntries", ANN, {"conversationId": "R", "alternatives": True})
    [entry] = oracle.answer(page, {})[1]["data"]
    return entry.get("alternatives", [])


def test_alternatives_are_listed_by_the_time_that_the_service_tells() -> None:
    assert branched(("F", "R", "3"), ("G", "R", "2")) == ["G", "F"]


def test_a_fork_that_shows_only_context_of_an_alternative_is_a_fork_of_that_one() -> None:
    assert branched(("F", "R", "2"), ("G", "F", "3")) == ["F"]


def test_a_fork_that_shows_only_context_of_the_root_leaves_a_blank_view_itself() -> None:
    oracle = Oracle()
    thought = {"channel": "context", "content": ["a"], "contentType": "state"}
    oracle.answer(Request("appendEntry", AGENT, {"conversationId": "R", **thought}), {"id": "e"})
    for name, at in (("BLANK", {"atEntryId": "e"}), ("HEAD", {})):
        given = {"conversationId": "R", "id": name, **at}
        oracle.answer(Request("forkConversation", AGENT, given), {"createdAt": name, "updatedAt": "2"})

    for name, others in (("BLANK", ["HEAD"]), ("HEAD", ["BLANK"]), ("R", ["BLANK", "HEAD"])):
        page = Request("listEntries", ANN, {"conversationId": name, "alternatives": True})
        assert oracle.answer(page, {})[1]["alternativesAtEnd"] == others


def test_for_a_removed_alternative_stands_the_oldest_branch_that_shows_its_first_entry() -> None:
    assert branched(("F", "R", "2"), removed="F") == []
    assert branched(("F", "R", "2"), ("G", "F", "4"), ("H", "F", "3"), removed="F") == ["H"]
    assert branched(("F", "R", "2"), ("G", "F", "5"), ("J", "R", "4"), removed="F") == ["J", "G"]


# Children

FIRST_TEXT = {"content": [{"role": "USER", "text": "go"}]}


def test_a_child_whose_root_was_removed_is_listed_by_its_current_branch() -> None:
    oracle = Oracle()
    oracle.answer(said("R", "tea"), {"id": "e", "createdAt": "1"})
    child = {"conversationId": "C", "startedByConversationId": "R", "startedByEntryId": "e", **FIRST_TEXT}
    oracle.answer(Request("appendEntry", ANN, child), {"id": "c", "createdAt": "2"})
    fork = Request("forkConversation", ANN, {"conversationId": "C", "id": "F"})
    oracle.answer(fork, {"createdAt": "3", "updatedAt": "3"})
    oracle.answer(Request("deleteConversation", ANN, {"conversationId": "C", "scope": "branch"}), {})

    for entry_id, shown in ((None, ["F"]), ("e", ["F"]), ("c", [])):
        given = {"conversationId": "R"} | ({"startedByEntryId": entry_id} if entry_id else {})
        status, rows = oracle.answer(Request("listChildren", ANN, given), {})
        assert (status, [row["id"] for row in rows]) == (200, shown)
