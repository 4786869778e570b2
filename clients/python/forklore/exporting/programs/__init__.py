"""One branch as the session of an agent's program, which that program goes on with.

A module each for a program has `written(talk)`. A session has the id of forklore's conversation, a
message the id of forklore's entry, wherever the program lets a writer choose: so an import finds
the conversation again, and appends to it what is said in the program.
"""
