"""Scorers that other tools call: ``claimwise.scorers.mlflow``, ``.inspect`` and ``.deepeval``.

Each module imports its tool, and is imported by nobody but its users. What the tools share, an
answer's score with its reason, is in ``claimwise.scorers.score``.
"""
