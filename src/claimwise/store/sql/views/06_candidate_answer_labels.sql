-- The answer labels that may decide.
select * from answer_labels
