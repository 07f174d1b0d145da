"""A judge, a reader, a provider and a metric for claimwise, to copy from."""
