"""Compares judges on the same labelled claims: agreement, cost, speed, bias."""
