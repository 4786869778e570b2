"""What one may do with branches and trees: each deed has a dialog that says what it does."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Page, Route, expect

from forklore import Forklore, NotFoundError
from forklore.sessions.programs import PROGRAMS
from tests.web.browser import Watch
from tests.web.growing import Pond, grow, pond
from tests.web.steps import (
    act,
    at_conversation,
    box,
    deeds,
    dialog,
    entry,
    expect_messages,
    head,
    hold,
    row,
    said,
    sign_in,
    stored,
    title,
    wait_until,
)
from tests.web.wording import words

PROMOTES = "**/v1/conversations/*/promote"
READER = {"Compare", "Members…", "Copy link", "Copy tree", "Pin", "Archive", "Export…"}
WRITER = READER | {"Continue in…", "Names and tags…", "Make current…", "Merge into…"}
MANAGER = WRITER - {"Members…"} | {"Share…", "Delete this branch…"}
OWNER = MANAGER | {"Hand over to…", "Delete the whole tree…"}


@pytest.fixture
def grown(api: Forklore) -> Pond:
    return pond(api)


@pytest.fixture
def page(blank: Page, user: str, grown: Pond) -> Page:
    sign_in(blank, user, at=at_conversation(grown.side.id))
    expect(title(blank)).to_have_text("Side arm")
    expect(head(blank).get_by_role("link", name="Compare")).to_be_visible()
    return blank


def press(page: Page, label: str) -> None:
    dialog(page).get_by_role("button", name=label, exact=True).click()


@pytest.mark.parametrize(
    ("level", "offered"), [("reader", READER), ("writer", WRITER), ("manager", MANAGER), ("owner", OWNER)]
)
def test_one_is_offered_what_the_own_level_allows(
    blank: Page, user: str, grown: Pond, level: str, offered: set[str]
) -> None:
    who = user if level == "owner" else f"{user}-{level}"
    if level != "owner":
        grown.main.share(who, level)  # type: ignore[arg-type]
    sign_in(blank, who, at=at_conversation(grown.side.id))
    expect(head(blank).get_by_role("link", name="Compare")).to_be_visible()
    expect(entry(blank, "Side 2")).to_be_visible()

    items = deeds(blank)

    expect(items).to_have_count(len(offered))
    assert {re.sub(r"\s*\b[A-Z]$", "", one.strip()) for one in items.all_inner_texts()} == offered
    expect(box(blank)).to_have_count(0 if level == "reader" else 1)


def test_a_branch_is_made_current_after_both_were_named(page: Page, grown: Pond) -> None:
    act(page, "Make current")
    expect(dialog(page)).to_contain_text(words("It opens first for everybody, in place of “Pond”."))
    expect(dialog(page).get_by_role("listitem")).to_have_count(2)
    press(page, "Make current")

    expect(said(page, words("“Side arm” is the current branch."))).to_be_visible()
    assert grown.side.details().is_current


def test_a_name_moves_only_if_one_says_so(blank: Page, user: str, grown: Pond) -> None:
    grown.main.point("main-run")
    sign_in(blank, user, at=at_conversation(grown.side.id))
    expect(blank.get_by_role("tree").get_by_text("main-run")).to_be_visible()
    act(blank, "Make current")
    dialog(blank).get_by_label(words("Also move main-run here")).check()
    press(blank, "Make current")

    expect(head(blank).get_by_text("main-run")).to_be_visible()
    assert grown.side.details().is_current


def test_a_reader_copies_the_tree_and_goes_on_in_the_copy(blank: Page, user: str, grown: Pond) -> None:
    other = f"{user}-reader"
    grown.main.share(other, "reader")
    sign_in(blank, other, at=at_conversation(grown.side.id))
    expect(entry(blank, "Side 2")).to_be_visible()

    act(blank, "Copy tree")

    expect(said(blank, "The tree is copied. The copy is yours alone.")).to_be_visible()
    expect(box(blank)).to_have_count(1)
    expect(title(blank)).to_have_text("Side arm")
    expect(entry(blank, "Side 2")).to_be_visible()
    assert grown.side.id not in blank.url
    with Forklore(blank.url.split("/#")[0], token=other) as api:
        copied = api.conversation(blank.url.rsplit("/", 1)[-1])
        assert len(copied.forks().list()) == len(grown.side.forks().list()) > 1
        assert [one.user_id for one in copied.members().list()] == [other]


def test_a_tree_that_is_too_large_to_copy_stays_open(page: Page, grown: Pond, watch: Watch) -> None:
    grown.main.fork(count=30)
    watch.expect_status("413")

    act(page, "Copy tree")

    expect(said(page, words("This tree is too large to copy here."))).to_be_visible()
    expect(title(page)).to_have_text("Side arm")
    assert grown.side.id in page.url


def test_title_names_tags_and_score_are_changed_together(page: Page, api: Forklore, grown: Pond) -> None:
    act(page, "Names and tags")
    dialog(page).get_by_label("Title").fill("Left arm")
    dialog(page).get_by_label("Your names").fill("try-1\ntry-2")
    dialog(page).get_by_label("Tags").fill("topic:fish\nbest")
    dialog(page).get_by_label("Score").fill("0.5")
    press(page, "Save")

    expect(title(page)).to_have_text("Left arm")
    for told in ("try-1", "try-2", "topic:fish", "best"):
        expect(head(page).get_by_text(told, exact=True)).to_be_visible()
    details = grown.side.details()
    assert (details.tags, details.metadata) == ({"topic": "fish", "best": ""}, {"score": 0.5})
    assert {one.name for one in api.names().list()} == {"try-1", "try-2"}


def test_tags_that_somebody_else_changed_meanwhile_are_not_overwritten(page: Page, grown: Pond) -> None:
    act(page, "Names and tags")
    expect(dialog(page).get_by_label("Tags")).to_be_visible()  # it has read them
    grown.side.update(tags={"of": "bob"})
    dialog(page).get_by_label("Tags").fill("mine")
    press(page, "Save")

    expect(dialog(page).get_by_role("alert")).to_contain_text("of:bob")
    assert grown.side.details().tags == {"of": "bob"}


def run(command: str, url: str, user: str, folder: Path, *more: str) -> str:
    """Run a command that the page has told, in a folder, and return what it says."""
    name, *words = shlex.split(command)
    assert name == "forklore"
    ran = subprocess.run(
        [sys.executable, "-m", "forklore.cli", *words, *more],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "FORKLORE_URL": url, "FORKLORE_TOKEN": user},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def told_command(page: Page) -> str:
    return dialog(page).get_by_label("Code, command").inner_text()


def test_the_command_that_goes_on_in_a_program_is_told_and_works(
    page: Page, context: BrowserContext, grown: Pond, url: str, user: str, tmp_path: Path
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    act(page, "Continue in")
    programs = dialog(page).get_by_label("Program").locator("option")
    able = [(one.name, one.title) for one in PROGRAMS if one.writer]
    assert programs.evaluate_all("all => all.map(one => [one.value, one.label])") == [[*one] for one in able]
    assert told_command(page) == f"forklore resume {grown.side.id} --in claude-code"

    dialog(page).get_by_label("Program").select_option(label="Codex")
    dialog(page).get_by_role("button", name="Copy").click()
    expect(dialog(page).get_by_role("button", name="Copied")).to_be_visible()

    command = page.evaluate("navigator.clipboard.readText()")
    assert command == told_command(page)
    assert "codex resume" in run(command, url, user, tmp_path, "--print")


def test_a_branch_that_came_from_a_program_goes_on_there_by_its_name(
    blank: Page, user: str, grown: Pond
) -> None:
    grown.side.update(tags={"program": "pi"})
    grown.side.point("night run's")
    sign_in(blank, user, at=at_conversation(grown.side.id))
    expect(head(blank).get_by_text("night run's")).to_be_visible()
    act(blank, "Continue in")

    assert shlex.split(told_command(blank)) == ["forklore", "resume", "night run's", "--in", "pi"]


def test_the_commands_that_export_are_told_and_work(
    page: Page, grown: Pond, url: str, user: str, tmp_path: Path
) -> None:
    act(page, "Export")
    choice = dialog(page).get_by_label("What")
    assert choice.locator("option").count() == 5
    for format_, ending in (("", "jsonl"), ("markdown", "md"), ("messages", "json"), ("chatgpt", "json")):
        choice.select_option(format_)
        run(told_command(page), url, user, tmp_path)
        text = (tmp_path / f"conversation.{ending}").read_text()
        assert "Side 2" in text
        assert ("Ten centimetres." in text) == (not format_)
        (tmp_path / f"conversation.{ending}").unlink()


def test_a_branch_is_merged_as_copies_and_as_a_summary(page: Page, grown: Pond) -> None:
    before = stored(grown.main)
    act(page, "Merge into")
    expect(dialog(page)).to_contain_text("Nothing is removed.")
    press(page, "Merge")
    expect(said(page, "is merged into")).to_be_visible()
    copied = stored(grown.main)[len(before) :]
    assert copied == [one for one in stored(grown.side) if one in copied]
    assert copied

    act(page, "Merge into")
    dialog(page).get_by_role("combobox", name="As", exact=True).select_option("summary")
    dialog(page).get_by_role("textbox", name="Summary").fill("In short")
    press(page, "Merge")
    expect(dialog(page)).to_have_count(0)
    assert stored(grown.main)[-1] == "SYSTEM: In short"


def test_a_merge_of_120_entries_whose_answers_are_lost_copies_each_once(
    page: Page, grown: Pond, watch: Watch
) -> None:
    watch.expect("ERR_CONNECTION_RESET")
    grow(grown.side, [f"More {number}" for number in range(118)])
    expect(head(page)).to_contain_text("122 entries")
    before = stored(grown.main)
    lost: set[str] = set()

    def lose(route: Route) -> None:
        key = route.request.headers["idempotency-key"]
        if key in lost:
            route.continue_()
            return
        lost.add(key)
        route.fetch()
        route.abort("connectionreset")

    page.route("**/merge", lose)
    act(page, "Merge into")
    press(page, "Merge")

    expect(said(page, "is merged into")).to_be_visible()
    assert lost
    assert stored(grown.main) == [*before, *stored(grown.side)[2:]]


def test_a_branch_is_deleted_after_one_read_what_goes_and_what_stays(
    page: Page, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("404")  # it asks for news of what is deleted
    act(page, "Delete this branch")
    expect(dialog(page).get_by_role("button", name="Keep it")).to_be_focused()
    expect(dialog(page)).to_contain_text("that no other branch shows")
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()

    expect(said(page, "The branch is deleted.")).to_be_visible()
    expect(title(page)).to_have_text("Pond")
    with pytest.raises(NotFoundError):
        grown.side.details()


def test_a_tree_is_deleted_after_one_is_sure(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    act(page, "Delete the whole tree")
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()
    expect(dialog(page)).to_be_visible()
    dialog(page).get_by_label("I know that it goes for everybody.").check()
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()

    expect(said(page, "The tree is deleted.")).to_be_visible()
    expect(row(page, "Pond")).to_have_count(0)
    with pytest.raises(NotFoundError):
        grown.main.details()


def delete_tree(page: Page) -> None:
    act(page, "Delete the whole tree")
    dialog(page).get_by_label("I know that it goes for everybody.").check()
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()
    expect(said(page, "The tree is deleted.")).to_be_visible()


def test_a_tree_that_was_deleted_comes_back_at_once(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    before = stored(grown.side)
    delete_tree(page)
    said(page, "The tree is deleted.").get_by_role("button", name="Undo").click()

    expect(said(page, "It is restored.")).to_be_visible()
    expect(title(page)).to_have_text("Side arm")
    expect(row(page, "Pond")).to_be_visible()
    assert stored(grown.side) == before


def test_a_branch_that_was_deleted_comes_back_at_once(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    before = stored(grown.side)
    act(page, "Delete this branch")
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()
    said(page, "The branch is deleted.").get_by_role("button", name="Undo").click()

    expect(said(page, "It is restored.")).to_be_visible()
    expect(title(page)).to_have_text("Side arm")
    assert stored(grown.side) == before


def test_a_tree_is_restored_out_of_the_trash(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    delete_tree(page)
    page.get_by_role("button", name="Trash").click()
    trash = dialog(page).get_by_role("list", name="Trash")
    expect(trash.get_by_role("listitem")).to_have_count(1)
    expect(trash).to_contain_text("kept for 30 days")
    trash.get_by_role("button", name="Restore").click()

    expect(said(page, "It is restored.")).to_be_visible()
    expect(title(page)).to_have_text("Pond")
    assert grown.main.details().title == "Pond"


def test_a_tree_is_deleted_for_good_out_of_the_trash_after_one_is_asked(
    page: Page, grown: Pond, watch: Watch
) -> None:
    watch.expect_status("404")
    delete_tree(page)
    page.get_by_role("button", name="Trash").click()
    dialog(page).get_by_role("button", name="Delete for good…").click()
    asked = page.get_by_role("dialog", name=re.compile("for good"))
    expect(asked.get_by_role("button", name="Keep it")).to_be_focused()
    asked.get_by_role("button", name="Delete for good", exact=True).click()

    expect(dialog(page).get_by_text("There is nothing in it.")).to_be_visible()
    with pytest.raises(NotFoundError):
        grown.main.restore()


def test_a_branch_is_deleted_for_good_out_of_the_trash(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    grown.side.delete()
    page.get_by_role("button", name="Trash").click()
    expect(dialog(page).get_by_role("list", name="Trash")).to_contain_text("a branch, deleted")
    dialog(page).get_by_role("button", name="Delete for good…").click()
    asked = page.get_by_role("dialog", name=re.compile("for good"))
    expect(asked).to_contain_text("What no other branch shows of it")
    asked.get_by_role("button", name="Delete for good", exact=True).click()

    expect(dialog(page).get_by_text("There is nothing in it.")).to_be_visible()
    with pytest.raises(NotFoundError):
        grown.side.restore()
    assert grown.main.details().title == "Pond"


def test_a_child_whose_parent_is_in_the_trash_waits_for_it(
    page: Page, grown: Pond, api: Forklore, watch: Watch
) -> None:
    watch.expect_status("404")
    watch.expect_status("409")
    child = grown.main.start_child(title="A task")
    grow(child, ["Feed them."])
    child.delete_tree()
    delete_tree(page)
    page.get_by_role("button", name="Trash").click()
    task = dialog(page).get_by_role("listitem").filter(has_text="A task")
    task.get_by_role("button", name="Restore").click()

    expect(dialog(page).get_by_role("alert")).to_contain_text("restore that first")


def test_what_somebody_else_deleted_meanwhile_is_deleted(page: Page, grown: Pond, watch: Watch) -> None:
    watch.expect_status("404")
    act(page, "Delete the whole tree")
    dialog(page).get_by_label("I know that it goes for everybody.").check()
    held = hold(page, "**/v1/conversations/*?scope=*", "DELETE")
    dialog(page).get_by_role("button", name=re.compile("^Delete")).click()
    wait_until(page, lambda: bool(held))
    grown.main.delete_tree()
    held[0].continue_()

    expect(page.get_by_role("heading", name="roads not taken")).to_be_visible()


# What all dialogs have in common


def test_the_focus_goes_into_the_dialog_and_returns(page: Page) -> None:
    page.get_by_role("button", name="Share").focus()
    for _ in range(5):
        page.keyboard.press("Enter")
        expect(dialog(page).get_by_label("User id")).to_be_focused()
        page.keyboard.press("Escape")
        expect(dialog(page)).to_have_count(0)
        expect(page.get_by_role("button", name="Share")).to_be_focused()


def test_the_focus_returns_through_two_dialogs(page: Page, user: str, grown: Pond) -> None:
    grown.main.share(f"bob-{user}", "writer")
    page.get_by_role("button", name="Share").focus()
    page.keyboard.press("Enter")
    dialog(page).get_by_role("button", name="Hand over to").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(2)

    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(1)
    expect(dialog(page).get_by_role("button", name="Hand over to")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Share")).to_be_focused()


@pytest.fixture
def held(page: Page) -> list[Route]:
    """The requests for a promotion: they wait until the test lets them go."""
    return hold(page, PROMOTES, "POST")


def test_a_second_press_while_one_waits_sends_nothing(page: Page, grown: Pond, held: list[Route]) -> None:
    act(page, "Make current")
    dialog(page).get_by_role("button", name="Make current").dblclick()
    page.keyboard.press("Enter")
    wait_until(page, lambda: bool(held))
    held[0].continue_()

    expect(dialog(page)).to_have_count(0)
    assert len(held) == 1
    assert grown.side.details().is_current


def test_one_can_stop_to_wait_for_an_answer(page: Page, held: list[Route]) -> None:
    act(page, "Make current")
    press(page, "Make current")
    wait_until(page, lambda: bool(held))

    page.keyboard.press("Escape")

    expect(dialog(page)).to_have_count(0)
    expect(said(page, "You stopped waiting for the answer. It may have been done.")).to_be_visible()


def test_an_error_stays_in_the_dialog_with_the_id_of_its_request(
    page: Page, held: list[Route], watch: Watch
) -> None:
    watch.expect_status("409")
    act(page, "Make current")
    press(page, "Make current")
    wait_until(page, lambda: bool(held))
    held[0].fulfill(status=409, json={"code": "conflict", "message": "not now", "requestId": "r-17"})

    expect(dialog(page).get_by_role("alert")).to_contain_text("Not now. Request r-17")


def test_who_goes_elsewhere_leaves_no_dialog_behind(page: Page, grown: Pond) -> None:
    act(page, "Make current")
    page.evaluate("id => { location.hash = `#/c/${id}`; }", grown.main.id)

    expect(title(page)).to_have_text("Pond")
    expect(dialog(page)).to_have_count(0)


# Sharing


def test_a_member_is_added_changed_and_removed(page: Page, user: str, grown: Pond) -> None:
    page.get_by_role("button", name="Share").click()
    dialog(page).get_by_label("User id").fill(f"bob-{user}")
    dialog(page).get_by_label("Level", exact=True).select_option("writer")
    press(page, "Add")
    expect(said(page, words(f"bob-{user} may write now."))).to_be_visible()

    level = dialog(page).get_by_label(f"Level of bob-{user}")
    level.select_option("reader")
    expect(said(page, words(f"bob-{user} may read now."))).to_be_visible()
    assert {one.user_id: one.access_level for one in grown.main.members()}[f"bob-{user}"] == "reader"
    level.select_option("none")
    expect(said(page, words(f"bob-{user} is no member now."))).to_be_visible()
    assert [one.user_id for one in grown.main.members()] == [user]


def test_who_is_a_member_already_is_not_added_again(page: Page, user: str, grown: Pond, watch: Watch) -> None:
    watch.expect_status("409")
    grown.main.share(f"bob-{user}", "writer")
    page.get_by_role("button", name="Share").click()
    dialog(page).get_by_label("User id").fill(f"bob-{user}")
    press(page, "Add")

    expect(dialog(page).get_by_role("alert")).to_contain_text("is a member already")
    assert {one.user_id: one.access_level for one in grown.main.members()}[f"bob-{user}"] == "writer"


def test_a_member_leaves(blank: Page, user: str, grown: Pond, watch: Watch) -> None:
    watch.expect_status("403")
    grown.main.share(f"bob-{user}", "reader")
    sign_in(blank, f"bob-{user}", at=at_conversation(grown.main.id))
    blank.get_by_role("button", name="Members").click()
    press(blank, "Leave…")
    press(blank, "Leave")

    expect(said(blank, "You have left the tree.")).to_be_visible()
    expect(row(blank, "Pond")).to_have_count(0)


def test_a_tree_is_handed_over(page: Page, user: str, url: str, grown: Pond) -> None:
    bob = f"bob-{user}"
    grown.main.share(bob, "writer")
    act(page, "Hand over")
    expect(dialog(page)).to_contain_text(words(f"You offer {bob}"))
    press(page, "Offer it")
    expect(said(page, words(f"The tree is offered to {bob}."))).to_be_visible()
    act(page, "Hand over")
    expect(dialog(page)).to_contain_text("Take the offer back?")
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Sign out").click()
    sign_in(page, bob)
    page.get_by_role("group", name="Offer").get_by_role("button", name="Accept…").click()
    press(page, "Accept")

    expect(said(page, "You own the tree now.")).to_be_visible()
    with Forklore(url, token=bob) as bobs:
        assert bobs.conversation(grown.main.id).details().owner_user_id == bob


def test_an_offer_is_declined(blank: Page, user: str, api: Forklore, grown: Pond) -> None:
    bob = f"bob-{user}"
    grown.main.share(bob, "writer")
    api.api.request_transfer(conversation_id=grown.main.id, new_owner_user_id=bob)
    sign_in(blank, bob)
    blank.get_by_role("group", name="Offer").get_by_role("button", name="Decline…").click()
    press(blank, "Decline")

    expect(said(blank, "The offer is declined.")).to_be_visible()
    expect(blank.get_by_role("group", name="Offer")).to_have_count(0)
    assert grown.main.details().owner_user_id == user


def test_of_two_lists_of_members_the_one_that_was_asked_for_last_is_shown(
    page: Page, user: str, grown: Pond
) -> None:
    late: list[tuple[Route, APIResponse]] = []
    members = re.compile("/memberships")
    page.route(members, lambda route: late.append((route, route.fetch())), times=1)
    page.get_by_role("button", name="Share").click()
    wait_until(page, lambda: bool(late))
    dialog(page).get_by_label("User id").fill(f"bob-{user}")
    press(page, "Add")
    expect(dialog(page).get_by_label(f"Level of bob-{user}")).to_be_visible()

    for route, answer in late:
        route.fulfill(response=answer)

    page.wait_for_timeout(500)  # for what the page might do with them
    expect(dialog(page).get_by_label(f"Level of bob-{user}")).to_be_visible()


def test_a_member_who_is_removed_is_told_so(blank: Page, user: str, grown: Pond, watch: Watch) -> None:
    watch.expect_status("403")
    bob = f"bob-{user}"
    grown.main.share(bob, "writer")
    sign_in(blank, bob, at=at_conversation(grown.main.id))
    expect(box(blank)).to_be_visible()
    box(blank).fill("Half a thought")
    grown.main.unshare(bob)

    expect(blank.get_by_role("heading", name="This conversation is not here")).to_be_visible()
    expect(blank.get_by_role("textbox", name="What you had written")).to_have_value("Half a thought")
    expect(row(blank, "Pond")).to_have_count(0)


def test_a_message_is_written_under_a_role(page: Page, grown: Pond) -> None:
    page.get_by_role("combobox", name="Role").select_option("AI")
    box(page).fill("Deep enough.")
    page.keyboard.press("Enter")

    expect(entry(page, "Deep enough.")).to_be_visible()
    assert stored(grown.side)[-1] == "AI: Deep enough."
    expect_messages(page, [one.partition(": ")[2] for one in stored(grown.side)])
