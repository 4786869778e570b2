"""Conversations from elsewhere: files into trees, trees into plans, plans into calls.

`files.read_file` turns a file into trees, one by one; `plan` says which conversations and forks a
tree becomes; `loading` says which calls make them, and goes on where an earlier run has stopped;
`carrying_out` sends them. Nothing else here talks to a service.
"""
