"""The smallest function on DynamoDB: boto3's client, made at import, and one call."""

import os
from typing import Any

import boto3

TABLE = os.environ["FORKLORE_TABLE"]
client = boto3.client("dynamodb", endpoint_url=os.environ["FORKLORE_DYNAMODB_ENDPOINT"])


def handler(_event: dict[str, Any], _context: Any) -> dict[str, Any]:
    client.query(
        TableName=TABLE,
        KeyConditionExpression="PK = :p AND SK BETWEEN :first AND :last",
        ExpressionAttributeValues={":p": {"S": "bare"}, ":first": {"S": "0"}, ":last": {"S": "1"}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    return {"statusCode": 200, "body": "{}"}
