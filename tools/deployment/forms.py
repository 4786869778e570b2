"""The form of what a stage's table holds: which items there are, and what is in them.

A table says it by a tag, which it has from its making on: template.yaml sets it for a new stage, an
upgrade for the table that it makes. A table has one form all its life.
"""

from tools.deployment.asking_aws import Aws

FORM = 1
"""What this version reads and writes: the form of commit 8c3639fe. template.yaml names it, too."""
TAG = "forklore-form"


def form_of(aws: Aws, table: str) -> int:
    """Return the form of a table. One without the tag is older than the tag, and has form 1."""
    arn = aws.call("dynamodb", "describe_table", TableName=table)["Table"]["TableArn"]
    tags = aws.pages("dynamodb", "list_tags_of_resource", "Tags", "NextToken", ResourceArn=arn)
    return next((int(tag["Value"]) for tag in tags if tag["Key"] == TAG), 1)
