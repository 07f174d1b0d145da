-- The id of the trace that an answer came from, so that verdicts can be sent back to it.
alter table answers add column trace_id text;
