"""The agent of `examples/agent_on_events`: one answer for each event, on Lambda and at home."""

import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from examples.agent_on_events import agent
from forklore import Conversation, Forklore, role_of, text_of
from forklore_local.server.events import envelope
from forklore_service.events.event import SOURCE, DetailType
from forklore_service.storage.table import Table
from tests.examples.test_python import InvokedHere
from tests.local.server.receiving import wait_until
from tests.service.aws.direct import Direct
from tests.service.events.recording import Recorded, events_in
from tests.support.tables import Store
from tools.deployment.loading import load
from tools.deployment.template import read_template
from tools.harness.gateway import PROJECT, store_in_memory
from tools.harness.local_server import ROOT, environment

EVENTS = 20


class Killed(BaseException):
    """The agent's process ends here."""


@dataclass
class Lambda:
    """A client of Lambda that runs AgentFunction here. kill_at: the call at which the agent ends.

    before: whether it ends before the function runs, or else after it.
    """

    inner: InvokedHere
    calls: int = 0
    kill_at: int | None = None
    before: bool = False

    def invoke(self, **request: Any) -> Any:
        self.calls += 1
        if self.calls == self.kill_at and self.before:
            raise Killed
        answer = self.inner.invoke(**request)
        if self.calls == self.kill_at:
            raise Killed
        return answer


@dataclass
class World:
    """A deployment, its events, and what the agent made of them."""

    client: Lambda
    recorded: Recorded
    table: Table
    ann: Forklore
    """A person's client, whose calls are not counted."""

    def answers(self, chat: Conversation) -> list[tuple[str, str | None]]:
        """Return what the agent said in a conversation, each with the entry that it answers."""
        said = [entry for entry in chat.entries(channel="history") if role_of(entry) == "ai"]
        return [((entry.key or "").removeprefix("answer-to-"), text_of(entry)) for entry in said]

    def memory(self, chat: Conversation) -> list[Any]:
        """Return the agent's memory in a conversation."""
        as_agent = self.ann.acting_as("ann", agent.CLIENT)
        assert {entry.epoch for entry in as_agent.conversation(chat.id).context.entries(epoch="all")} <= {1}
        return as_agent.conversation(chat.id).context.latest()

    def events(self, write: Callable[[], object]) -> list[dict[str, Any]]:
        """Return the events of what is written, as EventBridge hands them over."""
        changes = self.recorded.changes(write)
        return [json.loads(envelope(event).text) for event in events_in(changes, self.table)]

    def say(self, chat: Conversation, *texts: str) -> list[dict[str, Any]]:
        """Let a person speak, and return the events of the appends."""
        made = [event for one in texts for event in self.events(partial(chat.say, "user", one))]
        return [event for event in made if event["detail-type"] == "EntriesAppended"]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with store_in_memory() as opened:
        store = Store(opened.client, opened.name, database=opened.database)
        inner = InvokedHere(Direct(read_template(PROJECT / "template.yaml")))
        ann = Forklore.on_lambda("AgentFunction", user="ann", boto_client=inner)
        made = World(Lambda(inner), Recorded(store), store.process(), ann)
        monkeypatch.setattr("boto3.client", lambda service, **_: {"lambda": made.client}[service])
        monkeypatch.setenv("FORKLORE_FUNCTION", "AgentFunction")
        agent._on_lambda.cache_clear()
        yield made
    agent._on_lambda.cache_clear()


def text(number: int, said: str) -> str:
    return f"You have said {number} thing{'s' * (number > 1)}. The last is: {said}"


def test_an_event_is_answered_once_with_the_memory_in_one_append(world: World) -> None:
    chat = world.ann.conversation()
    [event] = world.say(chat, "Two nights in Lisbon?")

    answered = agent.handler(event, None)
    assert answered
    assert agent.handler(event, None) == answered
    [asked] = [entry.id for entry in chat.entries() if role_of(entry) == "user"]
    assert world.answers(chat) == [(asked, text(1, "Two nights in Lisbon?"))]
    remembered = [{"user": "Two nights in Lisbon?"}, {"ai": text(1, "Two nights in Lisbon?")}]
    assert world.memory(chat) == remembered
    assert (
        world.ann.acting_as("ann", agent.CLIENT).conversation(chat.fork(before=answered).id).context.latest()
        == []
    ), "the memory of the answer is in no fork without the answer"


def test_an_append_of_several_messages_has_one_answer_that_knows_all_of_them(world: World) -> None:
    chat = world.ann.conversation()
    texts = ["Two nights", "in Lisbon?"]
    messages = [{"contentType": "history", "content": [{"role": "USER", "text": one}]} for one in texts]
    [_, event] = world.events(lambda: chat.append_all(messages))

    answered = agent.handler(event, None)
    assert answered
    assert agent.handler(event, None) == answered
    [*_, last] = [entry.id for entry in chat.entries() if role_of(entry) == "user"]
    assert world.answers(chat) == [(last, text(2, "in Lisbon?"))]
    assert world.memory(chat) == [*({"user": one} for one in texts), {"ai": text(2, "in Lisbon?")}]


def test_nothing_else_is_answered_above_all_no_answer(world: World) -> None:
    chat = world.ann.conversation()
    asked = world.events(lambda: chat.say("user", "Hello"))
    by_agent = world.ann.acting_as("ann", "planner").conversation(chat.id)
    others = [
        *asked[:1],  # ConversationCreated
        *world.events(lambda: agent.handler(asked[1], None)),
        *world.events(lambda: by_agent.say("user", "an agent speaks for the user")),
        *world.events(lambda: chat.say("ai", "a person plays the machine")),
        *world.events(lambda: chat.append([{"any": "JSON"}], content_type="application/json")),
        *world.events(lambda: chat.update(title="another")),
        *world.events(chat.copy),
        *world.events(lambda: chat.share("bob", "reader")),
    ]
    kinds = [event["detail-type"] for event in others]
    assert (len(set(kinds)), kinds.count("EntriesAppended")) == (4, 5)
    for event in others:
        assert agent.handler(event, None) is None, event["detail-type"]
    assert [said for _, said in world.answers(chat)] == [text(1, "Hello"), "a person plays the machine"]


def test_in_a_fork_the_agent_goes_on_with_what_the_fork_shows(world: World) -> None:
    chat = world.ann.conversation()
    [first], [second] = (world.say(chat, one) for one in ("one", "two"))
    agent.handler(first, None)
    agent.handler(second, None)
    [*_, asked] = [entry for entry in chat.entries(channel="history") if text_of(entry) == "two"]
    fork = chat.fork(before=asked)
    [edited] = world.say(fork, "two, edited")
    agent.handler(edited, None)

    assert world.answers(fork)[-1][1] == text(2, "two, edited")
    assert len(world.answers(chat)) == 2


def test_what_is_deleted_or_another_agents_is_left_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = world.ann.conversation()
    [event] = world.say(gone, "a secret")
    gone.delete()
    assert agent.handler(event, None) is None

    bound = world.ann.acting_as("ann", "planner").create()
    [event] = world.say(world.ann.conversation(bound.id), "a secret")
    assert agent.handler(event, None) is None
    assert "secret" not in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.failure("repeated-event")
def test_killed_before_and_after_each_call_and_run_again_it_answers_once(world: World) -> None:
    for before in (True, False):
        at = 0
        while True:
            at += 1
            chat = world.ann.conversation()
            [event] = world.say(chat, "Hello")
            world.client.calls, world.client.kill_at, world.client.before = 0, at, before
            try:
                agent.handler(event, None)
            except Killed:
                world.client.kill_at = None
                agent._on_lambda.cache_clear()
                agent.handler(event, None)
                assert [said for _, said in world.answers(chat)] == [text(1, "Hello")], (at, before)
                assert len(world.memory(chat)) == 2
            else:
                break
        assert at > 4, "the agent made fewer calls than it does"


@pytest.mark.failure("repeated-event")
def test_killed_in_the_middle_it_answers_once_though_somebody_spoke_and_the_model_says_another_thing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = world.ann.conversation()
    [event] = world.say(chat, "Hello")
    seen = 0
    while world.client.kill_at is None or world.client.calls >= world.client.kill_at:
        monkeypatch.setattr(agent, "reply", lambda _: f"answer {random.random()}")
        world.client.calls, world.client.kill_at = 0, (world.client.kill_at or 0) + 1
        try:
            agent.handler(event, None)
        except Killed:
            seen += 1
        chat.say("user", "somebody speaks meanwhile")
    assert seen > 0
    assert len(world.answers(chat)) == 1
    assert len(world.memory(chat)) == 2


@pytest.mark.failure("repeated-event")
def test_twenty_events_at_once_delivered_twice_and_in_disorder_make_twenty_answers_and_turns(
    world: World,
) -> None:
    busy = world.ann.conversation()
    chats = [busy] * (EVENTS // 2) + [world.ann.conversation() for _ in range(EVENTS // 2)]
    events = [event for at, chat in enumerate(chats) for event in world.say(chat, f"text {at}")]
    assert len(events) == EVENTS
    deliveries = events * 2
    random.Random(18).shuffle(deliveries)

    def deliver(event: dict[str, Any]) -> str | None:
        """Deliver an event as Lambda does: after an error it comes again."""
        for _ in range(3):
            try:
                return agent.handler(event, None)
            except RuntimeError:
                continue
        raise AssertionError("never answered")

    with ThreadPoolExecutor(6) as threads:
        answered = list(threads.map(deliver, deliveries))

    assert len(set(answered)) == EVENTS
    for chat in set(chats):
        answers = world.answers(chat)
        asked = [entry.id for entry in chat.entries(channel="history") if role_of(entry) == "user"]
        assert sorted(one for one, _ in answers) == sorted(asked)
        memory = world.memory(chat)
        assert len(memory) == 2 * len(answers), "one turn lost the memory of another"
        assert sorted(one["ai"] for one in memory if "ai" in one) == sorted(said or "" for _, said in answers)


# At home

FOLDER = ROOT / "examples" / "agent_on_events"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@contextmanager
def at_home(
    *arguments: str, cwd: Path = FOLDER, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the README's first command, on a free port; yield the server and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "forklore.cli", *arguments],
        cwd=cwd,
        env=environment(PORT="0", PYTHONUNBUFFERED="1", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"listens on (\S+)", line):
                break
        else:
            raise AssertionError("the server did not start")
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def command(number: int) -> list[str]:
    """Return the words of the README's n-th command of forklore."""
    return [shlex.split(line)[1:] for line in README.splitlines() if line.startswith("forklore ")][number]


def printed(words: Sequence[str], url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "forklore.cli", *words, "--url", url],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.long
def test_the_commands_of_the_readme_make_an_answer() -> None:
    with at_home(*command(0)) as (_, url):
        printed(command(1), url)
        wait_until(lambda: "You have said 1 thing. The last is: Two nights" in printed(command(2), url))


@pytest.mark.long
@pytest.mark.failure("repeated-event", "failing-receiver")
def test_a_server_that_is_killed_in_the_middle_of_an_answer_answers_once_when_it_runs_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "slow_agent.py").write_text(
        "import pathlib, time\n"
        "import agent\n"
        "from agent import at_home\n"
        "reply, begun = agent.reply, pathlib.Path('begun')\n"
        "def slow(messages):\n"
        "    if not begun.exists():\n"
        "        begun.touch()\n"
        "        time.sleep(600)\n"
        "    return reply(messages)\n"
        "agent.reply = slow\n"
    )
    serve = ["serve", "--data", str(tmp_path / "data"), "--on-event", "slow_agent:at_home"]
    paths = os.pathsep.join([str(FOLDER), *filter(None, sys.path)])
    with at_home(*serve, cwd=tmp_path, PYTHONPATH=paths) as (process, url):
        printed(command(1), url)
        wait_until((tmp_path / "begun").exists)
        process.kill()
        process.wait()
    with at_home(*serve, cwd=tmp_path, PYTHONPATH=paths) as (process, url):
        ann = Forklore(url, token="ann")
        wait_until(lambda: len(ann.named("trip").entries().list()) == 2)
        ann.named("trip").say("user", "Are you there?")
        wait_until(lambda: len(ann.named("trip").entries().list()) == 4)
        assert [role_of(entry) for entry in ann.named("trip").entries()] == ["user", "ai"] * 2
        ann.close()


def test_the_readme_names_each_file_and_the_function_of_the_agent() -> None:
    named = set(re.findall(r"^\| `([\w.]+)`", README, re.MULTILINE))
    assert named == {path.name for path in FOLDER.iterdir() if path.suffix in {".py", ".yaml", ".txt"}}
    assert command(0) == ["serve", "--on-event", "agent:at_home"]


def test_the_template_gives_the_agent_what_it_reads_and_only_its_own_permission() -> None:
    template = load(FOLDER / "template.yaml")
    function = template["Resources"]["AnswerFunction"]["Properties"]
    pattern = function["Events"]["Said"]["Properties"]["Pattern"]

    assert set(function["Environment"]["Variables"]) == {"FORKLORE_FUNCTION"}
    assert function["Handler"] == f"agent.{agent.handler.__name__}"
    [policy] = function["Policies"]
    [statement] = policy["Statement"]
    assert statement["Action"] == "lambda:InvokeFunction"
    assert (pattern["source"], pattern["detail-type"]) == ([SOURCE], [DetailType.ENTRIES_APPENDED])
