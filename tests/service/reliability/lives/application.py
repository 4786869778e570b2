"""A small application, and `python -m` of this module: it forks a process for each of its runs.

An application goes through its steps. One that is begun again repeats some of them: with a key in
any case, without one only what it has not begun, as its journal says.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from forklore import (
    ApiError,
    ConflictError,
    ForbiddenError,
    Forklore,
    NoAnswerError,
    NotFoundError,
    ServerError,
    text_of,
)
from forklore.cli.app import make_app
from forklore_local.server.store import set_environment
from tests.service.reliability.lives.places import AGENT, CLIENT, ON_NODE, Place
from tests.support.processes import PROJECT
from tools.deployment.template import Template, read_template
from tools.harness.gateway import AGENTS

MOVES = ("say", "turn", "two", "child", "bob", "archived", "named", "swap", "command", "look")
"""What a step can be. `two`: writers of one memory. `bob`: a member comes or goes."""
JOB, MEMORY, CHILD, OTHER_NAME = "job", "memory", "child", "other"
SECONDS_MAX = 120


class Application:
    """One run of an application, in a process of its own."""

    def __init__(self, place: Place, random: Random) -> None:
        self._place, self._journal, self._wait = place, place.journal, place.wait
        self._random, self._own = random, place.own
        self._kept = self._own.named(JOB)
        self._id = ""

    def run(self, steps: list[list[Any]], begin: int) -> None:
        """Take the steps from `begin` on, and look at the end."""
        known = self._recorded("known")
        self._id = known[-1]["id"] if known else self._begin()
        for number, (move, is_keyed) in enumerate(steps[begin:], begin):
            self._journal.write("step", number=number, move=move)
            match move:
                case "say" | "child" | "command":
                    self._say(move, f"{move} {number}", f"k{number}" if is_keyed else None)
                case "turn":
                    self._turn(self._find(), f"x{number}")
                case "two":
                    self._two(number)
                case "bob" | "archived" | "named":
                    self._change(move, number)
                case "swap":
                    self._swap(f"r{number}")
                case "look":
                    self._look(number)
        self._look(len(steps))
        self._journal.write("ended")

    def _recorded(self, what: str) -> list[dict[str, Any]]:
        return [record for record in self._journal.records if record["what"] == what]

    def _begin(self) -> str:
        self._say("say", "first", "first")
        conversation_id = self._wait(self._kept.resolve())
        self._wait(self._own.conversation(conversation_id).share("mia", "manager"))
        self._journal.write("known", id=conversation_id)
        return str(conversation_id)

    def _find(self, client: Any = None, *, new: bool = False) -> Any:
        """Return the conversation: an object for its name or its id, or the one that is kept."""
        client = client or self._own
        ways = [client.named(JOB), *([client.conversation(self._id)] if self._id else [])]
        return self._random.choice(ways if new else [*ways, self._kept])

    @contextmanager
    def _writing(self, **texts: str) -> Iterator[None]:
        """Write down what is begun and then acknowledged: the text of each line."""
        for line, text in texts.items():
            self._journal.write("begun", line=line, texts=[text])
        yield
        for line, text in texts.items():
            self._journal.write("done", line=line, texts=[text])

    def _say(self, move: str, text: str, key: str | None) -> None:
        if key is None and any(text in record["texts"] for record in self._recorded("begun")):
            return
        chat = self._find()
        before: list[Callable[[], Any]] = [chat.last, chat.exists, chat.context.latest, chat.entries().list]
        if self._random.random() < 0.5:
            self._wait(self._random.choice(before)())
        if move == "child":
            child = self._wait(chat.start_child("worker", key="of the job"))
            with self._writing(**{CHILD: text}):
                self._wait(child.say("user", text, idempotency_key=key))
            return
        with self._writing(**{JOB: text}):
            if move == "command":
                self._command(text, key)
                return
            client = self._random.choice([self._own, self._own.with_options(retries=0)])
            try:
                self._wait(self._find(client).say("user", text, idempotency_key=key))
            except NoAnswerError as error:  # say it again in any way, with the key of the call
                self._wait(self._find(new=True).say("user", text, idempotency_key=error.idempotency_key))

    def _command(self, text: str, key: str | None) -> None:
        once = [] if key is None else ["--once", key]
        to = self._random.choice([JOB, self._id])
        caller = ["--data", str(self._place.folder), "--user", "ann", "--client", AGENT]
        try:
            with redirect_stdout(StringIO()):
                make_app()(["say", to, text, *once, *caller])
        except SystemExit as ended:
            if ended.code:
                raise

    def _turn(self, chat: Any, element: str, memory: list[Any] | None = None) -> None:
        """Add an element to the memory, unless it is there."""
        memory = self._remembered(chat) if memory is None else memory
        with self._writing(**{JOB: f"says {element}", MEMORY: element}):
            if element not in memory:
                self._wait(self._find(new=True).turn("ai", f"says {element}", context=[*memory, element]))

    def _remembered(self, chat: Any) -> list[Any]:
        memory: list[Any] = self._wait(chat.context.latest())
        self._journal.write("saw", line=MEMORY, texts=memory)
        return memory

    def _two(self, number: int) -> None:
        """Read the memory, and write to it when somebody else has."""
        memory = self._remembered(self._find(new=True))
        self._turn(self._find(new=True), f"y{number}")
        try:
            self._turn(self._kept, f"x{number}", memory)
        except ConflictError as error:
            if error.reason != "context_moved":
                raise
            self._turn(self._find(new=True), f"x{number}")

    def _change(self, flag: str, number: int) -> None:
        to = self._random.random() < 0.5
        if self._random.random() < 0.5:
            somebody = self._place.other("mia" if flag == "bob" else "ann")
            self._place.faults.lose_next(lambda: self._set(flag, not to, somebody, lambda result: result))
        self._set(flag, to, self._own, self._wait)
        self._look(number)

    def _set(self, flag: str, to: bool, client: Any, wait: Callable[[Any], Any]) -> None:
        begun = self._journal.write("changing", flag=flag)
        chat = client.conversation(self._id)
        try:
            match flag:
                case "bob":
                    wait(chat.share("bob", "writer") if to else chat.unshare("bob"))
                case "archived":
                    wait(chat.archive() if to else chat.unarchive())
                case _:
                    wait(chat.point(OTHER_NAME) if to else client.api.delete_name(name=OTHER_NAME))
        except (NoAnswerError, ServerError):
            return  # nobody knows
        except NotFoundError:
            if to:
                raise
        self._journal.write("changed", flag=flag, begun=begun, to=to)

    def _swap(self, text: str) -> None:
        """Make a backup; later put it in the place of the folder, say something, and end."""
        if self._recorded("restored"):
            return
        if not self._place.swap():
            self._journal.write("backup")
            return
        self._journal.write("restored")
        with suppress(ApiError), self._writing(**{JOB: text}):
            self._wait(self._find().say("user", text))
        os._exit(0)

    def _look(self, number: int) -> None:
        chat = self._find()
        self._saw(JOB, self._wait(chat.entries(channel="history").list()))
        self._remembered(chat)
        is_archived = self._wait(self._own.conversation(self._id).details()).archived
        self._journal.write("tried", flag="archived", may=is_archived)
        names = [name.name for name in self._wait(self._own.names().list())]
        self._journal.write("tried", flag="named", may=OTHER_NAME in names)
        children = [child.id for child in self._wait(chat.children().list())]
        for child in children:
            self._saw(CHILD, self._wait(self._own.conversation(child).entries(channel="history").list()))
        bob = self._place.other("bob")
        self._look_as(bob, JOB, self._id, f"bob {number}")
        for child in children:
            self._look_as(bob, CHILD, child, f"bob {number} there")

    def _saw(self, line: str, entries: list[Any]) -> None:
        self._journal.write("saw", line=line, texts=[text_of(entry) for entry in entries])

    def _look_as(self, bob: Forklore, line: str, conversation_id: str, text: str) -> None:
        """Read and write as Bob. He is in a child only if he was there when it was started."""
        refused = None if line == CHILD else False
        chat = bob.conversation(conversation_id)
        try:
            self._saw(line, chat.entries(channel="history").list())
            self._journal.write("tried", flag="bob", may=True)
        except ForbiddenError:
            self._journal.write("tried", flag="bob", may=refused)
        with suppress(ForbiddenError), self._writing(**{line: text}):
            chat.say("user", text, idempotency_key=text)
            self._journal.write("tried", flag="bob", may=True)


def run_on_node(place: Place, asked: Mapping[str, Any]) -> None:
    """Let Node be the run. If that is killed, so is this process."""
    dice = [Random(asked["seed"] + number).getrandbits(16) for number in range(100)]
    given = {**asked, "dice": dice, "journal": str(place.site / "journal")}
    given |= {"client": CLIENT.as_uri(), "url": place.url, "clientKey": AGENTS[AGENT]}
    program = Path(__file__).with_suffix(".js")
    node = subprocess.run(["node", program], input=json.dumps(given), text=True, check=False)
    if node.returncode:
        assert node.returncode == -signal.SIGKILL, node
        os.kill(os.getpid(), signal.SIGKILL)


def live(asked: Mapping[str, Any], template: Template) -> None:
    """Be one run. It is killed, or it ends."""
    signal.alarm(SECONDS_MAX)  # ends what hangs
    planned = {int(at): kind for at, kind in asked["faults"].items()}
    with ExitStack() as stack:
        place = Place(Path(asked["site"]), asked["way"], planned, template, stack)
        try:
            if asked["way"] == ON_NODE:
                run_on_node(place, asked)
            else:
                Application(place, Random(asked["seed"])).run(asked["steps"], asked["begin"])
        except BaseException:  # noqa: BLE001 (the model is told)
            place.journal.write("crashed", error=traceback.format_exc(limit=-3))


def import_all(template: Template) -> None:
    """Import what all runs need, by one of them in this process."""
    with TemporaryDirectory() as site, ExitStack() as stack:
        place = Place(Path(site), "async http", {}, template, stack)
        Application(place, Random(0)).run([["command", True]], 0)


def main() -> None:
    """Read what runs to make, a line for each, and print how each process has ended."""
    set_environment()
    template = read_template(PROJECT / "template.yaml")
    import_all(template)
    gc.collect()  # nothing of it goes into the processes
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            live(json.loads(line), template)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
