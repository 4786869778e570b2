"""The whole service in this process, without a server, on the engine of `embedded`.

It is for programs, for data in a folder, for the local server and for tests.
"""
