"""Gates as a settings file holds them."""

from __future__ import annotations

from typing import Any

import msgspec

from claimwise.gates.values import Gate


def write_gates(*gates: Gate) -> tuple[dict[str, Any], ...]:
    """Return gates as TOML would give them: without what is not said."""
    return tuple(
        {name: value for name, value in msgspec.to_builtins(gate).items() if value is not None}
        for gate in gates
    )
