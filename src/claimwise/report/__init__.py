"""How figures and text are written, in any report."""
