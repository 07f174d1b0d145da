"""Asks language models: providers, wire formats, prompts, strict reading of replies."""
