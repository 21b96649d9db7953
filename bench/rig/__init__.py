"""What the scenarios share: processes and their cost, servers, load, tables."""
