"""A build can only be deployed for the architecture that it was built for."""

import pytest
import yaml

from tools.deployment.built_for import narrow

BUILT = """
AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  Issuer: {Type: String}
  Architecture: {Type: String, Default: arm64, AllowedValues: [arm64, x86_64], Description: What.}
Resources:
  Function: {Properties: {Architectures: [{Ref: Architecture}], Description: “ü”}}
"""


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_a_built_template_takes_one_architecture(architecture: str) -> None:
    before, after = yaml.safe_load(BUILT), yaml.safe_load(narrow(BUILT, architecture))
    parameter = after["Parameters"].pop("Architecture")

    assert (parameter["Default"], parameter["AllowedValues"]) == (architecture, [architecture])
    assert (parameter["Type"], parameter["Description"]) == ("String", "What.")
    del before["Parameters"]["Architecture"]
    assert after == before
