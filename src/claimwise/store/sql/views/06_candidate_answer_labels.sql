-- The answer labels that can decide.
select * from answer_labels
