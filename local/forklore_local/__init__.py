"""What stands beside a table on one machine: the store, the server, the check, whole-table moves."""
