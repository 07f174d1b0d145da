"""Answers against their gold answers: by rule, by a language model, and by people."""
