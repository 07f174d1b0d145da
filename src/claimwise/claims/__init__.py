"""Lists the claims of a run, worst first, each with its verdict, evidence and reason."""
