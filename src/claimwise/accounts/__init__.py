"""Who may log in, and what they did."""
