"""Judges the claims of an answer, or of a stored run, against sources."""
