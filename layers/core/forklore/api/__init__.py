"""What can be asked: the table of operations, their requests and their answers."""
