"""Branches and trees are deleted, after one was told what that does."""

import re

import pytest
from playwright.sync_api import Page, Request, Route, expect

from forklore import Conversation, Forklore, NotFoundError
from tests.web.browser import Watch
from tests.web.growing import Pond, grow, pond
from tests.web.steps import (
    at_conversation,
    conversations,
    deed,
    dialog,
    expect_messages,
    go_to,
    head,
    row,
    rows,
    said,
    sign_in,
    stored,
    title,
)
from tests.web.wording import words

SURE = "I know that this cannot be undone."
LASTS = "What it started for tasks is deleted with it. The ids rest for at least 30 days."
DELETES = "**/v1/conversations/*?scope=*"


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.fixture(autouse=True)
def gone(watch: Watch) -> None:
    """Let the page ask for news of what is deleted just then."""
    watch.expect_status("404")


def begin(page: Page, user: str, conversation: Conversation, label: str) -> None:
    """Open a conversation and ask for its deletion."""
    sign_in(page, user, at=at_conversation(conversation.id))
    deed(page, label).click()
    expect(dialog(page)).to_contain_text(LASTS)


def confirm(page: Page, label: str) -> None:
    dialog(page).get_by_label(SURE).check()
    dialog(page).get_by_role("button", name=label, exact=True).click()


def expect_gone(conversation: Conversation) -> None:
    with pytest.raises(NotFoundError):
        conversation.details()


def test_a_branch_is_deleted_and_its_forks_stay_with_what_they_inherit(
    blank: Page, user: str, grown: Pond
) -> None:
    heir = grown.side.fork(after=grown.answered[0], title="Heir")
    grow(heir, ["I go on."])
    before = stored(heir)
    begin(blank, user, grown.side, "Delete branch")
    expect(dialog(blank)).to_have_accessible_name(words("Delete the branch “Side arm”?"))
    for sentence in [
        "Nobody can open this branch any more. The other branches stay as they are.",
        "Its 1 fork stays, with all that is inherited from this branch.",
    ]:
        expect(dialog(blank)).to_contain_text(sentence)

    confirm(blank, "Delete the branch")

    expect(said(blank, "The branch is deleted. Its 1 fork stays.")).to_be_visible()
    expect(blank).to_have_url(re.compile(at_conversation(grown.main.id)))
    expect(title(blank)).to_have_text("Pond")
    expect_gone(grown.side)
    go_to(blank, at_conversation(heir.id))
    expect_messages(blank, ["Which fish?", "A goldfish.", "Side 1", "I go on."])
    assert stored(heir) == before


def test_a_branch_without_forks_goes_with_its_entries(blank: Page, user: str, grown: Pond) -> None:
    begin(blank, user, grown.side, "Delete branch")
    expect(dialog(blank)).to_contain_text("Its entries are removed, but for those that other branches show.")

    confirm(blank, "Delete the branch")

    expect(said(blank, re.compile(r"The branch is deleted\.$"))).to_be_visible()
    expect_messages(blank, ["Which fish?", "A goldfish.", "How large?", "Ten centimetres."])
    expect(deed(blank, "Delete branch")).to_have_count(0)  # the last branch goes with its tree only
    expect(deed(blank, "Delete tree")).to_be_visible()
    expect_gone(grown.side)


def test_another_branch_becomes_current_when_the_root_is_deleted(blank: Page, user: str, grown: Pond) -> None:
    begin(blank, user, grown.main, "Delete branch")
    expect(dialog(blank)).to_contain_text(words("“Side arm” becomes the current branch."))

    confirm(blank, "Delete the branch")

    expect(title(blank)).to_have_text("Side arm")
    expect(head(blank).get_by_text("current branch")).to_be_visible()
    expect(row(blank, "Side arm")).to_be_visible()
    expect(row(blank, "Pond")).to_have_count(0)
    expect_messages(blank, ["Which fish?", "A goldfish.", "Side 1", "Side 2"])
    expect_gone(grown.main)
    assert grown.side.details().is_current


def test_a_tree_is_deleted_with_all_branches_and_what_they_started(
    blank: Page, user: str, grown: Pond
) -> None:
    child = grown.side.start_child(title="Errand")
    child.say("user", "Buy food.")
    begin(blank, user, grown.side, "Delete tree")
    expect(row(blank, "Errand")).to_be_visible()
    expect(dialog(blank)).to_have_accessible_name(words("Delete the whole tree of “Side arm”?"))
    expect(dialog(blank)).to_contain_text("All of it is deleted for everybody: 2 branches with all entries.")

    confirm(blank, "Delete the tree")

    expect(said(blank, re.compile(r"The tree is deleted\.$"))).to_be_visible()
    expect(blank).to_have_url(re.compile(r"#/$"))
    expect(conversations(blank)).to_contain_text("Nothing here yet")
    expect(rows(blank)).to_have_count(0)
    for conversation in [grown.main, grown.side, child]:
        expect_gone(conversation)


def test_an_answer_of_202_says_that_the_rest_goes_on(blank: Page, user: str, grown: Pond) -> None:
    """The service deletes the tree. Its answer is changed to the one for a very wide tree."""

    def accept(route: Route) -> None:
        answered = route.fetch()
        assert answered.status == 204
        route.fulfill(status=202)

    blank.route(DELETES, accept)
    begin(blank, user, grown.main, "Delete tree")

    confirm(blank, "Delete the tree")

    expect(
        said(blank, "The tree is deleted. Closing its conversations goes on in the background.")
    ).to_be_visible()
    expect_gone(grown.main)


def test_what_somebody_else_deleted_meanwhile_is_told(blank: Page, user: str, grown: Pond) -> None:
    begin(blank, user, grown.side, "Delete branch")
    grown.side.delete()

    confirm(blank, "Delete the branch")

    expect(said(blank, "The branch was deleted already.")).to_be_visible()
    expect(title(blank)).to_have_text("Pond")


def test_a_lost_answer_to_a_deletion_is_no_error(blank: Page, user: str, grown: Pond, watch: Watch) -> None:
    """The first answer is lost. The second one says 404, since the first request has deleted it."""
    watch.expect("ERR_FAILED")
    sent: list[Request] = []

    def lose_first(route: Route) -> None:
        sent.append(route.request)
        answered = route.fetch()
        route.abort() if len(sent) == 1 else route.fulfill(response=answered)

    blank.route(DELETES, lose_first)
    begin(blank, user, grown.side, "Delete branch")

    confirm(blank, "Delete the branch")

    expect(said(blank, re.compile(r"The branch is deleted\.$"))).to_be_visible()
    expect(title(blank)).to_have_text("Pond")
    assert len(sent) == 2


def test_nothing_is_deleted_before_one_is_sure(blank: Page, user: str, grown: Pond) -> None:
    sent: list[Request] = []
    blank.on("request", lambda request: sent.append(request) if request.method == "DELETE" else None)
    begin(blank, user, grown.main, "Delete tree")

    dialog(blank).get_by_role("button", name="Delete the tree").click()
    expect(dialog(blank).get_by_label(SURE)).to_be_focused()  # the browser says what is missing
    dialog(blank).get_by_role("button", name="Cancel").click()

    expect(dialog(blank)).to_have_count(0)
    assert sent == []
    assert grown.main.details().title == "Pond"
