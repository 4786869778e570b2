"""What a program runs in: a home folder and a project of its own, a stand-in, and a terminal."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.programs.stand_in import StandIn

LONGEST = 600.0
"""So many seconds a program has for what it does: a busy machine may need them all."""
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
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            places = [*self.home.glob(f"{store}*"), *self.home.glob(f"{store}*/**/*")]
            if any(text.encode() in one.read_bytes() for one in places if one.is_file()):
                return
            time.sleep(0.3)
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

    def type(self, text: str) -> None:
        """Type a text until all of it is on the screen, and press Enter.

        A program that has only just drawn its screen loses keys. It may show a path in its own way.
        """
        shown = re.compile(re.escape(re.sub(r"^@\S+ ", "", text.strip())))
        there = len(shown.findall(self.screen()))
        for number in range(5):
            self.press(*["C-u"] if number else [])
            for letter in text:  # some programs take many letters at once for a paste
                self.tmux("send-keys", "-t", "one", "-l", letter)
                time.sleep(0.01)
            if self._has_more_than(there, shown):
                break
        time.sleep(0.7)
        self.press("Enter")

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

    def paste(self, text: str) -> None:
        """Paste a text until its end is on the screen, or what stands for it, and press Enter."""
        self.tmux("set-buffer", text)
        shown = re.compile(f"{re.escape(text[-9:])}|[Pp]asted")
        there = len(shown.findall(self.screen()))
        for number in range(5):
            self.press(*["C-u"] if number else [])
            self.tmux("paste-buffer", "-p", "-t", "one")
            if self._has_more_than(there, shown):
                break
        for _ in range(5):  # an Enter that comes right after it may be taken for a part of it
            before = self.screen()
            self.press("Enter", after=3)
            if self.screen() != before:
                break

    def wait_for(self, *texts: str, timeout: float = LONGEST) -> str:
        """Wait until one of these texts is on the screen, and return the screen.

        Raises ProgramError if it does not come in so many seconds.
        """
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            screen = self.screen()
            if any(text in screen for text in texts):
                return screen
            time.sleep(0.3)
        raise ProgramError(f"{texts} did not come on the screen:\n{self.screen()[-3000:]}")

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
