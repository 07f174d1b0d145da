"""The values that travel between stages, and nothing that acts."""
