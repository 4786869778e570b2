"""What runs on one machine: the store, the local server, fsck, moves of whole tables."""
