"""The engine: DynamoDB's rules on SQLite, in memory or in a folder.

It knows nothing of conversations. It patches nothing, and reads no environment variable.
"""
