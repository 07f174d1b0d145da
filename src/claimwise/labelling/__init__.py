"""Rounds of claims for people to label: drawing, desk, rules, guide, Label Studio."""
