-- What an answer seems to do with its question, proposed from its text (text/abstention.py) if no action
-- was given. Actions given by a system or a person are in run_actions and take priority.
alter table answers add column proposed_action text
check (proposed_action in ('answer', 'abstain', 'clarify'));
