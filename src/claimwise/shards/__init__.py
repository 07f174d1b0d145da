"""Verifies files of answers, shard by shard: in processes of one machine, or on a Ray cluster."""
