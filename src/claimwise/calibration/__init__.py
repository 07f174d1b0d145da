"""How far a judge can be trusted, measured by labels of people."""
