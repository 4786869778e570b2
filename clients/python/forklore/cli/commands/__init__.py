"""The commands, a module each. `register` adds a command to the command line."""
