"""What `make build` puts into the layer and the functions."""

import _imp  # for the hash that PEP 552 leaves to each Python, which importlib gives for this one alone
import os
import re
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tests.deployment.document import FUNCTION, PROJECT, of_type, read_document
from tools.harness.runtime import RUNTIME

MB = 1_000_000
UNCHECKED = (1).to_bytes(4, "little")
"""How a file of byte-code says that it holds its source's hash, and that nobody need compare (PEP 552)."""
MACHINES = {"arm64": 0xB7, "x86_64": 0x3E}
"""`e_machine` in an ELF file's header."""
FUNCTIONS = {name: PurePosixPath(one["CodeUri"]) for name, one in of_type(read_document(), FUNCTION).items()}


def installed(folder: Path) -> set[tuple[str, str]]:
    """Return the packages in a folder, each with its version."""
    named = (path.name.removesuffix(".dist-info").rpartition("-") for path in folder.glob("*.dist-info"))
    return {(name.replace("_", "-").lower(), version) for name, _, version in named}


def locked(file: str) -> set[tuple[str, str]]:
    """Return the packages that a lock pins, each with its version; less those for another platform alone."""
    lines = re.findall(r"^([A-Za-z0-9-]+)==([^ ;]+)(.*)", (PROJECT / file).read_text(), re.MULTILINE)
    return {(name.lower(), version) for name, version, rest in lines if "python_full_version < " not in rest}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their path in it, without what a Python leaves behind."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_layer_holds_what_its_lock_pins_and_no_boto3(build: Path) -> None:
    layer = build / "CoreLayer" / "python"

    assert installed(layer) == locked("layers/core/requirements.txt")
    assert not {"boto3", "botocore"} & {path.name for path in layer.iterdir()}
    assert bytes_of(layer) < 20 * MB


def test_the_layer_holds_the_rooms_that_lambda_runs_as_they_stand_here(build: Path) -> None:
    source, built = PROJECT / "layers/core/forklore", build / "CoreLayer/python/forklore"
    rooms = {"domain", "storage", "usecases", "api", "aws", "credentials"}

    assert {path.name for path in built.iterdir()} - {"__pycache__"} == {"__init__.py", "errors.py", *rooms}
    for room in rooms:
        assert contents(built / room) == contents(source / room), room
    for file in ("__init__.py", "errors.py"):
        assert (built / file).read_bytes() == (source / file).read_bytes()


def test_the_authorizer_alone_holds_more_than_its_file(build: Path) -> None:
    for name, source in FUNCTIONS.items():
        held = contents(build / name)
        assert held["app.py"] == (PROJECT / source / "app.py").read_bytes(), name
        assert name == "AuthorizerFunction" or held.keys() <= {"app.py", "__init__.py"}, name
    authorizer = build / "AuthorizerFunction"
    assert installed(authorizer) == locked("functions/authorizer/requirements.txt")
    assert bytes_of(authorizer) < 25 * MB


def test_what_is_compiled_is_for_the_runtime_and_the_architecture_of_the_build(build: Path) -> None:
    built = yaml.safe_load((build / "template.yaml").read_text())
    machine = MACHINES[built["Resources"]["CoreLayer"]["Metadata"]["BuildArchitecture"]]
    version = built["Globals"]["Function"]["Runtime"].removeprefix("python").replace(".", "")
    compiled = list(build.rglob("*.so"))

    assert compiled
    for path in compiled:
        assert int.from_bytes(path.read_bytes()[18:20], "little") == machine, path
        assert f".cpython-{version}-" in path.name or ".abi3." in path.name, path


def test_a_build_can_be_deployed_as_what_it_was_built_for_alone(build: Path) -> None:
    built = yaml.safe_load((build / "template.yaml").read_text())
    architecture = built["Resources"]["CoreLayer"]["Metadata"]["BuildArchitecture"]

    assert built["Parameters"]["Architecture"]["AllowedValues"] == [architecture]
    assert built["Parameters"]["Architecture"]["Default"] == architecture


def test_all_that_is_imported_is_compiled_from_what_lies_beside_it(build: Path) -> None:
    """Lambda runs the byte-code unchecked: an old one would run in place of its source."""
    if RUNTIME not in os.environ:
        pytest.skip("NOT TESTED on byte-code: without the functions' version of Python none is built")
    sources = [path for path in build.rglob("*.py") if "bin" not in path.parts]

    assert sources
    for source in sources:
        [compiled] = (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc")
        magic, kind, made_of = (
            compiled.read_bytes()[at : at + size] for at, size in ((0, 4), (4, 4), (8, 8))
        )
        assert kind == UNCHECKED, compiled
        assert made_of == _imp.source_hash(int.from_bytes(magic, "little"), source.read_bytes()), compiled


def test_no_byte_code_stands_alone_or_tells_where_it_was_built(build: Path) -> None:
    for compiled in build.rglob("*.pyc"):
        name = compiled.name.partition(".")[0]
        assert (compiled.parent.parent / f"{name}.py").is_file(), compiled
        assert str(PROJECT).encode() not in compiled.read_bytes(), compiled


@pytest.mark.parametrize("unwanted", ["tests", ".git"])
def test_nothing_is_built_that_nobody_runs(build: Path, unwanted: str) -> None:
    assert [path for path in build.rglob(unwanted) if "site-packages" not in path.parts] == []
