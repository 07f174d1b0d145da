"""Checks answers before they are shown: over HTTP, in batches, by a deadline.

`values` is the wire format, `checker` judges and keeps the deadline, `limits` says how often a key
may ask, `openapi` describes it all for programs, and `client` asks.
"""
