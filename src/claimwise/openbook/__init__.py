"""Judges claims against a corpus, alone or after a judge."""
