-- The labels that may decide: all that stand, unless a caller puts a narrower set under this name.
select * from standing_labels
