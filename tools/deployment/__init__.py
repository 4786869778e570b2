"""What `make build` and `make deploy` ask besides AWS SAM. Runs in SAM's own environment."""
