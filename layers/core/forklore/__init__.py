"""forklore: conversations that fork like git, on Lambda and DynamoDB alone."""
