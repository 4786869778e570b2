"""Read a template of CloudFormation as plain values."""

from pathlib import Path
from typing import Any

import yaml


def load(path: Path) -> dict[str, Any]:
    """Return a template as CloudFormation is given it, with the short tags in their long form."""
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Any]:
    """Return a template, given as YAML or JSON, as `load` does."""
    document: dict[str, Any] = yaml.load(text, Loader=_CloudFormationLoader)  # nosec B506 # a SafeLoader
    return document


def _long_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    """Return `{"Ref": "X"}` for `!Ref X`, as of `!Condition`, and `{"Fn::Name": …}` of others."""
    several = isinstance(node, yaml.SequenceNode)
    value = [loader.construct_object(one, deep=True) for one in node.value] if several else node.value
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


# libyaml's reader takes a tenth of the time. PyYAML has it on most platforms.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CloudFormationLoader(_SafeLoader):  # type: ignore[misc] # one of two classes
    yaml_multi_constructors = {**yaml.SafeLoader.yaml_multi_constructors, "!": _long_form}  # noqa: RUF012
