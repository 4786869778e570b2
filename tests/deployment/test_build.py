"""The contents of the layer and the functions after `make build`."""

import _imp  # for the source hash of PEP 552, which differs between versions of Python
import os
import re
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tests.deployment.document import FUNCTION, PROJECT, of_type, read_document
from tools.harness.runtime import RUNTIME

MB = 1_000_000
UNCHECKED = (1).to_bytes(4, "little")
"""The flags of byte-code that holds its source's hash, which Python does not check (PEP 552)."""
MACHINES = {"arm64": 0xB7, "x86_64": 0x3E}
"""`e_machine` in an ELF file's header."""
FOR_OTHER_PLATFORMS = {("httpx2-jsfetch", "1.0"), ("pywin32", "312")}
FUNCTIONS = {name: PurePosixPath(one["CodeUri"]) for name, one in of_type(read_document(), FUNCTION).items()}


def installed(folder: Path) -> set[tuple[str, str]]:
    """Return the packages in a folder, each with its version."""
    named = (path.name.removesuffix(".dist-info").rpartition("-") for path in folder.glob("*.dist-info"))
    return {(name.replace("_", "-").lower(), version) for name, _, version in named}


def locked(file: str) -> set[tuple[str, str]]:
    """Return the packages and versions that a lock pins, without those for other platforms only."""
    lines = re.findall(r"^([A-Za-z0-9-]+)==([^ ;]+)(.*)", (PROJECT / file).read_text(), re.MULTILINE)
    return {(name.lower(), version) for name, version, rest in lines if "python_full_version < " not in rest}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by their path, without Python's caches."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_layer_holds_what_its_lock_pins_and_no_boto3(build: Path) -> None:
    layer = build / "CoreLayer" / "python"

    assert installed(layer) == locked("layers/core/requirements.txt")
    assert not {"boto3", "botocore"} & {path.name for path in layer.iterdir()}
    assert bytes_of(layer) < 20 * MB


def test_the_layer_holds_the_service_unchanged_and_nothing_of_the_other_parts(build: Path) -> None:
    layer = build / "CoreLayer/python"

    assert contents(layer / "forklore_service") == contents(PROJECT / "layers/core/forklore_service")
    assert [path.name for path in layer.glob("forklore*")] == ["forklore_service"]


def test_the_layer_of_the_tools_holds_the_client_and_nothing_that_the_other_layer_has(build: Path) -> None:
    layer, client = build / "McpLayer/python", PROJECT / "clients/python/forklore"
    held = contents(layer / "forklore")

    assert {name for name, _ in installed(layer)}.isdisjoint(
        name for name, _ in installed(build / "CoreLayer/python")
    )
    assert installed(layer) == locked("clients/python/requirements.txt") - FOR_OTHER_PLATFORMS
    assert {path.partition("/")[0] for path in held} == {"__init__.py", "extras.py", "client", "mcp"}
    assert all(text == (client / path).read_bytes() for path, text in held.items())
    assert bytes_of(layer) < 40 * MB


def test_only_the_authorizer_holds_more_than_its_own_file(build: Path) -> None:
    for name, source in FUNCTIONS.items():
        held = contents(build / name)
        assert held["app.py"] == (PROJECT / source / "app.py").read_bytes(), name
        assert name == "AuthorizerFunction" or held.keys() <= {"app.py", "__init__.py"}, name
    authorizer = build / "AuthorizerFunction"
    assert installed(authorizer) == locked("functions/authorizer/requirements.txt")
    assert bytes_of(authorizer) < 25 * MB


def test_compiled_modules_are_for_the_runtime_and_the_architecture_of_the_build(build: Path) -> None:
    built = yaml.safe_load((build / "template.yaml").read_text())
    machine = MACHINES[built["Resources"]["CoreLayer"]["Metadata"]["BuildArchitecture"]]
    version = built["Globals"]["Function"]["Runtime"].removeprefix("python").replace(".", "")
    compiled = list(build.rglob("*.so"))

    assert compiled
    for path in compiled:
        assert int.from_bytes(path.read_bytes()[18:20], "little") == machine, path
        assert f".cpython-{version}-" in path.name or ".abi3." in path.name, path


def test_a_build_can_only_be_deployed_for_its_own_architecture(build: Path) -> None:
    built = yaml.safe_load((build / "template.yaml").read_text())
    architecture = built["Resources"]["CoreLayer"]["Metadata"]["BuildArchitecture"]

    assert built["Parameters"]["Architecture"]["AllowedValues"] == [architecture]
    assert built["Parameters"]["Architecture"]["Default"] == architecture


def test_all_byte_code_is_compiled_from_the_source_next_to_it(build: Path) -> None:
    """Lambda runs byte-code without a check. Old byte-code would run instead of its source."""
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


def test_all_byte_code_has_a_source_and_no_path_of_the_build_machine(build: Path) -> None:
    for compiled in build.rglob("*.pyc"):
        name = compiled.name.partition(".")[0]
        assert (compiled.parent.parent / f"{name}.py").is_file(), compiled
        assert str(PROJECT).encode() not in compiled.read_bytes(), compiled


@pytest.mark.parametrize("unwanted", ["tests", ".git"])
def test_the_build_holds_nothing_that_lambda_does_not_run(build: Path, unwanted: str) -> None:
    assert [path for path in build.rglob(unwanted) if "site-packages" not in path.parts] == []
