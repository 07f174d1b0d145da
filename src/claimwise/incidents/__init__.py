"""Turns errors from production into items, and says which gates would catch them."""
