"""Units of systemd that run the server.

Sources: systemd.service(5), systemd.socket(5), systemd.exec(5).
"""

import getpass
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from forklore_local.server.manager import STOP_SECONDS
from forklore_local.server.options import LINE, OPTIONS, Kind, Options

_PLAIN = re.compile(r"[\w/.:=@,+-]+")
SERVICE = """\
# {name}.service, for systemd 245 or newer. Put it into /etc/systemd/system.
[Unit]
Description=forklore, a conversation store
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart={line}
ExecReload=/bin/kill -HUP $MAINPID
KillMode=mixed
TimeoutStopSec={stop_s}
Restart=on-failure
WatchdogSec=30
LimitNOFILE=10240
UMask=0077
{who}
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

[Install]
WantedBy=multi-user.target"""
SOCKET = """\
# {name}.socket, beside {name}.service: it listens before the server runs, and while it starts again.
[Unit]
Description=forklore's socket

[Socket]
ListenStream={address}
NoDelay=yes
Backlog=2048

[Install]
WantedBy=sockets.target"""


def unit_of(options: Options, *, program: Sequence[str], kind: str) -> str:
    """Return a unit that runs a program with the options of this command line.

    kind: service, or socket. What stands in variables is not in it; a remark names it.
    """
    chosen = options.chosen
    if kind == "socket":
        host = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
        return SOCKET.format(name="forklore", address=f"{host}:{chosen.port}" if host else chosen.port)
    words = list(program)
    if options.file is not None:
        words += ["--config", str(options.file.absolute())]
    for option in OPTIONS:
        if options.places.get(option.name) == LINE:
            held = getattr(chosen, option.key)
            for value in held if isinstance(held, list) else [held]:
                text = value.absolute() if option.kind is Kind.PATH else value
                words += [f"--{option.name}"] if option.kind is Kind.FLAG else [f"--{option.name}", str(text)]
    if chosen.data is None:
        groups, remarks = _groups([file for file in (options.file, chosen.token_file) if file])
        who = "\n".join(
            ["DynamicUser=yes", *groups, "StateDirectory=forklore", "WorkingDirectory=%S/forklore"]
        )
        own = " --data %S/forklore/data"
    else:
        folder: Path = chosen.data.absolute()
        user, remarks = _owner(folder) if folder.exists() else getpass.getuser(), []
        who, own = f"User={user}\nReadWritePaths={_quoted(str(folder.parent))}", ""
    line = " ".join(map(_word, words)) + own
    told = SERVICE.format(name="forklore", line=line, who=who, stop_s=STOP_SECONDS + 5)
    left = [option.variable for option in OPTIONS if options.places.get(option.name) == option.variable]
    if left:
        remarks = [f"# Not in this unit, but set here: {', '.join(left)}.", *remarks]
    return "\n".join([*remarks, told])


def _groups(files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Return the lines by which a user of the unit's own reads these files, and remarks."""
    hidden = [file.absolute() for file in files if file.exists() and not file.stat().st_mode & stat.S_IROTH]
    shared = {file for file in hidden if file.stat().st_mode & stat.S_IRGRP and file.stat().st_gid != 0}
    remarks = [
        f"# Its user cannot read {file}: chgrp GROUP, chmod 640, and print this unit again."
        for file in hidden
        if file not in shared
    ]
    names = " ".join(sorted({_group(file) for file in shared}))
    return [f"SupplementaryGroups={names}"] if names else [], remarks


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:  # it has no name
        return str(path.stat().st_uid)


def _group(path: Path) -> str:
    try:
        return path.group()
    except KeyError:
        return str(path.stat().st_gid)


def program_of(command: str) -> list[str]:
    """Return the words that call this program from any folder. command: as its usage has it."""
    module = ["forklore.cli", "serve"] if command.startswith("forklore") else ["forklore_local.server"]
    return [sys.executable, "-P", "-m", *module]


def _word(text: str) -> str:
    """Return a word of a command line in a unit.

    >>> _word("a b%$c")
    '"a b%%$$c"'
    """
    return _quoted(text).replace("$", "$$")


def _quoted(text: str) -> str:
    escaped = text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'
