"""The checks of docs/reliability.md that run on DynamoDB Local, under every kind of failure."""
