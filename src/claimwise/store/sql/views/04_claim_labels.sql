-- The measuring spec's name for the labels that count: the deciding ones, so that a query written
-- from the spec counts each claim once, however many labels it has.
select * from deciding_labels
