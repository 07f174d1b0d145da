"""An answer, split into claims that can be judged one by one, without a model."""

from __future__ import annotations

from claimwise.decompose.answers import split_answer
from claimwise.decompose.clauses import find_compounds

__all__ = ["find_compounds", "split_answer"]
