"""A small run with everything that other tools must be told: verdicts, failures, no answer."""

from __future__ import annotations

from claimwise.store import Store
from small_data import answer, claim, item, label, load, run, source

OTEL_ID = "0af7651916cd43dd8448eb211c80319c"
UUID = "3f1c9d10-8a4f-4a54-9a08-0f5e0a1b2c3d"
JUDGE = "judge:grounded/1:gpt-x"
EMBEDDED = "verifier:embedded-7"
# Text that tools could take for a template, a file, a formula, or the end of a line.
HOSTILE = "=1+1 {{ env.HOME }} file:///etc/passwd “x”, 😀\u2028{% raw %}"
SUPPORTED, WRONG, OPEN = "It is 139 m tall.", f"It is {HOSTILE}", "It opened in 2001."


def load_awkward_run(store: Store) -> None:
    """Load run “r”: one answer with three claims, one unjudged, one failed, one of people's."""
    load(
        store,
        source(),
        item("q1", query=HOSTILE),
        item("q2", gold_answer=None),
        item("q3"),
        item("q4", domain="towers"),
        run(model="m-1"),
        {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier", "model": "gpt-x",
         "prompt_ver": "grounded/1"},
        answer("q1", claim(SUPPORTED, answer_start=0, answer_end=17), WRONG, OPEN,
               claim("Hello!", claim_type="non_factual"), trace_id=OTEL_ID,
               answer_text=f"{SUPPORTED} {WRONG} {OPEN} Hello!",
               contexts=[{"source_id": "doc", "context_text": "The tower is 139 m tall."},
                         {"source_id": "doc", "context_text": "Dogs may come in."}]),
        answer("q2", "Dogs may come in.", trace_id=UUID),
        answer("q3", answer_text=None, failure="timeout", trace_id="weird id", context_count=0),
        answer("q4", "It opened in 1999."),
        label("q1", SUPPORTED, "supported", labeler=JUDGE, label_kind="verifier", confidence=0.9,
              supporting_span="The tower is 139 m tall.", source_id="doc",
              reason="the same height"),
        label("q1", WRONG, "unlinked", labeler=EMBEDDED, label_kind="verifier"),
        label("q4", "It opened in 1999.", "supported", supporting_span="It opened in 1999.",
              source_id="doc"),
        {"type": "unscored", "run_id": "r", "item_id": "q1", "claim_text": OPEN, "labeler": JUDGE,
         "failed_at": "2026-01-31T00:00:00Z", "reason": "unparsable"},
        {"type": "unscored", "run_id": "r", "item_id": "q1", "claim_text": OPEN,
         "labeler": EMBEDDED, "failed_at": "2026-02-01T00:00:00Z", "reason": "timeout",
         "detail": "no reply in 60 s"},
    )  # fmt: skip
