"""The whole service in this process, without a server: for programs, and for data in a folder.

DynamoDB is moto's, reached by a client of our own. No other client of the process is changed, and
neither is the environment. What is stored in a folder is kept in SQLite.
"""
