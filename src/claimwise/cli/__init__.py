"""Translates arguments to calls, and errors to one line and an exit code."""
