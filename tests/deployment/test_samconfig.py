"""The parameters of each deployment that samconfig.toml keeps."""

import pytest

from tools.deployment.samconfig import FILE, read_parameters

TWO = r"""
version = 0.1
[default.deploy.parameters]
stack_name = "forklore"
parameter_overrides = "Issuer=\"https://1.example/\" Architecture=\"x86_64\" IssuerKeys=\"{\\\"keys\\\":[]}\""
[try.deploy.parameters]
parameter_overrides = ["Issuer=https://two.example/?a=b", "Architecture=arm64"]
[bare.deploy.parameters]
stack_name = "forklore-bare"
"""


@pytest.mark.parametrize(
    ("stage", "kept"),
    [
        (
            "default",
            {"Issuer": "https://1.example/", "Architecture": "x86_64", "IssuerKeys": '{"keys":[]}'},
        ),
        ("try", {"Issuer": "https://two.example/?a=b", "Architecture": "arm64"}),
        ("bare", {}),
        ("none", {}),
    ],
)
def test_each_stage_has_its_own_parameters(stage: str, kept: dict[str, str]) -> None:
    assert read_parameters(TWO, stage) == kept


def test_the_file_of_this_checkout_can_be_read() -> None:
    assert read_parameters(FILE.read_text(encoding="utf-8"), "no such stage") == {}
