"""How far people agree with each other, and on what they differ."""
