"""How long claims are."""
