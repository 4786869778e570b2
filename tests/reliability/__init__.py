"""The promises of the design under every fault that can be named, on the real emulator (reliability, 2)."""
