"""The test runner: Python's standard library only."""
