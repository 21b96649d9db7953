"""One module a scenario; measure(plan) prints its table and returns its raw data."""
