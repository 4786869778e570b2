"""DynamoDB's rules on SQLite, and the whole service in this process, without a server.

The engine is for programs, for data in a folder, for the local server and for tests. It patches
nothing, and reads no environment variable.
"""
