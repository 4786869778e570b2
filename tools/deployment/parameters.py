"""The template's parameters, and whether CloudFormation would take a value."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter of the template. default: None if a deployment must give a value.

    pattern: matched against the whole value. allowed: empty if any value that fits is good.
    minimum, maximum: of a number. told: what to set, for a value that does not fit.
    """

    name: str
    description: str
    default: str | None = None
    pattern: str | None = None
    allowed: tuple[str, ...] = ()
    is_number: bool = False
    minimum: float | None = None
    maximum: float | None = None
    told: str = ""

    def problem(self, value: str) -> str | None:
        """Return why CloudFormation would refuse the value; None if it is good."""
        if self.allowed:
            return None if value in self.allowed else f"{self.name} is one of {', '.join(self.allowed)}"
        if self.is_number:
            return self._problem_of_number(value)
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            return self.told or f"{self.name} must match {self.pattern}"
        return None

    def _problem_of_number(self, value: str) -> str | None:
        if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value, re.ASCII) is None:
            return f"{self.name} is a number"
        if self.minimum is not None and float(value) < self.minimum:
            return f"{self.name} is at least {self.minimum:g}"
        if self.maximum is not None and float(value) > self.maximum:
            return f"{self.name} is at most {self.maximum:g}"
        return None


def read_parameters(document: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a template by name, in its order."""
    return {name: _parameter(name, found) for name, found in document["Parameters"].items()}


def _parameter(name: str, found: Mapping[str, Any]) -> Parameter:
    return Parameter(
        name,
        " ".join(found.get("Description", "").split()),
        None if "Default" not in found else str(found["Default"]),
        found.get("AllowedPattern"),
        tuple(map(str, found.get("AllowedValues", ()))),
        found["Type"] == "Number",
        found.get("MinValue"),
        found.get("MaxValue"),
        " ".join(found.get("ConstraintDescription", "").split()),
    )
