"""What each command does to a store, and what it prints in a pipe."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore import Conversation
from forklore.client.generated.results import ConversationDetails
from tests.clients.cli.running import Forklore, Ran


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def line_of(run: Forklore, *words: str) -> str:
    return shlex.join(["forklore", *words, *run.options])


@pytest.fixture
def trip(run: Forklore) -> Forklore:
    """A conversation of two messages, and a branch that goes on differently."""
    assert run('say trip "Two nights in Lisbon?" --key asked').code == 0
    assert run('say trip "Alfama." --as ai').code == 0
    assert run("fork trip --before -1 --name other").code == 0
    assert run('say other "Three nights in Porto?"').code == 0
    return run


def test_say_makes_a_name_and_then_appends(run: Forklore) -> None:
    first, second = run("say trip hello --json"), run("say trip hi --role AI --json")

    entries = [*objects(first.out), *objects(second.out)]
    assert [one["content"] for one in entries] == [
        [{"role": "USER", "text": "hello"}],
        [{"role": "AI", "text": "hi"}],
    ]
    assert objects(run("log trip --reverse --json").out) == entries


def test_alternatives_tell_what_each_way_took(run: Forklore, folder: Path) -> None:
    question = objects(run('say trip "Which sea?" --json').out)[0]["id"]
    with forklore.Forklore.local(user=run.options[-1], data=folder) as fl:
        chat = fl.named("trip")
        for words, score, cost in (("=1+2", 0.5, 0.1), ("Two, words", None, 0.2), ("Black", True, 0.0)):
            fork = chat.fork(after=question)
            used = {"inputTokens": 3, "outputTokens": 4, "costUsd": cost}
            fork.say("user", "And then?", usage=used)
            fork.say("ai", words, usage=used)
            metadata = {"model": words[:1], "same": [1]} | ({} if score is None else {"score": score})
            fork.update(metadata=metadata, tags={"kind": "sea"})
        bare = chat.fork(after=question, metadata={"same": [1]})
        last = fl.conversation(bare.id).forks().list()[-2].conversation_id

    ways = objects(run(f"alternatives {last} -2 --json").out)
    table = list(csv.reader(run(f"alternatives {last} -2 --csv").lines))
    shown = rows(run(f"alternatives {last} -2").out)

    assert [one["last"] for one in ways] == ["=1+2", "Two, words", "Black", ""]
    assert [one["first"] for one in ways] == ["And then?"] * 3 + [""]
    assert [one["score"] for one in ways] == [0.5, None, None, None]  # true is no number
    assert [one["costUsd"] for one in ways] == [0.2, 0.4, 0, 0]
    assert [one["inputTokens"] + one["outputTokens"] for one in ways] == [14, 14, 14, 0]
    assert [one["entries"] for one in ways] == [2, 2, 2, 0]
    assert ways[3]["conversationId"] == bare.id
    assert table[0][-3:] == ["current", "tags", "metadata.model"]
    assert [row[3] for row in table[1:]] == ["'=1+2", "Two, words", "Black", ""]
    assert [row[-2:] for row in table[1:]] == [
        ["kind:sea", "'="],
        ["kind:sea", "T"],
        ["kind:sea", "B"],
        ["", ""],
    ]
    assert [row[1] for row in shown] == [one["conversationId"] for one in ways]


def test_ways_begin_a_history_and_outlive_the_branch_that_began_them(run: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=run.options[-1], data=folder) as fl:
        chat = fl.named("talk")
        first = chat.say("user", "one")
        other = chat.fork(before=first)
        other.say("user", "two")
        own = other.fork()
        own.say("ai", "three")
        other.delete()

        ways = chat.ways(first)

    assert [(one.conversation_id, one.first, one.last) for one in ways] == [
        (chat.id, "one", "one"),
        (own.id, "two", "three"),
    ]
    assert run(f"alternatives talk {own.id}").code == 3
    assert run("alternatives talk -1 --csv --json").code == 2


def test_say_reads_standard_input(run: Forklore) -> None:
    run("say trip -", stdin="Ein Tag\nin Köln\n\n".encode())

    assert objects(run("show trip -1 --json").out)[0]["content"][0]["text"] == "Ein Tag\nin Köln\n"


@pytest.mark.parametrize(
    ("given", "said"), [(b"", "standard input is empty"), (b"\n", "is empty"), (b"\xff", "is no UTF-8")]
)
def test_say_refuses_an_input_that_is_no_text(run: Forklore, given: bytes, said: str) -> None:
    found = run("say trip -", stdin=given)

    assert found.code == 2
    assert said in found.err
    assert run("log trip").code == 3


def edited(run: Forklore, line: str, editor: str) -> Ran:
    return run(line, is_terminal=True, VISUAL="", EDITOR=editor, NO_COLOR="1")


def test_say_takes_what_the_user_writes_in_an_editor(run: Forklore) -> None:
    assert edited(run, "say trip", "printf 'A day\nin Porto.\n' >").code == 0
    cancelled = [edited(run, "say trip", editor) for editor in ("true", "false")]

    assert [one.code for one in cancelled] == [2, 2]
    assert [one.err for one in cancelled] == [
        "forklore: the text is empty\n",
        "forklore: the editor `false` ended with 1\n",
    ]
    [said] = objects(run("log trip --json").out)
    assert said["content"][0]["text"] == "A day\nin Porto."


def test_what_was_written_in_an_editor_is_kept_if_it_cannot_be_said(run: Forklore) -> None:
    refused = edited(run, "say trip --as robot", "printf 'A day' >")

    kept, _ = refused.err.splitlines()
    path = Path(kept.removeprefix("what was written is kept in "))
    assert (refused.code, path.read_text(), path.stat().st_mode & 0o777) == (2, "A day", 0o600)
    path.unlink()


def test_say_tells_of_a_new_conversation_and_of_a_name_like_its_own(run: Forklore) -> None:
    assert run("say trip hello").err == "trip begins a new conversation\n"
    assert run("say trip hello").err == ""
    assert run("say tripp oh").err == (
        f"tripp begins a new conversation; did you mean trip? `{line_of(run, 'rm', 'tripp')}` deletes it\n"
    )
    assert run("say work hello").err == "work begins a new conversation\n"
    assert run("say trips hello --new").err == ""
    run("fork trip --before -2 --name blank")
    assert run("say blank hello").err == ""


def test_say_refuses_an_unknown_role(run: Forklore) -> None:
    found = run("say trip one --as robot")

    assert (found.code, found.err.startswith("forklore: role is one of")) == (2, True)


def test_log_shows_the_newest_first(run: Forklore) -> None:
    for number in range(5):
        run(f"say trip m{number}")

    def texts(options: str) -> list[str]:
        return [line.split()[-1] for line in run(f"log trip --oneline {options}").lines]

    assert texts("") == ["m4", "m3", "m2", "m1", "m0"]
    assert texts("-n 2") == ["m4", "m3"]
    assert texts("--reverse") == ["m0", "m1", "m2", "m3", "m4"]
    assert texts("--reverse -n 2") == ["m3", "m4"]
    assert texts("-n 9") == texts("")


def test_log_of_more_than_a_page_shows_everything(run: Forklore, folder: Any) -> None:
    import forklore

    with forklore.Forklore.local(user=run.options[-1], data=folder) as client:
        chat = client.named("long")
        for begin in range(0, 250, 50):
            chat.append_all(
                [
                    {"contentType": "history", "content": [{"role": "USER", "text": f"m{number}"}]}
                    for number in range(begin, begin + 50)
                ]
            )

    for options in ("", "--reverse"):
        texts = [one["content"][0]["text"] for one in objects(run(f"log long --json {options}").out)]
        assert (texts if options else texts[::-1]) == [f"m{number}" for number in range(250)]


def test_log_writes_an_entry_as_git_writes_a_commit(trip: Forklore) -> None:
    lines = trip("log trip").lines

    assert lines[0].startswith("entry ")
    assert lines[1].startswith(f"ai ({trip.options[-1]})  20")
    assert lines[1].endswith(" UTC")
    assert lines[2:5] == ["", "    Alfama.", ""]
    assert lines[5].endswith(" @asked")


def test_show_tells_of_a_conversation(trip: Forklore) -> None:
    shown = dict(rows(trip("show other").out))

    assert shown["title"] == "Two nights in Lisbon?"
    assert shown["access"] == "owner"
    assert shown["current"] == "no"
    assert shown["forked from"].startswith(f"{trip.id_of('trip')} before ")
    assert objects(trip("show other --json").out)[0]["id"] == shown["id"]


def test_show_gives_numbers_back_exactly(run: Forklore, folder: Any) -> None:
    from decimal import Decimal

    import forklore

    numbers = [2**70, Decimal("0.1234567890123456789"), Decimal("1.2345678901234567890E+300")]
    with forklore.Forklore.local(user=run.options[-1], data=folder) as client:
        client.named("n").append([{"role": "USER", "text": "x", "n": numbers}])

    assert (
        '"n":[1180591620717411303424,0.1234567890123456789,1.2345678901234567890E+300]'
        in run("show n -1 --json").out
    )


def test_ls_lists_the_trees_and_with_all_the_branches(trip: Forklore) -> None:
    ids = {trip.id_of("trip"), trip.id_of("other")}

    assert len(rows(trip("ls").out)) == 1
    assert {row[1] for row in rows(trip("ls --all").out)} == ids
    assert {row[1] for row in rows(trip("ls --mode all").out)} == ids
    assert [row[1] for row in rows(trip("ls --mode current").out)] == [trip.id_of("trip")]
    assert {one["id"] for one in objects(trip("ls --all --json").out)} == ids
    assert trip("ls --all -n 1").out.count("\n") == 1
    assert trip("ls nothing-like-it").out == ""
    assert trip("ls lisbon --all").out.count("\n") == 2
    assert trip("ls --tag none").out == ""


def test_ls_marks_what_is_archived(trip: Forklore) -> None:
    assert trip("say kept hello").code == trip("archive trip").code == 0

    assert [row[3] for row in rows(trip("ls").out)] == ["owner"]
    assert [row[3] for row in rows(trip("ls --archived only").out)] == ["owner, archived"]
    assert [row[3] for row in rows(trip("ls --archived include").out)] == ["owner", "owner, archived"]


def test_ls_lists_what_is_pinned_in_its_order(trip: Forklore) -> None:
    assert trip("say second hello").code == trip("say third hello").code == 0
    assert trip("pin trip").code == trip("pin second").code == trip("pin third --after second").code == 0
    assert trip("pin trip --after trip").code != 0

    def titles(line: str) -> list[str]:
        return [row[4] for row in rows(trip(line).out)]

    pins = objects(trip("ls --pinned --json").out)
    assert [one["id"] for one in pins[:2]] == [
        trip(f"name {name}").out.split()[3] for name in ("second", "third")
    ]
    assert {row[3] for row in rows(trip("ls").out)} == {"owner, pinned"}
    assert trip("unpin third").code == 0
    assert len(titles("ls --pinned")) == 2
    assert titles("ls --pinned --tag none") == []


def test_ls_lists_names(trip: Forklore) -> None:
    assert [row[0] for row in rows(trip("ls --names").out)] == ["other", "trip"]
    assert [row[0] for row in rows(trip("ls --names tr").out)] == ["trip"]
    assert trip("ls --names --all").code == 2
    assert trip("ls --mode roots --all").code == 2


def test_branch_lists_the_tree_with_the_current_one_marked(trip: Forklore) -> None:
    trip("switch other")

    listed = rows(trip("branch trip --names").out)

    assert [(row[0], row[1], row[3]) for row in listed] == [
        ("", trip.id_of("trip"), "trip"),
        ("*", trip.id_of("other"), "other"),
    ]
    assert [one["conversationId"] for one in objects(trip("branch other --json").out)] == [
        row[1] for row in listed
    ]
    assert [one["names"] for one in objects(trip("branch other --names --json").out)] == [["trip"], ["other"]]


def test_branch_makes_one_at_the_end_or_at_an_entry(trip: Forklore) -> None:
    assert trip("branch trip --new whole").out.strip() == trip.id_of("whole")
    trip("branch trip --new part --at @asked")

    assert trip("log whole --oneline").out == trip("log trip --oneline").out
    assert trip("log part --oneline").out == trip("log trip --oneline").lines[1] + "\n"
    again = trip("branch trip --new part")
    assert (again.code, again.err) == (4, 'forklore: the name "part" is in use (name_moved)\n')


def test_branch_deletes_one_whose_name_stays_for_its_way_back(trip: Forklore) -> None:
    unsure = trip("branch other -d")
    assert (unsure.code, unsure.err) == (2, "forklore: deleting needs --yes where nobody can be asked\n")

    gone = trip.id_of("other")
    assert trip("branch other -d --yes").out == f"deleted {gone}\n"

    assert trip("log other").code == 3
    assert trip(f"log {gone}").code == 3
    assert len(trip("branch trip").lines) == 1
    assert trip("name other").out == f"other points to {gone}, which is deleted\n"
    assert trip("log trip").code == 0


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 1), ("n", 1, 2), ("", 130, 2)])
def test_branch_asks_on_a_terminal(trip: Forklore, answer: str, code: int, left: int) -> None:
    asked = trip(
        "branch other -d --no-pager", stdin=f"{answer}\n".encode() if answer else b"", is_terminal=True
    )

    assert asked.code == code
    assert len(rows(trip("branch trip").out)) == left


REFUSED = [
    "branch trip --new a -d",
    "branch trip --at -1",
    "branch trip --yes",
    "branch trip --new 019ca8ad-fa20-7000-8000-000000000005",
    "fork trip --before -1 --after -1",
    "fork trip --name a --move-name",
    "fork 019ca8ad-fa20-7000-8000-000000000005 --move-name",
    "fork trip --count 2 --name a",
    "fork trip --count 1001",
    "fork trip --after last",
    "switch trip --name 019ca8ad-fa20-7000-8000-000000000005",
    "name",
    "name 019ca8ad-fa20-7000-8000-000000000005 trip",
    "name trip --rename 019ca8ad-fa20-7000-8000-000000000005",
    "name trip other --rename new",
    "name trip --rename new -d",
    "name trip other --yes",
    "name trip -d",
    "title trip ''",
    "title trip x --clear",
    "transfer trip",
    "transfer trip bob --accept 019ca8ad-fa20-7000-8000-000000000005",
    "transfer --accept x",
    "rm",
    "rm trip",
    "share trip bob",
    "share trip bob boss",
    "share trip --remove",
    "share trip bob reader --remove",
    "diff trip",
    "log trip -n 0",
    "show trip --frob",
    "say trip",
    "grep",
    "recall",
    "recall x --around 4",
    "recall x --status",
    "recall --status --rebuild",
    "recall x --model wordllama",
    "recall --status --model wordllama-2",
    "",
    "frob",
    "--frob ls",
]


def test_what_cannot_be_meant_is_refused_and_changes_nothing(trip: Forklore) -> None:
    before = (trip("branch trip").out, trip("ls --names").out, trip("share trip").out)

    for line in REFUSED:
        found = trip(line)
        assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 1), line

    assert (trip("branch trip").out, trip("ls --names").out, trip("share trip").out) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("share trip bob boss", "'boss' is not one of 'manager', 'writer', 'reader'."),
        ("log trip -n x", "must be a valid integer"),
        ("log trip -n 0", "must be greater than or equal to 1"),
    ],
)
def test_a_value_is_refused_in_words_of_the_command_line(trip: Forklore, line: str, said: str) -> None:
    [told] = trip(line).err.splitlines()

    assert re.fullmatch(
        rf"forklore: Invalid value for '[^:]+': {re.escape(said)} \(forklore .* --help\)", told
    )


def test_fork_prints_the_id_of_each_fork(trip: Forklore) -> None:
    several = trip("fork trip --after @asked --count 3")
    assert len(several.lines) == 3
    for one in several.lines:
        assert trip(f"log {one} --oneline").lines == trip("log trip --oneline").lines[1:]
    assert len(objects(trip("fork trip --count 2 --json").out)) == 2
    assert trip("fork trip --count 1").out.count("\n") == 1
    assert len(set(trip("fork trip --count 11").lines)) == 11  # more than the service makes at once


def test_fork_moves_a_name(trip: Forklore) -> None:
    old = trip.id_of("trip")

    [new] = trip("fork trip --before -1 --move-name --promote --title Again").lines

    assert trip.id_of("trip") == new != old
    shown = dict(rows(trip("show trip").out))
    assert (shown["title"], shown["current"]) == ("Again", "yes")


def test_switch_makes_a_branch_the_current_one(trip: Forklore) -> None:
    other = trip.id_of("other")

    assert trip("switch other --name trip").out == f"{other} is the current branch, and trip points to it\n"

    assert trip.id_of("trip") == other
    assert [row[1] for row in rows(trip("ls --mode current").out)] == [other]
    assert objects(trip("switch other --json").out) == [{"conversationId": other, "isCurrent": True}]


def test_branches_are_scored_together(trip: Forklore) -> None:
    here, other = trip.id_of("trip"), trip.id_of("other")

    assert trip("score trip=0.50 other=-1").out == f"{here} has the score 0.5\n{other} has the score -1\n"
    scores = {one["conversationId"]: one["score"] for one in objects(trip("alternatives trip -1 --json").out)}
    assert (scores[here], scores[other]) == (0.5, -1)
    assert objects(trip("score other= --json").out) == [{"conversationId": other, "score": None}]

    refused = trip("score other=good")
    assert refused.err == "forklore: 'other=good' is not NAME|ID=SCORE, where SCORE is a number\n"
    twice = trip(f"score other=1 {other}=2")
    assert (twice.code, twice.err) == (2, "forklore: a branch is named twice\n")


def test_each_way_is_a_line_of_json(trip: Forklore) -> None:
    assert trip("alternatives trip -1 --jsonl").out == trip("alternatives trip -1 --json").out != ""
    refused = trip("alternatives trip -1 --jsonl --csv")
    assert (refused.code, refused.err) == (2, "forklore: --csv and --json exclude each other\n")


def test_each_way_tells_the_notes_on_its_own_entries(trip: Forklore) -> None:
    shared = objects(trip("show trip -2 --json").out)[0]["id"]
    for one in (
        f'note other {shared} "before the ways" --score 9',
        'note trip -1 "=dear" --score 1',
        "pin trip -1",
        "note trip -1 --score 0.5",
        'note trip -1 "no score"',
    ):
        assert trip(one).code == 0
    bare = objects(trip("fork trip --before -1 --json").out)[0]["id"]

    mine, other, empty = objects(trip("alternatives trip -1 --jsonl").out)
    table = [*csv.DictReader(trip("alternatives trip -1 --csv").lines)]

    assert [(one.get("text"), one.get("score")) for one in mine["notes"]] == [
        ("=dear", 1),
        (None, 0.5),
        ("no score", None),
    ]
    assert {one["entryId"] for one in mine["notes"]} == {mine["firstEntryId"]}
    assert (mine["notesScore"], other["notesScore"], other["notes"]) == (0.75, None, [])
    assert (empty["conversationId"], empty["firstEntryId"], empty["notes"]) == (bare, None, [])
    assert [(one["notes"], one["score of notes"]) for one in table] == [("3", "0.75"), ("0", ""), ("0", "")]


def test_notes_of_a_way_stand_on_several_pages(trip: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as fl:
        chat = fl.named("trip")
        entries = [chat.last(), *(chat.say("user", "And?") for _ in range(2))]
        for entry in entries:
            assert entry is not None
            for score in range(70):
                chat.note(entry, score=score)

    way, _ = objects(trip("alternatives trip -3 --json").out)

    assert (len(way["notes"]), way["notesScore"]) == (210, 34.5)


def graph(run: Forklore, name: str) -> str:
    return re.sub(r"[0-9a-f]{8}( \(.*?\))?", "", run(f"log {name} --graph").out)


def test_a_whole_tree_is_copied_once(trip: Forklore) -> None:
    line = "copy trip --tree --name mine --again once"

    [made] = trip(line).lines

    [copied] = objects(trip("ls --mode current --json -n 1").out)
    assert (copied["id"], copied["title"]) == (made, "Two nights in Lisbon?")
    assert made == trip.id_of("mine") != trip.id_of("trip")
    assert graph(trip, "trip") == graph(trip, "mine")
    assert "|/" in graph(trip, "mine")
    assert [one["key"] for one in objects(trip("log mine --json --reverse").out) if "key" in one] == ["asked"]
    assert trip(line).lines == trip("copy trip --tree --again once").lines == [made]
    assert len(objects(trip("ls --mode roots --json").out)) == 2
    assert trip("copy trip --tree --title x").code == trip("copy trip --name x").code == 2


def test_the_name_of_a_copied_tree_is_new_and_goes_to_its_current_branch(trip: Forklore) -> None:
    trip("switch other")

    used = trip("copy trip --tree --name other")
    [made] = trip("copy trip --tree --name mine").lines

    assert (used.code, used.err) == (4, "forklore: the name other is in use\n")
    assert len(objects(trip("ls --mode roots --json").out)) == 2
    assert "Three nights in Porto?" in trip("log mine").out
    assert trip.id_of("mine") != made
    assert "Alfama." in trip(f"log {made}").out
    trip("undo")
    assert trip("log mine").code == 3


def test_a_tree_of_more_branches_than_one_request_copies_is_exported_and_imported(trip: Forklore) -> None:
    assert len(trip("fork trip --after @asked --count 29").lines) == 29
    trip("note trip @asked good")

    made = trip("copy trip --tree --name mine --again once")

    assert trip("notes mine").lines == trip("notes mine @asked").lines == []
    said, told, *_ = made.err.splitlines()
    assert said == "too large for one request: it is exported, and imported"
    assert told.startswith("copy once: 1 tree, 3 entries")
    assert graph(trip, "trip") == graph(trip, "mine")
    assert "from an earlier import" in trip("copy trip --tree --again once").err
    assert len(objects(trip("ls --mode roots --json").out)) == 2


def test_a_name_is_pointed_to_a_branch_which_is_not_promoted(trip: Forklore) -> None:
    other = trip.id_of("other")

    assert trip("name plan other").out == f"plan points to {other}\n"

    assert trip("name plan").out == f"plan points to {other}\n"
    assert objects(trip("name plan --json").out)[0]["conversationId"] == other
    assert dict(rows(trip("show plan").out))["current"] == "no"
    assert (trip("name none").code, trip("name plan none").code) == (3, 3)
    assert trip.id_of("plan") == other


def test_a_renamed_name_keeps_its_data_and_takes_no_other_ones_place(trip: Forklore, folder: Path) -> None:
    held = trip.id_of("trip")
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        client.api.set_name(name="trip", conversation_id=held, data={"step": 3})

    taken = trip("name trip --rename other")
    assert (taken.code, trip.id_of("trip")) == (4, held)
    assert trip("name trip --rename 'our trip'").out == f"our trip points to {held}\n"

    [kept] = objects(trip("name 'our trip' --json").out)
    assert (kept["conversationId"], kept["data"]) == (held, {"step": 3})
    assert trip("name trip").code == 3


def test_a_name_is_deleted_and_its_conversation_stays(trip: Forklore) -> None:
    held = trip.id_of("trip")

    assert trip("name trip -d", stdin=b"n\n", is_terminal=True).code == 1
    assert trip.id_of("trip") == held
    assert trip("name trip -d --yes --json").out == '{"name":"trip","deleted":true}\n'

    assert (trip("name trip -d --yes").code, trip(f"log {held}").code) == (3, 0)


def test_rm_deletes_the_whole_tree_and_leaves_its_names_for_the_way_back(trip: Forklore) -> None:
    gone, other = trip.id_of("trip"), trip.id_of("other")

    asked = trip("rm trip --no-pager", stdin=b"n\n", is_terminal=True)
    assert asked.code == 1
    assert f"Delete 'Two nights in Lisbon?', the whole tree of {gone}?" in asked.err
    assert trip("rm trip --yes").out == f"deleted {gone}\n"

    assert [trip(f"log {one}").code for one in (gone, other)] == [3, 3]
    assert [row[0] for row in rows(trip("ls --names").out)] == ["other", "trip"]
    assert trip("name other").out == f"other points to {other}, which is deleted\n"
    assert trip("rm trip --for-good --yes").code == 0
    assert trip("name trip").code == 3
    assert trip("rm trip --yes").code == 3


def test_title_shows_gives_and_takes_away(trip: Forklore) -> None:
    assert trip("title trip").out == "Two nights in Lisbon?\n"
    assert trip("title other 'By train'").out == "By train\n"
    assert (trip("title other").out, trip("title trip").out) == ("By train\n", "Two nights in Lisbon?\n")
    assert objects(trip("title other --clear --json").out)[0]["title"] is None
    assert trip("title other").out == ""


def test_tag_sets_and_takes_away_and_leaves_the_others(trip: Forklore) -> None:
    assert trip("tag trip").out == ""
    trip("tag trip city:lisbon urgent url:http://x")

    assert rows(trip("tag trip city:porto -d urgent").out) == [["city", "porto"], ["url", "http://x"]]
    assert objects(trip("tag trip --json").out)[0]["tags"] == {"city": "porto", "url": "http://x"}
    assert [row[1] for row in rows(trip("ls --mode roots --tag city:porto").out)] == [trip.id_of("trip")]
    assert (trip("tag trip -d urgent").code, trip("tag trip 'a b'").code) == (3, 2)


def test_ls_leaves_out_what_was_made_before_a_time(trip: Forklore) -> None:
    everything = trip("ls --all").out
    created = max(one["createdAt"] for one in objects(trip("ls --all --json").out))

    assert len(rows(everything)) > 1
    assert [trip(f"ls --all --created-since {time}").out for time in ("2026-01-01", "1d")] == [everything] * 2
    last = objects(trip(f"ls --all --json --created-since {created}").out)
    assert {one["createdAt"] for one in last} == {created}
    assert trip("ls --all --created-since 9999-12-30").out == ""
    refused = trip("ls --created-since soon")
    assert (refused.code, "--created-since is a time as" in refused.err) == (2, True)


def test_a_tag_that_another_one_sets_meanwhile_stays(trip: Forklore, monkeypatch: pytest.MonkeyPatch) -> None:
    details = Conversation.details

    def meanwhile(self: Conversation) -> ConversationDetails:
        found = details(self)
        if "theirs" not in found.tags:
            self.update(tags={**found.tags, "theirs": ""})
        return found

    monkeypatch.setattr(Conversation, "details", meanwhile)

    assert [row[0] for row in rows(trip("tag trip mine").out)] == ["mine", "theirs"]


def test_copy_makes_a_tree_of_ones_own(trip: Forklore) -> None:
    [made] = trip("copy trip --up-to @asked --title Mine").lines

    assert rows(trip("branch trip").out) != rows(trip(f"branch {made}").out)
    assert trip(f"title {made}").out == "Mine\n"
    texts = [one["content"][0]["text"] for one in objects(trip(f"log {made} --json").out)]
    assert texts == ["Two nights in Lisbon?"]
    assert objects(trip("copy trip --json").out)[0]["title"] == "Two nights in Lisbon?"


def test_children_lists_what_was_started_from_a_conversation(trip: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        parent = client.named("trip")
        asked = parent.entry_of("asked")
        started = [parent.start_child(title="one"), parent.start_child(title="two", by=asked)]
        for child in started:
            child.say("user", "hello")

    listed = rows(trip("children trip").out)
    assert [(row[1], row[4]) for row in listed] == [(started[0].id, "one"), (started[1].id, "two")]
    assert [one["id"] for one in objects(trip("children trip --by @asked --json").out)] == [started[1].id]
    assert trip("children other").out == ""


def test_transfer_hands_a_tree_over(trip: Forklore) -> None:
    bob = Forklore((*trip.options[:-1], f"bob-{trip.options[-1]}"), trip.variables)
    user, held = bob.options[-1], trip.id_of("trip")
    trip(f"share trip {user} reader")

    offered = trip(f"transfer trip {user}")
    offer = offered.out.split()[0]
    assert offered.out == f"{offer} is the offer to {user}\n"
    assert trip(f"transfer trip {user}").code == 4
    assert rows(bob("transfer").out) == [[offer, held, trip.options[-1], user]]
    assert trip(f"transfer --accept {offer}").code == 4
    assert bob(f"transfer --decline {offer[-8:]}").out == f"declined {offer}\n"
    assert bob("transfer --json").out == trip("transfer").out == ""

    again = objects(trip(f"transfer trip {user} --json").out)[0]["id"]
    assert bob(f"transfer --accept {again[-8:]}").out == f"accepted {again}\n"
    assert dict(rows(trip("show trip").out))["owner"] == user
    assert bob(f"transfer --accept {again[-8:]}").code == 3


def test_diff_shows_both_and_says_so(trip: Forklore) -> None:
    found = trip("diff trip other")

    asked = objects(trip("show trip @asked --json").out)[0]["id"]
    assert (found.code, found.lines) == (
        1,
        [
            f"--- {trip.id_of('trip')} trip",
            f"+++ {trip.id_of('other')} other",
            f"@@ after {asked} @@",
            "-ai: Alfama.",
            "+user: Three nights in Porto?",
        ],
    )
    compared = trip("diff trip other --json")
    assert compared.code == 1
    assert [len(one["data"]) for one in objects(compared.out)[0]["branches"]] == [1, 1]


def test_diff_of_equal_branches_is_silent(trip: Forklore) -> None:
    trip("fork trip --name same")

    assert trip("diff trip same") == trip("diff trip trip")
    assert (trip("diff trip same").code, trip("diff trip same").out) == (0, "")


def test_diff_shows_more_than_a_page(trip: Forklore, folder: Any) -> None:
    import forklore

    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        chat = client.named("other")
        for begin in range(0, 250, 50):
            chat.append_all(
                [
                    {"contentType": "history", "content": [{"role": "USER", "text": f"m{begin + number}"}]}
                    for number in range(50)
                ]
            )

    lines = trip("diff trip other").lines
    assert [line for line in lines if line.startswith("+user: m")] == [f"+user: m{n}" for n in range(250)]
    compared = objects(trip("diff trip other --json").out)[0]["branches"][1]
    assert (len(compared["data"]), compared["afterCursor"]) == (251, None)


def test_merge_copies_what_the_other_says(trip: Forklore) -> None:
    trip('say other "By train?" --key train')
    trip("say other never")

    copied = trip("merge trip other --up-to @train")

    assert [line.split(" ", 2)[2] for line in copied.lines] == ["Three nights in Porto?", "By train?"]
    only = objects(trip("merge trip other --after @train --json").out)
    assert [one["content"][0]["text"] for one in only] == ["never"]
    nothing = trip("merge other other")
    assert (nothing.code, nothing.out) in ((0, ""), (2, ""))


def test_merge_copies_nothing_twice_unless_it_is_told_to(trip: Forklore) -> None:
    def texts(arguments: str) -> list[str]:
        return [one["content"][0]["text"] for one in objects(trip(f"merge {arguments} --json").out)]

    first = texts("trip other")
    again = trip("merge trip other")
    assert (again.code, again.out, again.err) == (0, "", "already merged; --again copies it once more\n")
    assert texts("trip other") == []
    trip('say other "By train?" --key train')
    trip("say other never")

    assert texts("trip other --up-to @train") == ["By train?"]
    assert texts("trip other --after @train") == ["never"]
    assert texts("trip other --after @train") == texts("trip other") == []
    assert texts("trip other --again") == [*first, "By train?", "never"]
    assert texts("trip other --up-to @train --again") == [*first, "By train?"]


def test_merge_back_copies_only_what_is_new(trip: Forklore) -> None:
    trip("merge trip other")
    trip('say trip "By train?"')

    copied = objects(trip("merge other trip --json").out)

    assert "By train?" in [one["content"][0]["text"] for one in copied]
    assert trip("merge other trip").err == "already merged; --again copies it once more\n"


def test_grep_finds_words(trip: Forklore) -> None:
    found = trip("grep nights LISBON")

    assert found.code == 0
    assert rows(found.out)[0][0] == trip.id_of("trip")
    assert rows(found.out)[0][2] == "Two nights in Lisbon?"
    assert objects(trip("grep lisbon --json").out)[0]["entry"]["key"] == "asked"
    assert trip("grep nights -n 1").out.count("\n") == 1
    assert rows(trip("grep nights --in other").out)[0][2] == "Three nights in Porto?"


def test_grep_that_finds_nothing_says_no(trip: Forklore) -> None:
    assert (trip("grep Faro").code, trip("grep Faro").out, trip("grep Faro --json").code) == (1, "", 1)


def test_recall_answers_a_question_with_what_the_branch_says(trip: Forklore) -> None:
    found = trip("recall How many nights in Lisbon? --in trip -n 1")

    assert found.code == 0
    assert rows(found.out) == [[trip.id_of("trip"), rows(found.out)[0][1], "Two nights in Lisbon?"]]
    [turns] = objects(trip("recall nights in lisbon --in trip -n 1 --around 0 --json").out)
    assert next(one["id"] for one in turns["around"]) == rows(found.out)[0][1]
    shown = trip("recall nights in lisbon --in trip -n 1 --around 1 --words").lines
    assert shown[0].startswith(trip.id_of("trip"))
    assert [line.startswith("*") for line in shown[1:]] == ["Lisbon?" in line for line in shown[1:]]
    assert (trip("recall xyzzy --words").code, trip("recall xyzzy --words").out) == (1, "")


def test_recall_tells_how_many_entries_have_vectors_and_makes_the_others(trip: Forklore) -> None:
    with_model = "--model tests.support.meaning:vectors_of"
    before = trip(f"recall --status {with_model} --json")
    assert before.code == 1
    [told] = objects(before.out)
    assert (told["type"], told["embedded"]) == ("vectors", 0)

    made = trip(f"recall --rebuild {with_model}")
    count = told["waiting"]
    assert (made.code, made.out) == (0, f"{count} of {count} entries have vectors of {told['model']}\n")
    other = trip("recall --status --model tests.support.meaning:by_length")
    assert other.code == 1
    assert other.lines[1:] == [f"{count} of the others have vectors of {told['model']}"]


def test_a_note_is_written_and_listed_and_deleted(trip: Forklore) -> None:
    made = objects(trip('note trip -1 "too dear" --score 0.5 --json').out)[0]
    scored = trip("note trip -2 --score -1")
    assert (made["text"], made["score"]) == ("too dear", 0.5)

    of_last = rows(trip("notes trip -1").out)
    assert [row[:2] + row[-2:] for row in of_last] == [[made["id"], made["entryId"], "0.5", "too dear"]]
    listed = objects(trip("notes trip --json").out)
    assert [one["score"] for one in listed] == [-1, 0.5]
    assert scored.out == f"{listed[0]['id']}\n"
    assert trip(f"notes trip --delete {made['id'][-8:]}").out == f"{made['id']} is deleted\n"
    assert [one["id"] for one in objects(trip("notes trip --json").out)] == [listed[0]["id"]]
    assert trip("note trip -1").code != 0


def test_an_entry_is_pinned_and_unpinned(trip: Forklore) -> None:
    entry = trip("pin trip -1").out.removesuffix(" is pinned\n")
    assert trip("pin trip -1").code == 0
    assert [[row[1], row[-1]] for row in rows(trip("notes trip").out)] == [[entry, "(pinned)"]]
    assert trip("pin trip -1 --after second").code != 0
    assert trip("pin trip -9").code != 0
    assert objects(trip("unpin trip -1 --json").out) == [{"entryId": entry, "pinned": False}]
    assert trip("notes trip --json").out == ""
    assert trip("ls --pinned --json").out == ""


def test_an_option_that_a_note_does_not_have_is_not_its_text(trip: Forklore) -> None:
    refused = trip("note trip -1 --scor=0.5")
    assert (refused.code, refused.out) == (2, "")
    assert "no option --scor=0.5" in refused.err
    assert trip("notes trip --json").out == ""


def test_a_link_is_made_and_listed_and_ended(trip: Forklore) -> None:
    made = objects(trip("link trip --until-entry -2 --days 1 --users --json").out)[0]
    whole = trip("link trip --tree --keep")
    assert re.fullmatch(r"[\w-]{43}\n", whole.out)
    assert "unlink trip" in whole.err

    first, second = objects(trip("links trip --json").out)
    assert {**first, "secret": made["secret"]} == made
    assert (first["userIds"], second["allForks"], second["keepOnTransfer"]) == (True, True, True)
    shown = rows(trip("links other").out)
    assert [row[:3] for row in shown] == [
        [first["id"], f"{first['conversationId']} up to {first['upToEntryId']}", "0"],
        [second["id"], "the tree", "0"],
    ]

    ended = trip(f"unlink other {first['id'][:8]}")
    assert ended.out == f"{first['id']} is ended\n"
    assert [one["id"] for one in objects(trip("links trip --json").out)] == [second["id"]]
    missing = trip(f"unlink trip {first['id']}")
    assert missing.code != 0
    assert trip("unlink trip ''").code != 0  # an empty text would fit the only one
    assert len(objects(trip("links trip --json").out)) == 1
    assert trip("link trip --days 400").code != 0


def test_share_lets_in_and_changes_and_removes(trip: Forklore) -> None:
    def members() -> dict[str, str]:
        return {row[0]: row[1] for row in rows(trip("share trip").out)}

    me = trip.options[-1]
    assert trip("share trip bob reader --children include").out == "bob is reader\n"
    assert members() == {me: "owner", "bob": "reader"}
    assert trip("share trip bob writer").out == "bob is writer\n"
    assert members() == {me: "owner", "bob": "writer"}
    assert {one["userId"] for one in objects(trip("share trip --json").out)} == {me, "bob"}
    bobs = Forklore((*trip.options[:-1], "bob"), trip.variables)
    assert bobs(f"share {trip.id_of('trip')} carol reader").code == 4
    assert bobs(f"log {trip.id_of('trip')} --oneline").out == trip("log trip --oneline").out
    assert trip("share trip bob --remove").out == "bob is no member any more\n"
    assert members() == {me: "owner"}
    assert bobs(f"log {trip.id_of('trip')}").code in (3, 4)


def test_the_memory_is_forgotten() -> None:
    forgetful = Forklore(("--data", ":memory:", "--user", "ann"), {"XDG_CONFIG_HOME": "/nonexistent"})

    assert forgetful("say trip hello").code == 0
    assert forgetful("log trip").code == 3


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    found = Forklore(("--data", str(tmp_path / "file"), "--user", "ann"))("ls")

    assert (found.code, found.out, len(found.err.splitlines())) == (2, "", 1)


def test_options_of_all_commands_may_stand_before_and_after(trip: Forklore) -> None:
    assert trip("--json show trip").out == trip("show trip --json").out != ""


def test_log_leaves_out_records_without_text_unless_asked(trip: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=trip.options[-1], data=folder) as client:
        client.named("trip").append([{"data": "x", "text": ""}], content_type="application/x")
        client.named("trip").append([{"data": "x"}], content_type="application/x")
        client.named("trip").append([{"data": "y", "text": " "}], content_type="application/x")
        client.named("trip").say("user", " ")

    def shown(line: str) -> list[str]:
        return [each.split(" ", 1)[1].rstrip() for each in trip(line).lines]

    newest = ["user", "ai Alfama.", "user Two nights in Lisbon?"]
    assert shown("log trip --oneline") == newest
    assert shown("log trip --oneline --reverse") == newest[::-1]
    assert shown("log trip --oneline -n 3") == newest[:3]
    assert shown("log trip --oneline -n 3 --reverse") == newest[:3][::-1]
    assert shown("log trip --oneline -n 2 --all") == ["user", "application/x"]
    assert len(shown("log trip --oneline --all")) == 6
    assert len(objects(trip("log trip --json").out)) == 6


def test_log_shows_the_memory_of_an_agent_to_this_agent(trip: Forklore, folder: Path) -> None:
    with forklore.Forklore.local(user=trip.options[-1], client="planner", data=folder) as client:
        chat = client.named("trip")
        chat.turn("ai", "Alfama.", context=["old"])
        chat.context.sync(["quiet", {"nights": 2}])
        chat.context.sync(["quiet", {"nights": 2}, {"text": "by train"}])
    agent = Forklore((*trip.options, "--client", "planner"), trip.variables)

    whole = agent("log trip --context")
    assert [line.split(" ", 1)[1] for line in agent("log trip --context --oneline").lines] == [
        "context by train",
        'context quiet {"nights":2}',
    ]
    assert whole.lines[0].endswith(" epoch 2")
    assert [one["epoch"] for one in objects(agent("log trip --context --json -n 1").out)] == [2]
    assert agent("log trip --context --graph").code == 2
    assert trip("log trip --context").code == 4


def test_a_moved_name_can_be_moved_back_as_it_is_said(trip: Forklore) -> None:
    old, other = trip.id_of("trip"), trip.id_of("other")

    for line in ("fork trip --move-name", "switch other --name trip", f"name trip {old}"):
        before = trip.id_of("trip")
        said = trip(line).err.splitlines()[0]
        assert trip.id_of("trip") != before
        assert said == f"trip was at {before}: `{line_of(trip, 'name', 'trip', before)}`"
    assert trip.id_of("trip") == old
    assert trip("name trip -d --yes").err == f"trip was at {old}: `{line_of(trip, 'name', 'trip', old)}`\n"
    assert trip(f"name trip {old}").err == ""
    assert trip.id_of("trip") == old
    assert trip("name trip trip").err == ""
    options = shlex.join(trip.options)
    trip(f"name -- -x {old}")
    assert trip(f"name -- -x {other}").err == f"-x was at {old}: `forklore name {options} -- -x {old}`\n"
    assert "new was at" not in trip("switch other --name new").err
    assert trip.id_of("new") == other


def test_the_last_move_of_a_name_is_taken_back(trip: Forklore) -> None:
    old, other = trip.id_of("trip"), trip.id_of("other")
    assert trip("name trip --undo").err == "forklore: trip has never pointed elsewhere\n"
    trip("name trip other")
    trip("say trip hello")

    assert trip("name trip --undo").code == 0
    assert trip.id_of("trip") == old
    trip("name trip --undo")
    assert trip.id_of("trip") == other
    assert trip("name trip --undo --delete").code == 2


def test_another_current_branch_is_taken_back_as_it_is_said(trip: Forklore) -> None:
    old, other = trip.id_of("trip"), trip.id_of("other")
    [new] = trip("fork other --name new").lines

    def was(current: str) -> str:
        return f"{current} was the current branch: `{line_of(trip, 'switch', current)}`\n"

    assert trip("switch other").err == was(old)
    assert trip("switch other").err == ""
    assert trip(f"switch {old}").err == was(other)
    assert trip("say other again --promote").err == was(old)
    assert trip("say other again --promote").err == ""
    assert trip("say unborn hello --promote").err == "unborn begins a new conversation\n"
    trip(f"switch {old}")
    assert trip("fork other --promote").err == was(old)
    trip(f"switch {old}")
    assert trip("fork trip --promote --move-name").err.endswith("\n" + was(old))
    trip("switch other")
    assert trip("switch new --name trip").err.endswith("\n" + was(other))
    assert trip.id_of("trip") == new


def test_a_line_that_takes_back_names_the_service_and_no_secret(url: str, home: Path) -> None:
    run = Forklore(("--url", url, "--token", "ann", "--client-key", "local-key"))
    run("say undone Hello")
    run("fork undone --move-name")

    said = run("fork undone --move-name").err

    assert re.search(f"`forklore name undone [-0-9a-f]+ --url {url}`\n$", said)
    assert "ann" not in said.replace("undone", "")
    assert "local-key" not in said


@pytest.mark.parametrize(
    ("word", "command"), [("promote", "switch"), ("delete", "rm"), ("names", "ls --names")]
)
def test_a_word_of_the_api_leads_to_the_command(run: Forklore, word: str, command: str) -> None:
    found = run(f"{word} trip")

    assert (found.code, found.out) == (2, "")
    assert f": here it is `forklore {command}`" in found.err
