"""The readers, a module for each format: records of a file into plain conversations."""
