"""Judges claims without sources, by what a model knows."""
