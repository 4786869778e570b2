"""The checks of docs/reliability.md that run on DynamoDB Local: the promises, under every kind of failure."""
