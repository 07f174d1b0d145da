"""Measures judges on labelled files."""
