"""What a program runs in: a home folder and a project of its own, a stand-in, and a terminal."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.programs.stand_in import StandIn

LONGEST = 600.0
"""So many seconds a program has for what it does: a busy machine may need them all."""
PATIENCE, TRIES = 60.0, 6
"""So many seconds a program has to take what is typed, before it is typed again."""
SHORT_MAX = 1000
"""A longer text is pasted."""
_KEPT = ("PATH", "LANG", "TERM", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
KEY = "made-up-key-of-the-check"


class ProgramError(Exception):
    """A program did not do what its file here expects."""


@dataclass(frozen=True)
class World:
    """Where one program runs. folder: of all that it writes. installed: where its packages are."""

    folder: Path
    installed: Path
    stand_in: StandIn
    environment: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "harbour"

    def all_variables(self, **more: str) -> dict[str, str]:
        """Return the environment of a program: nothing of this machine but what it needs to run."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        return kept | {"HOME": str(self.home), "TERM": "xterm-256color"} | dict(self.environment) | more

    def run(
        self,
        *command: str,
        timeout: float = LONGEST,
        given: str | None = None,
        stderr: bool = True,
        **more: str,
    ) -> str:
        """Run a command in the project's folder, and return what it printed.

        Raises ProgramError if it fails, or takes longer than so many seconds.
        """
        with self.started(*command, given=given, stderr=stderr, **more) as process:
            try:
                printed, _ = process.communicate(given, timeout=timeout)
            except subprocess.TimeoutExpired:
                stop(process)
                printed, _ = process.communicate()
                raise ProgramError(f"{command[:3]} took over {timeout} s:\n{printed[-2000:]}") from None
        if process.returncode:
            raise ProgramError(f"{command[:3]} ended with {process.returncode}:\n{printed[-2000:]}")
        return printed

    @contextlib.contextmanager
    def started(
        self, *command: str, given: str | None = None, stderr: bool = True, **more: str
    ) -> Iterator["subprocess.Popen[str]"]:
        """Start a command in the project's folder; it is stopped at the end."""
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.all_variables(**more),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if stderr else subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            stop(process)

    def wait_for_stored(self, store: str, text: str) -> None:
        """Wait until a text stands in a file whose name in the home folder begins so.

        Raises ProgramError if it does not come.
        """

        def is_stored() -> bool:
            places = [*self.home.glob(f"{store}*"), *self.home.glob(f"{store}*/**/*")]
            return any(text.encode() in one.read_bytes() for one in places if one.is_file())

        if not _waited(is_stored, LONGEST):
            raise ProgramError(f"{text} did not come into {store}")

    def stop_all(self) -> None:
        """Stop what the program has left behind: the processes whose home folder is the world's."""
        home = f"HOME={self.home}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if home in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)

    @contextlib.contextmanager
    def terminal(self, *command: str, **more: str) -> Iterator["Terminal"]:
        """Start a command in a terminal of tmux; it is stopped at the end.

        Raises ProgramError if there is no tmux.
        """
        if shutil.which("tmux") is None:
            raise ProgramError("tmux is missing. On Debian: sudo apt-get install tmux")
        terminal = Terminal(self.folder / "tmux")
        variables = [f"{name}={value}" for name, value in self.all_variables(**more).items()]
        size = ("-x", "120", "-y", "50", "-c", str(self.project))
        line = shlex.join(["env", "-i", *variables, *command])
        terminal.tmux("-f", "/dev/null", "new-session", "-d", "-s", "one", *size, line + "; sleep 600")
        try:
            yield terminal
        finally:
            terminal.stop()


def stop(process: "subprocess.Popen[str]") -> None:
    """Stop a process that `started` began, and what it started itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
            if number == signal.SIGTERM:
                continue
    if process.stdout is not None and process.poll() is None:
        process.stdout.close()


class Terminal:
    """A program in a terminal of a tmux that is its own: keys go in, and the screen comes out."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        """Run a command of tmux, and return what it printed."""
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def screen(self) -> str:
        """Return what is on the screen, and what went up from it."""
        return self.tmux("capture-pane", "-p", "-S", "-200", "-t", "one")

    def press(self, *keys: str, after: float = 0.4) -> None:
        """Press keys one by one, by the names that tmux has for them: `Enter`, `Escape`, `C-c`."""
        for key in keys:
            self.tmux("send-keys", "-t", "one", key)
            time.sleep(after)

    def type(self, text: str, is_taken: Callable[[], bool]) -> None:
        """Type a text, or paste a long one, until all of it is on the screen; then press Enter.

        It is done again until it is taken: a program that draws its screen anew loses keys, or what
        stands in its prompt. It may show a path in its own way, and a paste by what stands for it.

        Raises ProgramError if it is not taken.
        """
        is_long = len(text) > SHORT_MAX
        typed = re.escape(re.sub(r"^@\S+ ", "", text.strip()))
        shown = re.compile(f"{re.escape(text[-9:])}|[Pp]asted" if is_long else typed)
        for number in range(TRIES):
            self.press(*["C-u"] if number else [])
            there = len(shown.findall(self.screen()))
            if is_long:
                self.tmux("set-buffer", text)
                self.tmux("paste-buffer", "-p", "-t", "one")
            for letter in "" if is_long else text:  # some programs take many letters at once for a paste
                self.tmux("send-keys", "-t", "one", "-l", letter)
                time.sleep(0.01)
            if not self._has_more_than(there, shown):
                continue
            time.sleep(3 if is_long else 0.7)  # an Enter right after a paste may be taken for a part of it
            self.press("Enter")
            if _waited(is_taken, PATIENCE):
                return
        raise ProgramError(f"{text[:80]} was not taken:\n{self.screen()[-3000:]}")

    def order(self, command: str, *shown: str) -> None:
        """Type a command of the program until one of these texts is on the screen."""
        self.type(command, lambda: self._shows(shown))

    def _has_more_than(self, count: int, shown: re.Pattern[str]) -> bool:
        """Tell whether something is shown once more, before the screen stays as it is."""
        before, quiet = "", 0
        for _ in range(100):  # a screen that moves for ever is as good as a quiet one
            screen = self.screen()
            if len(shown.findall(screen)) > count:
                return True
            quiet = quiet + 1 if screen == before else 0
            if quiet > 15:
                break
            before = screen
            time.sleep(0.3)
        return False

    def wait_for_keys(self) -> None:
        """Wait until the program takes keys. A paste that comes too early may lose its end."""
        shown = re.compile("zq")
        for _ in range(40):
            self.tmux("send-keys", "-t", "one", "-l", "zq")
            if self._has_more_than(0, shown):
                break
        self.press("C-u", after=2)

    def wait_for(self, *texts: str) -> None:
        """Wait until one of these texts is on the screen.

        Raises ProgramError if it does not come.
        """
        if not _waited(lambda: self._shows(texts), LONGEST):
            raise ProgramError(f"{texts} did not come on the screen:\n{self.screen()[-3000:]}")

    def _shows(self, texts: Iterable[str]) -> bool:
        screen = self.screen()
        return any(text in screen for text in texts)

    def stop(self) -> None:
        """Stop the program and the terminal."""
        number = self.tmux("display-message", "-p", "#{pid}").strip()
        self.tmux("send-keys", "-t", "one", "C-c")
        for pane in self.tmux("list-panes", "-a", "-F", "#{pane_pid}").split():
            _stop_group(int(pane))
        if number:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGTERM)


def _stop_group(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGTERM)
        time.sleep(1)
        os.killpg(number, signal.SIGKILL)


def _waited(is_so: Callable[[], bool], seconds: float) -> bool:
    """Tell whether something is so before so many seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.3)
    return False
