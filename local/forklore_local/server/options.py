"""The options of the server: one table for the command line, the environment and a file.

The first of these that has an option decides: the command line, the environment, the file, the
default. A name that is none is refused, with the nearest one that is.
"""

import argparse
import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from forklore_local.in_process.models import WORDLLAMA
from forklore_local.server.events import CONTENTS
from forklore_local.server.log import FORMATS
from forklore_local.server.processes import USUAL_MAX
from forklore_local.server.store import ENDPOINT
from forklore_service.domain.users import read_list
from forklore_service.limits import DELETED_DAYS_MAX

CONFIG = "FORKLORE_CONFIG"
USUAL_FILE = Path("forklore.toml")
"""The file of options that is read where no other one is named, if it is there."""
LINE = "the command line"
"""The place of an option that is not its variable or the file."""
MEMORY = ":memory:"
"""The folder that is none."""
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_NEAR = 0.75
"""How alike a variable of another name must be, of 1, to be taken for a mistake."""
OF_OTHERS = frozenset(
    f"FORKLORE_{name}"
    for name in ("CLIENT", "CLIENT_KEY", "CONFIG", "FUNCTION", "PAGER", "PROFILE", "TOKEN", "URL", "USER")
)
"""Variables of the command line and the clients, which are no mistakes."""


class Kind(StrEnum):
    """What an option holds."""

    TEXT = "a text"  # in a file a number, true and false, too
    PATH, NUMBER, FLAG, LIST = "a path", "a number", "true or false", "a list of texts"


@dataclass(frozen=True)
class Option:
    """An option. Its name is that of the command line, without `--`, and of the file.

    help: None: the command line has none of this name. named: its variable, if it is not the usual
    one. most: of a NUMBER; the least is `least`. is_secret: nobody is shown its value.
    is_renewed: SIGHUP reads it anew. is_of_issuer: it says nothing without one. is_of_service: its
    variable is read by the code that is deployed; what the command line has of a list comes beside
    that.
    """

    name: str
    help: str | None = None
    kind: Kind = Kind.TEXT
    named: str = ""
    default: str = ""
    metavar: str | None = None
    choices: Sequence[str] = ()
    least: int = 0
    most: int = 0
    is_secret: bool = False
    is_renewed: bool = False
    is_of_issuer: bool = False
    is_of_service: bool = False

    @property
    def variable(self) -> str:
        return self.named or f"FORKLORE_{self.name.replace('-', '_').upper()}"

    @property
    def key(self) -> str:
        """The attribute of what `read` returns."""
        return self.name.replace("-", "_")

    def read(self, text: str) -> Any:
        """Return the value that a text stands for. Raises ValueError with a text for people."""
        if self.kind is Kind.LIST:
            return read_list(text)
        if self.kind is Kind.PATH:
            if not text:  # it would be the folder where the server starts
                raise ValueError("a path, and not ''")
            return Path(text)
        if self.kind is Kind.NUMBER:
            if not re.fullmatch(r"[0-9]{1,9}", text) or not self.least <= int(text) <= self.most:
                raise ValueError(f"from {self.least} to {self.most}, and not {text!r}")
            return int(text)
        if self.kind is Kind.FLAG:
            if text.lower() not in _YES + _NO:
                raise ValueError(f"true or false, and not {text!r}")
            return text.lower() in _YES
        chosen = text.lower() if self.choices else text
        if self.choices and chosen not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}, and not {text!r}")
        return chosen


def _of_service(name: str, kind: Kind = Kind.TEXT, *, renewed: bool = True) -> Option:
    """Return an option that only a variable or the file sets, and that the deployed code reads."""
    return Option(name, kind=kind, is_of_service=True, is_renewed=renewed)


OPTIONS = (
    Option("host", "address to listen on", named="HOST", default="127.0.0.1"),
    Option("allow-host", "answer by this name, too, and to its pages", Kind.LIST, metavar="NAME"),
    Option(
        "port", "where it listens; 0 takes a free one", Kind.NUMBER, named="PORT", default="8080", most=65535
    ),
    Option("data", "keep what is stored in this folder; it is made", Kind.PATH, metavar="DIR"),
    Option(
        "workers",
        f"processes that serve the folder of --data; if not set one for each core, at most {USUAL_MAX}",
        Kind.NUMBER,
        metavar="N",
        least=1,
        most=99,
    ),
    Option(
        "client",
        "the API key of an agent, beside those of the variable",
        Kind.LIST,
        named="FORKLORE_API_KEYS",
        metavar="NAME=KEY",
        is_secret=True,
        is_renewed=True,
        is_of_service=True,
    ),
    Option(
        "issuer", "verify tokens: who signs them, as their claim iss has it", metavar="URL", is_renewed=True
    ),
    Option(
        "audience",
        "with --issuer: for whom tokens are",
        Kind.LIST,
        metavar="NAME",
        is_renewed=True,
        is_of_issuer=True,
    ),
    Option(
        "token-file",
        "verify tokens: of the users in this file, which `forklore user` writes",
        Kind.PATH,
        metavar="FILE",
        is_renewed=True,
    ),
    Option("insecure", "listen for other machines, though nobody verifies tokens", Kind.FLAG),
    Option(
        "on-event",
        "send each event to a URL, or to a function as module:function",
        Kind.LIST,
        metavar="RECEIVER",
        is_secret=True,
    ),
    Option("event-content", "what events show of entries", default=CONTENTS[0], choices=tuple(CONTENTS)),
    Option(
        "recall",
        f"also find what is meant: {WORDLLAMA} (the extra `recall`), or a function as module:function",
        named="FORKLORE_RECALL_MODEL",
        metavar="MODEL",
    ),
    Option(
        "metrics",
        "serve numbers for Prometheus at /metrics of this port, or of HOST:PORT (the extra `metrics`)",
        metavar="PORT",
    ),
    Option(
        "deleted-days",
        "for how many days a deleted fork tree can be restored; 0 deletes at once",
        Kind.NUMBER,
        default="30",
        most=DELETED_DAYS_MAX,
        metavar="N",
    ),
    Option("access-log", "a line for each answer: its route and status, no content", Kind.FLAG),
    Option("log", "the format of its log", default=FORMATS[0], choices=FORMATS),
    Option("mcp", "also serve the tools for agents, at /mcp", Kind.FLAG),
    Option("verbose", "lines per request: what it costs on AWS, and nothing of its content", Kind.FLAG),
    replace(_of_service("algorithms", Kind.LIST), is_of_issuer=True),
    replace(_of_service("user-id-claim"), is_of_issuer=True),
    replace(_of_service("roles-claim"), is_of_issuer=True),
    replace(_of_service("issuer-keys"), is_of_issuer=True),
    replace(_of_service("api-key-hashes", Kind.LIST), is_of_issuer=True, is_secret=True),
    _of_service("admins", Kind.LIST),
    _of_service("auditors", Kind.LIST),
    _of_service("indexers", Kind.LIST),
    _of_service("justification-required", renewed=False),
    _of_service("log-users", renewed=False),
    _of_service("retention-days", renewed=False),
    _of_service("retention-tag", renewed=False),
    _of_service("user-requests-per-minute", renewed=False),
    _of_service("attachment-megabytes", renewed=False),
    _of_service("attachments-per-user", renewed=False),
    _of_service("entries-per-conversation", renewed=False),
    _of_service("delete-wait-seconds", renewed=False),
    _of_service("dynamodb-endpoint", renewed=False),
    _of_service("table", renewed=False),
    _of_service("attachments", renewed=False),
)
"""All options, in the order in which they are shown."""
_BY_NAME = {option.name: option for option in OPTIONS}


class Options(NamedTuple):
    """What was chosen. chosen: a value for each option, by its key, and of the command line alone
    `check`, `print_unit` and `config`.

    environment: the user's variables, and those that the file stands for. places: where each option
    was set, by its name; the others have their default. file: the one that was read.
    """

    chosen: argparse.Namespace
    environment: Mapping[str, str]
    places: Mapping[str, str]
    file: Path | None


class _Parser(argparse.ArgumentParser):
    """Reads the command line. It has no short forms, so that a mistake is none by chance."""

    def parse_all(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        known, others = self.parse_known_args(arguments)
        if others:
            name, dashes = others[0].partition("=")[0], ("--" if others[0].startswith("--") else "")
            near = nearest(
                name.removeprefix("--"), [option.removeprefix("--") for option in self._option_string_actions]
            )
            self.error(f"unrecognized arguments: {name}{near and f'; do you mean {dashes}{near}?'}")
        return known


def read(
    arguments: Sequence[str] | None, environment: Mapping[str, str], *, command: str, has_tools: bool
) -> Options:
    """Return what a command line, an environment and the file that they name choose.

    arguments: None: of this process. command: for the usage. has_tools: whether there are tools
    for agents. Exits as argparse does. Raises OSError and ValueError, with a text for people that
    has no secret.
    """
    given = _parser(command, has_tools=has_tools).parse_all(arguments)
    file = given.config or (Path(environment[CONFIG]) if environment.get(CONFIG) else None)
    if file is None and USUAL_FILE.exists():
        file = USUAL_FILE
    _require_known(environment)
    texts = _read_file(file) if file else {}
    held = {option.variable: text for option, text in texts.items()}
    merged = {**held, **{name: text for name, text in environment.items() if text or name not in held}}
    places: dict[str, str] = {}
    for option in OPTIONS:
        on_line = getattr(given, option.key, None)
        if on_line not in (None, []):
            places[option.name] = LINE
        elif merged.get(option.variable):
            places[option.name] = option.variable if environment.get(option.variable) else str(file)
        if on_line is None:
            setattr(given, option.key, _value(option, merged, file, texts))
    if given.data == Path(MEMORY):
        given.data = None
    if given.mcp and not has_tools:
        raise ValueError("mcp is an option of `forklore serve`")
    return Options(given, merged, places, file)


def lines_of(options: Options) -> Iterable[str]:
    """Yield a line for each option that is set: its name, its value, and where it was set."""
    for option in OPTIONS:
        if option.name in options.places:
            held = options.environment.get(option.variable, "")
            value = held if option.is_of_service else getattr(options.chosen, option.key)
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{option.name}: {'(set)' if option.is_secret else text}  ({options.places[option.name]})"


def changed(before: Options, after: Options) -> list[str]:
    """Return the names of the options that differ and are not read anew by SIGHUP."""

    def of(options: Options, option: Option) -> object:
        return getattr(options.chosen, option.key), options.environment.get(option.variable)

    return [
        option.name for option in OPTIONS if not option.is_renewed and of(before, option) != of(after, option)
    ]


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known name that is most like another one; "" if none is.

    >>> nearest("isuer", ["host", "issuer"])
    'issuer'
    """
    return next(iter(difflib.get_close_matches(name, list(known), 1, cutoff)), "")


def _value(
    option: Option, environment: Mapping[str, str], file: Path | None, texts: Mapping[Option, str]
) -> Any:
    """Return the value of an option that the command line does not have."""
    text = environment.get(option.variable, "")
    if option.is_of_service and option.kind is Kind.LIST:
        return []  # its variable is read by who needs it
    if not text:
        return option.read(option.default) if option.default else _empty(option.kind)
    try:
        return option.read(text)
    except ValueError as error:
        place = f"{file}: {option.name}" if texts.get(option) == text else option.variable
        raise ValueError(f"{place} is {error}") from None


def _empty(kind: Kind) -> Any:
    return {Kind.LIST: [], Kind.FLAG: False, Kind.TEXT: ""}.get(kind)


def _read_file(file: Path) -> Mapping[Option, str]:
    """Return the texts of a file, as variables have them. Its paths are of its own folder."""
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{file} is missing") from None
    except ValueError as error:  # also of UTF-8
        raise ValueError(f"{file} is no TOML: {error}") from None
    texts = {}
    for name, value in found.items():
        option = _BY_NAME.get(name)
        if option is None:
            near = nearest(name, _BY_NAME)
            raise ValueError(f"{file} has an unknown option {name}{near and f'; do you mean {near}?'}")
        texts[option] = _text(file, option, value)
    return texts


def _text(file: Path, option: Option, value: object) -> str:
    """Return a value of a file as a variable has it."""
    if option.kind is Kind.LIST and isinstance(value, list) and all(isinstance(one, str) for one in value):
        if any("," in one for one in value):
            raise ValueError(f"{file}: {option.name} has a comma, which divides a list; in a URL write %2C")
        return ",".join(value)
    if option.kind is Kind.PATH and isinstance(value, str) and value:
        return value if value == MEMORY else str(file.parent / value)
    fits: Callable[[object], bool] = {
        Kind.FLAG: lambda one: isinstance(one, bool),
        Kind.NUMBER: lambda one: isinstance(one, int) and not isinstance(one, bool),
        Kind.TEXT: lambda one: isinstance(one, (str, int)),
    }.get(option.kind, lambda _one: False)
    if not fits(value):
        raise ValueError(f"{file}: {option.name} is {option.kind}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _require_known(environment: Mapping[str, str]) -> None:
    """Raise ValueError for a variable that is almost one of the server's."""
    known = {option.variable.removeprefix("FORKLORE_"): option.variable for option in OPTIONS}
    for name in environment:
        bare = name.removeprefix("FORKLORE_")
        if bare == name or name in {*known.values(), *OF_OTHERS}:
            continue
        if near := nearest(bare, known, _NEAR):
            raise ValueError(f"the variable {name} is unknown; do you mean {known[near]}?")


def _parser(command: str, *, has_tools: bool) -> _Parser:
    parser = _Parser(
        prog=command,
        description="Serve forklore's HTTP API on this machine, as API Gateway and Lambda would.",
        epilog=f"Example: {command} --data ./data --port 8080. "
        f"Each option may also stand in {USUAL_FILE}, and in the variable beside it. "
        f"The store is in memory unless --data names a folder, or {ENDPOINT} a DynamoDB.",
        allow_abbrev=False,
    )
    for option in OPTIONS:
        if option.help is not None and (has_tools or option.name != "mcp"):
            _add(parser, option)
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"the file of these options ({CONFIG}; ./{USUAL_FILE} if it is there)",
    )
    parser.add_argument(
        "--check", action="store_true", help="say what is set, and whether a server could start"
    )
    parser.add_argument(
        "--print-unit",
        nargs="?",
        const="service",
        choices=("service", "socket"),
        help="print a unit of systemd that serves with these options, and end",
    )
    return parser


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add an option to the command line. What it does not have is None there; a list is []."""

    def of_line(text: str) -> Any:
        try:
            return option.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    more = "; may be repeated" if option.kind is Kind.LIST else ""
    usual = f"; {option.default}" if option.default else ""
    told = f"{option.help}{more} ({option.variable}{usual})"
    if option.kind is Kind.FLAG:
        parser.add_argument(f"--{option.name}", action="store_true", default=None, help=told)
    elif option.choices:
        parser.add_argument(f"--{option.name}", type=str.lower, choices=option.choices, help=told)
    elif option.kind is Kind.LIST:
        parser.add_argument(f"--{option.name}", action="append", metavar=option.metavar, help=told)
    else:
        parser.add_argument(f"--{option.name}", type=of_line, metavar=option.metavar, help=told)
