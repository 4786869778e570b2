"""The options of a server: where they are set, and what is refused."""

import grp
import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

import pytest

from forklore_local.server.options import OF_OTHERS, OPTIONS, Kind, Options, changed, lines_of, read
from forklore_local.server.unit import program_of, unit_of
from forklore_local.server.user_tokens import add_user
from tests.local.server.test_server import STARTS_WITHIN_SECONDS, start

ROOT = Path(__file__).parents[3]
VALUES = {Kind.TEXT: "'a'", Kind.PATH: "'a'", Kind.NUMBER: "7", Kind.FLAG: "true", Kind.LIST: "['a', 'b']"}


def of(*arguments: str, **environment: str) -> Options:
    return read(list(arguments), environment, command="forklore serve", has_tools=True)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is read where the test runs."""
    monkeypatch.chdir(tmp_path)
    return Path("forklore.toml")


def test_the_line_comes_before_the_variable_before_the_file_before_the_default(file: Path) -> None:
    ports = [of().chosen.port]
    file.write_text("port = 1")
    ports += [of().chosen.port, of(PORT="2").chosen.port, of("--port", "3", PORT="2").chosen.port]
    other = file.parent / "other"
    other.write_text("port = 4")
    ports += [of("--config", "other").chosen.port, of(FORKLORE_CONFIG="other").chosen.port]

    assert ports == [8080, 1, 2, 3, 4, 4]
    assert of(PORT="").chosen.port == 1


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_is_the_same_in_the_file_and_as_a_variable(file: Path, option: object) -> None:
    known = next(one for one in OPTIONS if one is option)
    value = f"'{known.choices[1]}'" if known.choices else VALUES[known.kind]
    file.write_text(f"{known.name} = {value}")
    text = ",".join(eval(value)) if known.kind is Kind.LIST else value.strip("'")
    by_file, by_variable = of(), of("--config", "/dev/null", **{known.variable: text})

    assert changed(by_file, by_variable) == []
    assert by_file.chosen.__dict__ | {"config": None} == by_variable.chosen.__dict__ | {"config": None}
    assert by_file.environment[known.variable] == by_variable.environment[known.variable] == text
    assert (by_file.places, by_variable.places) == ({known.name: str(file)}, {known.name: known.variable})
    assert (known.name in changed(of("--config", "/dev/null"), by_file)) != known.is_renewed


def test_the_paths_of_a_file_are_of_its_folder_and_memory_is_no_folder(file: Path) -> None:
    (file.parent / "etc").mkdir()
    (file.parent / "etc" / "f").write_text("data = 'd'\ntoken-file = '/t'")
    chosen = of("--config", "etc/f").chosen

    assert (chosen.data, chosen.token_file) == (Path("etc/d"), Path("/t"))
    assert of("--config", "etc/f", "--data", ":memory:").chosen.data is None
    assert of(FORKLORE_DATA=":memory:").chosen.data is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("isuer = 'a'", "unknown option isuer; do you mean issuer?"),
        ("token_file = 'a'", "unknown option token_file; do you mean token-file?"),
        ("zzzzzz = 1", "unknown option zzzzzz$"),
        ("port = '8080'", "port is a number"),
        ("port = 99999", "forklore.toml: port is from 0 to 65535"),
        ("workers = 0", "forklore.toml: workers is from 1 to 99"),
        ("mcp = 1", "mcp is true or false"),
        ("admins = 'ann'", "admins is a list of texts"),
        ("on-event = ['http://a/?b,c']", "on-event has a comma"),
        ("log = 'xml'", "log is one of plain, json"),
        ("data = ''", "data is a path"),
        ("token-file = ''", "token-file is a path"),
        ("user-requests-per-minute = 1.5", "user-requests-per-minute is a text"),
        ("[server]\nport = 1", "unknown option server"),
        ("port = ", "is no TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_and_what_may_be_meant(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=told):
        of()


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"FORKLORE_ISUER": "a"}, "do you mean FORKLORE_ISSUER?"),
        ({"FORKLORE_PORT": "1"}, "do you mean PORT?"),
        ({"FORKLORE_API_KEY": "a"}, "do you mean FORKLORE_API_KEYS?"),
        ({"FORKLORE_MCP": "perhaps"}, "FORKLORE_MCP is true or false"),
        ({"FORKLORE_CONFIG": "gone"}, "gone is missing"),
    ],
)
def test_a_variable_that_is_almost_an_option_is_refused(
    file: Path, environment: dict[str, str], told: str
) -> None:
    assert not file.exists()
    with pytest.raises(ValueError, match=re.escape(told)):
        of(**environment)


def test_an_unknown_word_of_the_line_is_refused_with_the_nearest(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in ("--isuer", "--isuer=secret", "--tokenfile"):
        with pytest.raises(SystemExit, match="2"):
            of(line)
        assert f"do you mean --{'issuer' if 'isuer' in line else 'token-file'}?" in capsys.readouterr().err
    assert not file.exists()


def test_no_variable_of_the_clients_and_tools_is_taken_for_a_mistake(file: Path) -> None:
    command = ["git", "grep", "-ohE", r"FORKLORE_[A-Z_]+[A-Z]", "--", "clients/python", "tools", "Makefile"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert OF_OTHERS & {*names}
    of(**dict.fromkeys({*names} - {one.variable for one in OPTIONS}, ""))
    assert not file.exists()


def test_a_text_of_a_file_may_be_a_number_or_true(file: Path) -> None:
    file.write_text("metrics = 9100\nuser-requests-per-minute = 600\njustification-required = true")
    options = of()

    assert options.chosen.metrics == "9100"
    assert options.environment["FORKLORE_USER_REQUESTS_PER_MINUTE"] == "600"
    assert options.environment["FORKLORE_JUSTIFICATION_REQUIRED"] == "true"


def test_what_is_shown_has_no_secret(file: Path) -> None:
    file.write_text("client = ['planner=secret']\non-event = ['http://secret']\napi-key-hashes = ['secret']")

    shown = [*lines_of(of("--client", "a=secret", "--issuer", "https://i", "--mcp"))]

    assert shown == [
        "client: (set)  (the command line)",
        "issuer: https://i  (the command line)",
        "on-event: (set)  (forklore.toml)",
        "mcp: True  (the command line)",
        "api-key-hashes: (set)  (forklore.toml)",
    ]


def test_what_has_no_tools_refuses_them(file: Path) -> None:
    file.write_text("mcp = true")
    with pytest.raises(ValueError, match="forklore serve"):
        read([], {}, command="python", has_tools=False)


def test_check_says_what_a_start_would_and_makes_nothing(tmp_path: Path) -> None:
    tokens, data, config = tmp_path / "tokens", tmp_path / "data", tmp_path / "c.toml"
    add_user(tokens, "ann")
    config.write_text("data = 'data'\ntoken-file = 'tokens'\nhost = '0.0.0.0'\nport = 1")
    lost, two = tmp_path / "lost.toml", tmp_path / "two.toml"
    lost.write_text("token-file = 'tokens'\napi-key-hashes = ['a=b']")
    two.write_text("data = 'data'\ndynamodb-endpoint = 'http://127.0.0.1:1'")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "forklore.db").write_text("no database")
    tried = {
        ("--config", str(config)): (0, "A token is one of"),
        ("--config", str(config), "--data", str(tmp_path / "other")): (2, "forklore: "),
        ("--host", "0.0.0.0"): (2, "nobody verifies"),
        ("--metrics", "1", "--port", "1"): (2, "--metrics needs a port of its own"),
        ("--data", str(config)): (2, "it is no folder"),
        ("--data", ""): (2, "argument --data: a path, and not ''"),
        ("--allow-host", "http://a"): (2, "no name or address of a host: 'http://a'"),
        ("--config", str(lost)): (2, "api-key-hashes needs --issuer"),
        ("--config", str(two)): (2, "name two stores"),
    }
    started = [start("--check", *line) for line in tried]
    for (code, told), process in zip(tried.values(), started, strict=True):
        output, errors = process.communicate(timeout=STARTS_WITHIN_SECONDS)
        assert (process.returncode, told in output + errors) == (code, True), output + errors
    assert not data.exists()


def test_a_unit_runs_the_server_with_the_options_of_the_line(file: Path) -> None:
    file.write_text("port = 1")
    line = ("--data", "da ta", "--client", "a=50%$", "--mcp", "--log", "json")
    unit = unit_of(of(*line, FORKLORE_ISSUER="i"), program=program_of("forklore serve"), kind="service")
    [command] = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)

    folder = file.absolute().parent
    options = f'--config {folder}/forklore.toml --data "{folder}/da ta" --client "a=50%%$$" --log json --mcp'
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    assert command == f"{python} -P -m forklore.cli serve {options}"
    assert unit.startswith("# Not in this unit, but set here: FORKLORE_ISSUER.\n")
    assert f"ReadWritePaths={folder}\n" in unit
    alone = unit_of(of(), program=["forklore"], kind="service")
    assert "--data %S/forklore/data\n" in alone
    assert "DynamicUser=yes\n" in alone
    assert "ListenStream=[::1]:1\n" in unit_of(of("--host", "::1"), program=["forklore"], kind="socket")


def test_a_user_of_the_units_own_joins_the_group_of_what_it_reads(file: Path) -> None:
    file.write_text("port = 1")
    tokens = Path("tokens")
    tokens.touch()
    line = ("--token-file", "tokens")

    def unit() -> str:
        return unit_of(of(*line), program=["forklore"], kind="service")

    def lines(mode: int) -> list[str]:
        for one in (file, tokens):
            one.chmod(mode)
        return [text for text in unit().splitlines() if re.match("# Its|Supp", text)]

    told = "# Its user cannot read {}: chgrp GROUP, chmod 640, and print this unit again."
    folder = file.absolute().parent
    assert lines(0o644) == []
    assert lines(0o600) == [told.format(folder / "forklore.toml"), told.format(folder / "tokens")]
    if os.getuid() == 0:  # others cannot give a file to any group
        for one in (file, tokens):
            os.chown(one, 0, grp.getgrnam("daemon").gr_gid)
        assert lines(0o640) == ["SupplementaryGroups=daemon"]
        (folder / "data").mkdir()
        os.chown(folder / "data", pwd.getpwnam("daemon").pw_uid, -1)
        assert "User=daemon\n" in unit_of(of("--data", "data"), program=["forklore"], kind="service")
