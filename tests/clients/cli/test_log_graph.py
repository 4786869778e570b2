"""`forklore log --graph`: the tree as it is stored, with few requests."""

import json

from forklore import Forklore as Client
from forklore.cli.drawing import show_graph
from forklore.cli.output import Output
from tests.clients.cli.counting import counted
from tests.clients.cli.running import Forklore, Stream


def entry_ids(run: Forklore, *names: str) -> dict[str, str]:
    """Return the end of the id of each entry that some conversations show, by its text."""
    shown = [json.loads(line) for name in names for line in run(f"log {name} --json").lines]
    return {one["content"][0]["text"]: one["id"][-8:] for one in shown}


def ids(run: Forklore, *names: str) -> list[str]:
    return [run.id_of(name) for name in names]


def story(run: Forklore) -> Forklore:
    """Make a tree: trip says one, two, three, four, and two branches leave it."""
    for text in ("one", "two", "three", "four"):
        run(f"say trip {text}")
    run("fork trip --after -4 --name early --title Early")
    run("say early 2a")
    run("fork trip --before -1 --name late --title Late --promote")
    run("say late 4a")
    return run


def test_every_entry_is_drawn_with_the_branches_at_their_ends(run: Forklore) -> None:
    at = entry_ids(story(run), "trip", "early", "late")

    found = run("log trip --graph")

    assert found.lines == [
        f"* {at['4a']} (* late Late) user: 4a",
        f"| * {at['four']} (trip one) user: four",
        "|/",
        f"* {at['three']} user: three",
        f"* {at['two']} user: two",
        f"| * {at['2a']} (early Early) user: 2a",
        "|/",
        f"* {at['one']} user: one",
    ]
    assert run("log late --graph").lines == found.lines
    assert run("log trip --graph -n 2").lines == found.lines[:2]


def test_long_runs_are_folded_unless_each_entry_is_asked_for(run: Forklore) -> None:
    for number in range(6):
        run(f"say trip {number}")
    [trip], at = ids(run, "trip"), entry_ids(run, "trip")

    folded = [": … 4 entries", f"* {at['0']} user: 0"]
    assert run("log trip --graph").lines == [f"* {at['5']} (* trip 0) user: 5", *folded]
    with Client.local(user=run.options[3], data=run.options[1]) as client:
        client.api.delete_name(name="trip")
    assert run(f"log {trip} --graph").lines == [f"* {at['5']} (* {trip[-8:]} 0) user: 5", *folded]
    assert len(run(f"log {trip} --graph --oneline").lines) == 6


def test_json_has_an_object_for_each_line(run: Forklore) -> None:
    trip, early, late = ids(story(run), "trip", "early", "late")

    rows = [json.loads(line) for line in run("log trip --graph --json").lines]

    assert [row["graph"] for row in rows] == ["* ", "| * ", "|/", "* ", "* ", "| * ", "|/", "* "]
    assert sum(len(row["entries"]) for row in rows) == 6
    assert [one for row in rows for one in row["branches"]] == [
        {"conversationId": late, "names": ["late"], "title": "Late", "isCurrent": True},
        {"conversationId": trip, "names": ["trip"], "title": "one", "isCurrent": False},
        {"conversationId": early, "names": ["early"], "title": "Early", "isCurrent": False},
    ]


def test_a_branch_hangs_where_it_did_when_its_source_is_deleted(run: Forklore) -> None:
    story(run)
    run("fork early --name leaf --title Leaf")
    run("say leaf 3a")
    run("fork early --before -1 --name twin --title Twin")
    run("say twin 2b")
    for gone in ("early", "trip"):
        assert run(f"branch {gone} -d --yes").code == 0
    lines = run("log leaf --graph").lines

    assert len([line for line in lines if "user:" in line]) == 7
    at = next(at for at, line in enumerate(lines) if "(leaf Leaf)" in line)
    assert lines[at + 1].endswith(" user: 2a")
    assert lines[-1].startswith("* ")
    assert lines[-1].endswith(" user: one")
    [drawn] = [line for line in lines if "(twin Twin)" in line]
    assert drawn.endswith("user: 2b")


def test_a_merge_is_a_note(run: Forklore) -> None:
    story(run)
    early = run.id_of("early")
    with Client.local(user=run.options[3], data=run.options[1]) as client:
        client.named("trip").say("ai", "summary", merged_from_conversation_id=early)

    assert f"(merged from {early}) ai: summary" in run("log trip --graph").out


def test_a_terminal_gets_colours_and_lines_of_its_width(run: Forklore) -> None:
    story(run)
    run(f"say trip '{'long ' * 60}'")
    run("say trip -", stdin=b"\x1b[2J")

    coloured = run("log trip --graph", is_terminal=True, COLUMNS="90")
    plain = run("log trip --graph", is_terminal=True, COLUMNS="90", NO_COLOR="1")

    assert "\x1b[3" in coloured.out
    assert "\x1b[2J" not in coloured.out
    assert max(map(len, plain.lines)) <= 90
    assert "…" in plain.out
    assert run("log trip --graph --reverse").code == 2


def test_a_tree_of_many_forks_is_read_with_few_requests() -> None:
    stream = Stream()
    with counted() as (client, sent):
        chat = client.named("wide")
        first = chat.say("user", "one")
        chat.say("user", "two")
        forks = [fork for _ in range(21) for fork in chat.fork(after=first, count=10)]
        forks[-1].say("user", "other")
        forks[-1].fork().say("user", "more")
        client.api.delete_conversation(forks[-1].id, scope="branch")
        sent.clear()

        assert show_graph(Output(stream=stream), client, chat)

    assert sent == ["listForks", "listForks", "listEntries", "listNames"]
    lines = stream.text().splitlines()
    assert len(lines) == 5
    assert sum(line.count(", ") for line in lines) == 211 - 3


def test_labels_are_cut_to_the_width_and_counted(run: Forklore) -> None:
    run("say trip hello")
    for _ in range(2):
        run("fork trip --count 10")

    wide = run("log trip --graph --no-color", is_terminal=True, COLUMNS="120").lines
    whole = run("log trip --graph").lines

    [line] = wide
    assert "… and 14 more" in line
    assert len(line) <= 120
    assert (whole[0].count(" hello"), whole[0].count(", ")) == (2, 20)
    assert "more" not in whole[0]


def test_the_graph_shows_control_characters_as_log_does(run: Forklore) -> None:
    run("say trip 'a\x1bb'")

    assert "user: a\\x1bb" in run("log trip --graph --no-color", is_terminal=True).out
    assert "a\\x1bb" in run("log trip --oneline").out


def test_records_without_text_are_left_out_of_graph_and_diff_unless_asked(run: Forklore) -> None:
    with Client.local(user=run.options[3], data=run.options[1]) as client:
        chat = client.named("trip")
        chat.append([{"data": 0}], content_type="application/x")
        chat.fork(name="bare")
        chat.say("user", "one")
        chat.append([{"data": 1}], content_type="application/x")
        fork = chat.fork(name="other")
        chat.say("user", "two")
        fork.append([{"data": 2, "text": ""}], content_type="application/x")

    lines = run("log trip --graph").lines
    assert [line.split(" ", 2)[2] for line in lines] == ["(* trip one) user: two", "(other) user: one"]
    assert len(run("log trip --graph --all").lines) == len(run("log trip --graph --json").lines) == 6
    differ = run("diff trip other")
    assert (differ.code, differ.lines[3:]) == (1, ["-user: two"])
    assert differ.err == "left out are 1 without text: --all shows them\n"
    assert run("diff trip other --all").lines[3:] == ["-user: two", "+application/x:"]
