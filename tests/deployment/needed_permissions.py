"""Print what CloudFormation's registry says of each kind of resource in a built template, as JSON.

SAM_PYTHON tests/deployment/needed_permissions.py TEMPLATE

It runs in AWS SAM's environment, which has SAM's translator and cfn-lint's copy of the registry.
For each kind: `actions`, which its handlers need to create, read, update and delete it, and
`taggable`: whether it takes the tags of a stack.
"""

import json
import logging
import os
import sys
from pathlib import Path

REGION = "us-east-1"
STORED = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


class NoPolicies:
    """The template uses no managed policies."""

    def load(self) -> dict[str, str]:
        return {}


def main(template: Path) -> None:
    """Print it. Nothing but this function needs SAM's environment."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-not-found]
    from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
    from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]

    logging.disable(logging.CRITICAL)
    os.environ["AWS_DEFAULT_REGION"] = REGION
    document = yaml_parse(template.read_text(encoding="utf-8"))
    for resource in document["Resources"].values():
        if resource["Type"] in STORED:
            resource["Properties"][STORED[resource["Type"]]] = "s3://bucket/key"
    transformed = transform(document, {}, NoPolicies())
    found = {}
    for kind in sorted({resource["Type"] for resource in transformed["Resources"].values()}):
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema
        handlers = [schema["handlers"].get(name, {}) for name in ("create", "read", "update", "delete")]
        found[kind] = {
            "actions": sorted({action for one in handlers for action in one.get("permissions", [])}),
            "taggable": schema.get("tagging", {}).get("taggable", schema.get("taggable", False)),
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
