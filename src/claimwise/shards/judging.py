"""Which judge the workers of a job load."""

from __future__ import annotations

import msgspec

from claimwise.judges.judge import Verifier, load_verifier


class JudgeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A judge by name, so that every worker loads its own, once."""

    verifier: str

    def load(self) -> tuple[Verifier, int]:
        """Return the judge, and how many answers it is asked about at once.

        Raises:
            ClaimwiseError: it can't run here.
        """
        return load_verifier(self.verifier), 1
