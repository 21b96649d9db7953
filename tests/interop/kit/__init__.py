"""Fetches, starts and stops the programs of the interop tests: the Java KMS, its clients, and ours."""
