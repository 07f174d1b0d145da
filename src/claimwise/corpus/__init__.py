"""The corpus behind a golden set: what a new version does to gold spans, and how they change."""
