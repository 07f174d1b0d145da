-- What an answer seems to do with its question, proposed from its text (text/abstention.py) for runs of
-- which nobody said it. What a system or a person says is in run_actions, and comes first.
alter table answers add column proposed_action text
check (proposed_action in ('answer', 'abstain', 'clarify'));
