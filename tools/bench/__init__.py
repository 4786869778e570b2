"""The benchmark: what each operation costs in requests, capacity units, time and dollars."""
