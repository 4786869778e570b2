"""Members of a tree, and how a tree gets another owner."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Locator, Page, Route, expect

from forklore import Forklore
from tests.web.browser import Watch
from tests.web.growing import Pond, pond
from tests.web.steps import (
    at_conversation,
    conversations,
    deed,
    dialog,
    dots,
    head,
    hold,
    let_go,
    row,
    rows,
    said,
    sign_in,
    title,
    wait_until,
)
from tests.web.wording import words

MEMBERS = "**/memberships?limit=*"
BRANCHES = "all 2 branches of this tree, and its later ones"


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.fixture
def bob(user: str) -> str:
    return f"{user}-bob"


@pytest.fixture
def page(blank: Page, user: str, grown: Pond) -> Page:
    """The owner's page."""
    return open_tree(blank, user, grown)


@pytest.fixture
def other_page(new_context: Callable[..., BrowserContext]) -> Page:
    """A page of another profile of the browser."""
    return new_context().new_page()


def open_tree(page: Page, who: str, grown: Pond) -> Page:
    sign_in(page, who, at=at_conversation(grown.main.id))
    expect(title(page)).to_have_text("Pond")
    return page


def open_members(page: Page, label: str = "Share") -> Locator:
    """Open the list of the members, and return the dialog."""
    deed(page, label).click()
    shown = page.get_by_role("dialog", name="Members of the tree")
    expect(shown.get_by_role("listitem").first).to_be_visible()
    return shown


def confirm(page: Page, label: str) -> None:
    """Press the button of the newest dialog, and wait until it closes."""
    number = page.get_by_role("dialog").count()
    dialog(page).get_by_role("button", name=label, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(number - 1)


def levels(grown: Pond) -> dict[str, str]:
    """Return who is stored as a member, and with which level."""
    return {one.user_id: one.access_level for one in grown.main.members()}


def offer(page: Page) -> Locator:
    return conversations(page).get_by_role("group", name="Offer")


# Members


def test_a_member_is_added_with_a_level_that_is_put_in_words(
    page: Page, grown: Pond, user: str, bob: str
) -> None:
    members = open_members(page)
    expect(members).to_contain_text(f"Members share {BRANCHES}.")
    expect(members.get_by_role("listitem")).to_have_text([f"{user}you, owner"])

    members.get_by_role("button", name="Add a member…").click()
    dialog(page).get_by_label("User id").fill(bob)
    manages = "A manager may also delete branches, and add and remove readers and writers."
    for level, does, more in [
        ("reader", "may read", ""),
        ("manager", "may read and write in", manages),
        ("writer", "may read and write in", ""),
    ]:
        dialog(page).get_by_label("Level").select_option(level)
        told = dialog(page).get_by_role("paragraph").filter(has_text=re.compile("."))
        expect(told).to_have_text([words(f"{bob} {does} {BRANCHES}."), *filter(None, [more])])
    confirm(page, "Add")

    expect(members.get_by_role("status")).to_have_text(words(f"{bob} is a writer now."))
    expect(members.get_by_role("listitem")).to_have_text([f"{user}you, owner", f"{bob}writerChange…"])
    assert levels(grown) == {user: "owner", bob: "writer"}


def test_a_new_member_sees_the_tree_with_its_owner(
    page: Page, other_page: Page, grown: Pond, user: str, bob: str
) -> None:
    grown.main.share(bob, "reader")

    sign_in(other_page, bob)

    expect(row(other_page, "Pond")).to_contain_text(f"of {user}")
    row(other_page, "Pond").click()
    expect(title(other_page)).to_have_text("Pond")


def test_a_level_is_changed_and_a_member_removed(page: Page, grown: Pond, user: str, bob: str) -> None:
    grown.main.share(bob, "reader")
    members = open_members(page)

    members.get_by_role("button", name=words(f"Change {bob}")).click()
    expect(dialog(page).get_by_label("Level")).to_have_value("reader")
    dialog(page).get_by_label("Level").select_option("manager")
    confirm(page, "Change")
    expect(members.get_by_role("status")).to_have_text(words(f"{bob} is a manager now."))
    assert levels(grown) == {user: "owner", bob: "manager"}

    members.get_by_role("button", name=words(f"Change {bob}")).click()
    dialog(page).get_by_label("Level").select_option("no member any more")
    expect(dialog(page)).to_contain_text(words(f"{bob} can open no branch of this tree any more."))
    expect(dialog(page)).to_contain_text("What they wrote stays.")
    confirm(page, "Change")

    expect(members.get_by_role("status")).to_have_text(words(f"{bob} is no member now."))
    expect(members.get_by_role("listitem")).to_have_text([f"{user}you, owner"])
    assert levels(grown) == {user: "owner"}


def test_a_press_right_after_a_change_is_not_lost_and_the_focus_stays(
    page: Page, grown: Pond, bob: str
) -> None:
    grown.main.share(bob, "reader")
    change = open_members(page).get_by_role("button", name=words(f"Change {bob}"))
    held = hold(page, MEMBERS)
    change.click()
    dialog(page).get_by_label("Level").select_option("writer")
    confirm(page, "Change")

    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(2)
    page.keyboard.press("Escape")
    let_go(page, MEMBERS, held)

    expect(page.get_by_role("listitem").filter(has_text="writer")).to_be_visible()
    expect(change).to_be_focused()


def test_the_members_that_are_shown_are_those_that_were_asked_for_last(
    page: Page, grown: Pond, bob: str
) -> None:
    grown.main.share(bob, "reader")
    members = open_members(page)
    change = members.get_by_role("button", name=words(f"Change {bob}"))
    earlier: list[tuple[Route, APIResponse]] = []
    page.route(MEMBERS, lambda route: earlier.append((route, route.fetch())), times=1)
    change.click()
    page.keyboard.press("Escape")
    wait_until(page, lambda: bool(earlier))
    change.click()
    dialog(page).get_by_label("Level").select_option("writer")
    confirm(page, "Change")
    expect(members.get_by_role("listitem").filter(has_text="writer")).to_be_visible()

    route, answer = earlier[0]
    with page.expect_response(route.request.url):
        route.fulfill(response=answer)
    page.wait_for_timeout(100)

    expect(members.get_by_role("listitem").filter(has_text="writer")).to_be_visible()


def test_a_member_who_is_removed_is_told_so_and_the_tree_leaves_the_list(
    other_page: Page, grown: Pond, bob: str, api: Forklore, watch: Watch
) -> None:
    watch.expect_status("403")
    grown.main.share(bob, "reader")
    open_tree(other_page, bob, grown)

    api.api.remove_membership(grown.main.id, user_id=bob)

    expect(said(other_page, "This conversation is not shared with you.")).to_be_visible()
    expect(rows(other_page)).to_have_count(0)


def test_a_manager_names_readers_and_writers_only(other_page: Page, grown: Pond, user: str, bob: str) -> None:
    grown.main.share(bob, "manager")
    grown.main.share(f"{user}-carl", "manager")
    grown.main.share(f"{user}-dora", "writer")
    open_tree(other_page, bob, grown)

    members = open_members(other_page)

    expect(members.get_by_role("listitem")).to_have_text(
        [f"{user}owner", f"{bob}you, managerLeave…", f"{user}-carlmanager", f"{user}-dorawriterChange…"]
    )
    members.get_by_role("button", name="Add a member…").click()
    expect(dialog(other_page).get_by_label("Level").get_by_role("option")).to_have_text(["reader", "writer"])


def test_a_reader_sees_the_members_and_can_leave(
    other_page: Page, grown: Pond, user: str, bob: str, watch: Watch
) -> None:
    watch.expect("console: error: Failed to load resource.*403")  # it asks for news just then
    grown.main.share(bob, "reader")
    open_tree(other_page, bob, grown)
    members = open_members(other_page, "Members")
    expect(members.get_by_role("button", name="Add a member…")).to_have_count(0)
    expect(members.get_by_role("button", name="Change")).to_have_count(0)

    members.get_by_role("button", name="Leave…").click()
    expect(dialog(other_page)).to_have_accessible_name("Leave this tree?")
    expect(dialog(other_page)).to_contain_text(
        "You can open no branch of this tree any more. What you wrote stays."
        " The owner or a manager can let you in again."
    )
    dialog(other_page).get_by_role("button", name="Leave", exact=True).click()

    expect(said(other_page, "You have left the tree.")).to_be_visible()
    expect(other_page.get_by_role("dialog")).to_have_count(0)
    expect(other_page).to_have_url(re.compile(r"#/$"))
    expect(rows(other_page)).to_have_count(0)
    assert levels(grown) == {user: "owner"}


def test_who_is_a_member_already_is_not_added_again(
    page: Page, grown: Pond, user: str, bob: str, watch: Watch
) -> None:
    watch.expect_status("409", "/memberships")
    grown.main.share(bob, "manager")
    members = open_members(page)
    members.get_by_role("button", name="Add a member…").click()
    dialog(page).get_by_label("User id").fill(bob)
    dialog(page).get_by_role("button", name="Add", exact=True).click()

    expect(dialog(page).get_by_role("alert")).to_contain_text(re.compile(r"Already a member.*Request \S+"))
    assert levels(grown) == {user: "owner", bob: "manager"}


# Another owner


def test_a_tree_that_nobody_shares_cannot_be_handed_over(page: Page) -> None:
    deed(page, "Hand over").click()

    expect(said(page, "Nobody else shares this tree. Only a member can become its owner.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_tree_is_offered_and_the_offer_taken_back(
    page: Page, other_page: Page, grown: Pond, user: str, bob: str, api: Forklore
) -> None:
    grown.main.share(bob, "reader")
    deed(page, "Hand over").click()
    expect(dialog(page)).to_have_accessible_name(words("Hand over the tree of “Pond”"))
    expect(dialog(page).get_by_label("New owner").get_by_role("option")).to_have_text([bob])
    expect(dialog(page)).to_contain_text(
        words(f"You offer {bob} {BRANCHES}. They may accept or decline; until then you can take it back.")
    )
    expect(dialog(page)).to_contain_text("Once they accept they own it, and you are a manager.")
    confirm(page, "Offer it")
    expect(said(page, words(f"The tree is offered to {bob}."))).to_be_visible()
    sign_in(other_page, bob)
    expect(offer(other_page)).to_contain_text(f"{user} offers you Pond")

    deed(page, "Hand over").click()
    expect(dialog(page)).to_have_accessible_name("Take the offer back?")
    expect(dialog(page)).to_contain_text(words(f"You offered this tree to {bob}, who has not answered"))
    expect(dialog(page)).to_contain_text("You stay its owner.")
    confirm(page, "Take it back")

    expect(said(page, "The offer is taken back.")).to_be_visible()
    other_page.reload()
    expect(row(other_page, "Pond")).to_be_visible()
    expect(offer(other_page)).to_have_count(0)
    assert levels(grown) == {user: "owner", bob: "reader"}


def test_a_dialog_that_was_asked_for_later_is_not_covered(page: Page, grown: Pond, bob: str) -> None:
    grown.main.share(bob, "reader")
    offers = "**/ownership-transfers?*role=sender*"
    held = hold(page, offers)
    deed(page, "Hand over").click()
    deed(page, "Rename").click()
    expect(dialog(page).get_by_label("Title")).to_be_focused()

    with page.expect_response(offers):
        let_go(page, offers, held)
    page.wait_for_timeout(300)
    page.keyboard.press("Control+a")
    page.keyboard.type("Lake")
    page.keyboard.press("Enter")

    expect(title(page)).to_have_text("Lake")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("named", ["main", "side"])
def test_an_offer_that_names_a_deleted_branch_is_that_of_its_tree(
    blank: Page, grown: Pond, user: str, bob: str, api: Forklore, named: str
) -> None:
    """The fork shows entries of the main branch, and none of the side branch, which it leaves."""
    grown.main.share(bob, "reader")
    heir = grown.side.fork(before=grown.answered[0])
    api.api.request_transfer(conversation_id=getattr(grown, named).id, new_owner_user_id=bob)
    grown.main.delete()
    grown.side.delete()
    sign_in(blank, user, at=at_conversation(heir.id))
    expect(dots(blank)).to_have_count(3)

    deed(blank, "Hand over").click()

    expect(dialog(blank)).to_have_accessible_name("Take the offer back?")


def test_an_offer_is_declined(other_page: Page, grown: Pond, user: str, bob: str, api: Forklore) -> None:
    grown.main.share(bob, "reader")
    api.api.request_transfer(conversation_id=grown.main.id, new_owner_user_id=bob)
    sign_in(other_page, bob)

    offer(other_page).get_by_role("button", name="Decline…").click()
    expect(dialog(other_page)).to_have_accessible_name("Decline the tree?")
    expect(dialog(other_page)).to_contain_text(
        words(f"The offer is dropped. {user} stays the owner, and you stay a member.")
    )
    confirm(other_page, "Decline")

    expect(said(other_page, "The offer is declined.")).to_be_visible()
    expect(offer(other_page)).to_have_count(0)
    assert levels(grown) == {user: "owner", bob: "reader"}
    assert api.api.list_transfers(role="sender").data == ()


def test_an_offer_is_accepted(
    page: Page, other_page: Page, grown: Pond, user: str, bob: str, api: Forklore
) -> None:
    grown.main.share(bob, "reader")
    api.api.request_transfer(conversation_id=grown.main.id, new_owner_user_id=bob)
    open_tree(other_page, bob, grown)
    expect(deed(other_page, "Delete tree")).to_have_count(0)

    offer(other_page).get_by_role("button", name="Accept…").click()
    expect(dialog(other_page)).to_have_accessible_name("Accept the tree?")
    expect(dialog(other_page)).to_contain_text(
        words(f"You become the owner of all its branches, and {user} a manager.")
    )
    confirm(other_page, "Accept")

    expect(said(other_page, "You own the tree now.")).to_be_visible()
    expect(offer(other_page)).to_have_count(0)
    expect(head(other_page).get_by_text("yours")).to_be_visible()
    expect(deed(other_page, "Delete tree")).to_be_visible()
    assert levels(grown) == {user: "manager", bob: "owner"}
    page.reload()
    expect(head(page).get_by_text(f"of {bob}, you: manager")).to_be_visible()
    expect(deed(page, "Hand over")).to_have_count(0)
    expect(deed(page, "Delete branch")).to_be_visible()
