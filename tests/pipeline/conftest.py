"""Processes of their own that start quickly."""

from __future__ import annotations

from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

_PRELOADED = ["pipeline.instruments", "pipeline.judged_processes", "pipeline.corpus_runs"]


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> ForkServerContext:
    """Start processes from one that has imported everything, once."""
    # It does not see the sys.path of the tests.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    context = get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context
