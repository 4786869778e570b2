"""Pure decisions about plain values: no AWS, no clock, no randomness, no environment."""
