"""Helpers of `make build` and `make deploy`. They run in the environment of AWS SAM."""
