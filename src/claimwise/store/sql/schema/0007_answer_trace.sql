-- Verdicts on an answer that was read from a trace go back to that trace: its id is kept.
alter table answers add column trace_id text;
