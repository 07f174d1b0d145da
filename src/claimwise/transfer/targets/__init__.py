"""One module per tool that ``claimwise export --to`` writes for."""
