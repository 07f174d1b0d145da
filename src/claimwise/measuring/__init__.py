"""Measures the answers of any file: reads it, keeps it in the store, judges it, says how it is."""
