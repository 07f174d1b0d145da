"""Compares several answers to one question."""
