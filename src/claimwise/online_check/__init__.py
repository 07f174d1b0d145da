"""Checks answers before they are shown: over HTTP, in batches, by a deadline."""
