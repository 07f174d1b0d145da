"""Judges claims against sources: link, weigh the evidence, decide."""
