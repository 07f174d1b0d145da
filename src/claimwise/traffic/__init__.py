"""Live traffic: traces come in, are redacted and sampled, and become answers of daily runs.

An answer of live traffic is an answer like any other, without golden item: what it should have
said is unknown. `sampling` chooses, `redaction` takes out what must not be stored, `rows` makes an
answer of a trace, `ingest` stores it and counts what became of the rest, `funnel` shows the counts.
"""
